"""The numbers of the user's own statistics in one segment."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Record
from tb_gradgraph.own_statistics import MOST_LETTERS, OF, WORSE, OwnMeasure, is_own_name
from tb_gradgraph.statistics import STATISTICS

#: Names of our own columns, which a later version than the log's may have added.
_BUILT_IN = frozenset((*STATISTICS, "histogram"))
#: The letters of a reason that are kept.
_MOST_OF_REASON = 1024
_OF_NAMES = ("own_of", "own_unit", "own_worse", "own_why")


@dataclasses.dataclass(frozen=True)
class OwnEntries:
    """The numbers, sorted by record; within a record in the order in which they are stored.

    Attributes:
        measures: What is known about each name.
    """

    measures: Mapping[str, OwnMeasure]
    _starts: np.ndarray  # where each record begins; one more entry
    _rows: np.ndarray
    _statistics: np.ndarray
    _values: np.ndarray

    @property
    def nbytes(self) -> int:
        """The number of bytes in memory."""
        columns = (self._starts, self._rows, self._statistics, self._values)
        return sum(column.nbytes for column in columns) + 500 * len(self.measures)

    def __len__(self) -> int:
        """Count the numbers."""
        return len(self._values)

    def of_record(self, record: int) -> dict[str, dict[int, float]]:
        """Return the numbers of one record, by name and row."""
        names, found = list(self.measures), dict[str, dict[int, float]]()
        here = slice(*self._starts[record : record + 2])
        columns = (self._statistics[here], self._rows[here], self._values[here])
        for statistic, row, value in zip(*(column.tolist() for column in columns)):
            found.setdefault(names[statistic], {})[row] = value
        return found

    def values(self, name: str) -> np.ndarray:
        """Return all numbers of one name."""
        if name not in self.measures:
            return self._values[:0]
        return self._values[self._statistics == list(self.measures).index(name)]

    def column(self, record: int, name: str, rows: int) -> np.ndarray:
        """Return one name's number in each row of a record; NaN where there is none."""
        found = np.full(rows, np.nan)
        if name in self.measures:
            here = slice(*self._starts[record : record + 2])
            is_it = self._statistics[here] == list(self.measures).index(name)
            found[self._rows[here][is_it]] = self._values[here][is_it]
        return found


def write_own(segment: Any, records: Sequence[Record], index: Callable[[str], int]) -> None:
    """Store the numbers of several records; ``index`` returns the index of a text."""
    measures = {name: one for record in records for name, one in record.own_measures.items()}
    for name, measure in measures.items():
        if not is_own_name(name):
            raise FormatError(f"expected a printable name of a statistic, got {name[:80]!r}.")
        segment.own_name.append(index(name))
        texts = (measure.of, measure.unit, measure.worse, measure.reason)
        for column, text in zip(_OF_NAMES, texts):
            getattr(segment, column).append(index(text))
    places = {name: place for place, name in enumerate(measures)}
    for number, record in enumerate(records):
        for name, of_rows in record.own.items():
            segment.own_record.extend([number] * len(of_rows))
            segment.own_row.extend(of_rows.keys())
            segment.own_statistic.extend([places[name]] * len(of_rows))
            segment.own_value.extend(of_rows.values())


def read_own(segment: Any, records: int) -> OwnEntries:
    """Check and read the numbers of a segment.

    Raises:
        FormatError: If columns differ in length, or have indices outside their tables.
    """
    measures = _read_measures(segment)
    stored = (segment.own_record, segment.own_row, segment.own_statistic, segment.own_value)
    if len({len(column) for column in stored}) != 1:
        raise FormatError("segment: expected own statistics in columns of one length, got others.")
    record, rows, statistics = (np.array(column, np.int64) for column in stored[:3])
    limits = (record, records), (rows, segment.rows), (statistics, len(measures))
    if any(len(column) and int(column.max()) >= limit for column, limit in limits):
        raise FormatError(
            "segment: expected records, rows and names of own statistics of it, got others."
        )
    order = np.argsort(record, kind="stable")
    starts = np.searchsorted(record[order], np.arange(records + 1))
    values = np.array(stored[3], np.float64)
    return OwnEntries(measures, starts, rows[order], statistics[order], values[order])


def _read_measures(segment: Any) -> dict[str, OwnMeasure]:
    columns = [segment.own_name, *(getattr(segment, name) for name in _OF_NAMES)]
    if len({len(column) for column in columns}) != 1:
        raise FormatError("segment: expected own statistics in columns of one length, got others.")
    strings = list(segment.strings)
    try:
        texts = [[strings[index] for index in column] for column in columns]
    except IndexError:
        raise FormatError("segment: expected texts of own statistics of it, got others.") from None
    names, *rest = texts
    names = [f"own:{name}" if name in _BUILT_IN else name for name in names]
    for name in names:
        if not is_own_name(name):
            raise FormatError(
                f"segment: expected a printable name of a statistic, without a comma and of at most "
                f"{2 * MOST_LETTERS + 1} letters, got {name[:80]!r}."
            )
    if len({*names}) < len(names):
        raise FormatError("segment: expected each own statistic once, got one twice.")
    return {name: _measure(*of_name) for name, *of_name in zip(names, *rest)}


def _measure(of: str, unit: str, worse: str, reason: str) -> OwnMeasure:
    """Return what is known; words of newer writers count as not known."""
    known_of, known_worse = of if of in OF else "", worse if worse in WORSE else ""
    return OwnMeasure(known_of, unit[:MOST_LETTERS], known_worse, reason[:_MOST_OF_REASON])
