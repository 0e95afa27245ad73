"""Turn numbers that are on their way to the host into tables of records, on the session's thread."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Mapping

import numpy as np

from tb_gradgraph.autograd import Shared
from tb_gradgraph.statistics import (
    LINEAR_COLUMNS,
    OF_VALUES,
    STATISTICS,
    StatisticsTable,
    columns_of,
)
from tb_gradgraph.summarize import PendingStatistics

_NORM = STATISTICS.index("l2_norm")
_OF_VALUES = columns_of(OF_VALUES)

#: If a norm falls by more than this share between backward and step, it was clipped.
_CLIPPED = 1 - 1e-4

Whole = Mapping[int, np.ndarray]


class Numbers:
    """A table and the tensors kept whole, collected when a thread first asks for them."""

    def __init__(self, pending: PendingStatistics, shared: Shared | None = None) -> None:
        """Prepare. A row in ``shared`` gets the statistics of another row."""
        self._pending: PendingStatistics | None = pending
        self._shared = shared
        self._lock = threading.Lock()
        #: Rows that could not be read, and why; complete when collected.
        self.unread = pending.unread

    def collect(self) -> tuple[StatisticsTable, Whole]:
        """Return the numbers; waits for the copy to the host."""
        with self._lock:
            if self._pending is not None:
                table, whole = self._pending.collect()
                self._pending = None
                if self._shared is not None:
                    share(table, self._shared)
                    self._share_unread(table, self._shared)
                self._found = table, whole
            return self._found

    def _share_unread(self, table: StatisticsTable, shared: Shared) -> None:
        if self.unread:
            pairs = zip(shared.rows.tolist(), shared.sources.tolist())
            missing = ((row, to) for row, to in pairs if not table.present[row])
            self.unread.update({row: self.unread[to] for row, to in missing if to in self.unread})


def share(table: StatisticsTable, shared: Shared) -> None:
    """Fill the rows of ``shared`` that were not read, from the rows whose statistics they share."""
    missing = table.present[shared.sources] & ~table.present[shared.rows]
    rows, sources = shared.rows[missing], shared.sources[missing]
    for column in (table.values, table.present, table.histogram):
        column[rows] = column[sources]


def share_values(table: StatisticsTable, equal: Shared) -> None:
    """Fill the rows of each group of ``equal`` that were not read, from the first one that was."""
    has = table.present[equal.rows]
    groups, firsts = np.unique(equal.sources[has], return_index=True)
    if not len(groups):
        return
    found = np.searchsorted(groups, equal.sources).clip(max=len(groups) - 1)
    lacks = ~has & (groups[found] == equal.sources)
    rows, sources = equal.rows[lacks], equal.rows[has][firsts[found[lacks]]]
    for column in (table.values, table.present, table.histogram):
        column[rows] = column[sources]
    table.values[np.ix_(rows, _OF_VALUES)] = np.nan  # their units have another shape


def differing(table: StatisticsTable, same: Mapping[int, int]) -> list[int]:
    """Return the rows of ``same`` whose numbers differ from those of the row that they would share."""
    counted = columns_of(("min", "max", "nan", "numel"))
    rows = [row for row, to in same.items() if table.present[row] and table.present[to]]
    if not rows:
        return []
    own, others = table.values[rows], table.values[[same[row] for row in rows]]
    equal = np.isclose(own[:, _NORM], others[:, _NORM], rtol=1e-5, atol=0, equal_nan=True)
    equal &= ((own == others) | (np.isnan(own) & np.isnan(others)))[:, counted].all(1)
    return [row for row, alike in zip(rows, equal.tolist()) if not alike]


def only(table: StatisticsTable, rows: Iterable[int]) -> StatisticsTable:
    """Return the table with only ``rows``."""
    kept = np.fromiter(rows, np.int64)
    kept = kept[table.present[kept]]
    found = StatisticsTable.empty(len(table.present))  # few rows of many are copied
    found.values[kept] = table.values[kept]
    found.histogram[kept] = table.histogram[kept]
    found.present[kept] = True
    return found


def joined(tables: list[StatisticsTable]) -> StatisticsTable:
    """Merge tables that hold different rows."""
    first, *others = tables
    for table in others:
        rows = table.present
        first.values[rows] = table.values[rows]
        first.histogram[rows] = table.histogram[rows]
        first.present[rows] = True
    return first


def divided(table: StatisticsTable, factor: float) -> StatisticsTable:
    """Divide by a factor that was found late. This loses the histograms."""
    values = table.values.copy()
    values[:, LINEAR_COLUMNS] /= factor
    return dataclasses.replace(table, values=values, histogram=np.zeros_like(table.histogram))


def total_norm(table: StatisticsTable) -> float:
    """Return the norm over all rows together, over finite elements only."""
    norms = table.values[table.present, _NORM]
    return float(np.sqrt(np.nansum(np.square(norms))))


def was_clipped(before: StatisticsTable, after: StatisticsTable, passes: int) -> bool:
    """Return whether gradients became smaller before the step, other than by averaging over the passes.

    Schedules of pipelines divide by the number of passes, and so do many loops that accumulate.
    """
    if total_norm(after) >= _CLIPPED * total_norm(before):
        return False
    rows = after.present & before.present
    mean, total = after.values[rows, _NORM] * passes, before.values[rows, _NORM]
    return passes < 2 or not np.allclose(mean, total, rtol=1e-5, atol=0, equal_nan=True)
