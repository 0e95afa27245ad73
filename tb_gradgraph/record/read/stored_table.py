"""Hold the tables of many records in little memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tb_gradgraph.record.format.segment import Segment
from tb_gradgraph.record.format.stored import Presence, StoredColumn
from tb_gradgraph.statistics import STATISTICS, StatisticsTable


class LastColumns:
    """Decodes the columns of one segment at a time, and releases those of the previous segment."""

    def __init__(self) -> None:
        self._segment: Segment | None = None
        self._found: dict[str, StoredColumn | Presence] = {}

    def presence(self, segment: Segment) -> Presence:
        """Return which rows have a gradient."""
        return self._get(segment, "present", segment.presence)

    def column(self, segment: Segment, name: str) -> StoredColumn:
        """Return one statistic."""
        return self._get(segment, name, lambda: segment.column(name, self.presence(segment)))

    def histograms(self, segment: Segment) -> StoredColumn:
        """Return the histograms."""
        make = lambda: segment.histograms(self.presence(segment))  # noqa: E731
        return self._get(segment, "histogram", make)

    def check(self, segment: Segment) -> None:
        """Decode everything once; raise FormatError if a column is wrong."""
        for name in STATISTICS:
            self.column(segment, name)
        self.histograms(segment)

    def _get(self, segment: Segment, name: str, make: Callable[[], Any]) -> Any:
        if segment is not self._segment:
            self._segment, self._found = segment, {}
        if name not in self._found:
            self._found[name] = make()
        return self._found[name]


class StoredTable(StatisticsTable):
    """A table that is expanded each time it is read, so that many tables take little memory."""

    _columns: LastColumns
    _segment: Segment
    _index: int

    def __init__(self, columns: LastColumns, segment: Segment, index: int) -> None:
        vars(self).update(_columns=columns, _segment=segment, _index=index)

    @property
    def values(self) -> np.ndarray:  # noqa: D102
        found = [
            self._columns.column(self._segment, name).record(self._index) for name in STATISTICS
        ]
        return np.stack([column.astype(np.float64) for column in found], axis=1)

    def column(self, name: str) -> np.ndarray:  # noqa: D102
        found = self._columns.column(self._segment, name).record(self._index)
        return found.astype(np.float64)

    @property
    def present(self) -> np.ndarray:  # noqa: D102
        return self._columns.presence(self._segment).record(self._index)

    @property
    def histogram(self) -> np.ndarray:  # noqa: D102
        return self._columns.histograms(self._segment).record(self._index)
