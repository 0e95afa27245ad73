"""Columns of a segment in their stored form. A single record is expanded to all rows on demand."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record.format.columns import decompress

_AT_ONCE = 2**22  # how many bits are counted together
_SETS = 4  # how many sets of rows are kept as numbers, which is faster than bits


@dataclasses.dataclass(frozen=True)
class Presence:
    """Which rows of which records have a gradient, one bit for each."""

    bits: np.ndarray  # uint8, the least significant bit first
    records: int
    rows: int

    @property
    def nbytes(self) -> int:
        """The number of bytes in memory."""
        return self.bits.nbytes + 8 * (self.records + 1) + 8 * _SETS * self.rows

    def record(self, index: int) -> np.ndarray:
        """Return a bool for every row of one record."""
        start = index * self.rows
        part = self.bits[start // 8 : -(-(start + self.rows) // 8)]
        bits = np.unpackbits(part, bitorder="little")
        return bits[start % 8 : start % 8 + self.rows].astype(bool)

    def every(self) -> np.ndarray:
        """Return a bool for every row of every record: ``[records, rows]``."""
        count = self.records * self.rows
        bits = np.unpackbits(self.bits, count=count, bitorder="little")
        return bits.reshape(self.records, self.rows).view(bool)

    @functools.cached_property
    def _places(self) -> list[np.ndarray] | None:
        """The rows with a gradient of each record, if these are few different sets: one for each stage."""
        if self.records * self.rows > _AT_ONCE:
            return None
        known: dict[bytes, np.ndarray] = {}
        found = []
        for present in self.every():
            key = present.tobytes()
            if key not in known:
                known[key] = np.flatnonzero(present)
            found.append(known[key])
        return found if len(known) <= _SETS else None

    def places(self, index: int) -> np.ndarray:
        """Return what picks the rows of one record that have a gradient."""
        return self.record(index) if self._places is None else self._places[index]

    @functools.cached_property
    def starts(self) -> np.ndarray:
        """The number of present rows before each record, and in total."""
        if self.records * self.rows <= _AT_ONCE:
            counts = self.every().sum(axis=1, dtype=np.int64)
        else:
            counts = np.array([self.record(at).sum() for at in range(self.records)], np.int64)
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def read_presence(content: bytes, present_rows: tuple[int, ...], rows: int) -> Presence:
    """Read the presence bits of a segment.

    Raises:
        FormatError: If their number is wrong, or ``present_rows`` disagrees.
    """
    records = len(present_rows)
    bits = decompress(content, (records * rows + 7) // 8, "column 'present'")
    presence = Presence(np.frombuffer(bits, np.uint8), records, rows)
    if np.diff(presence.starts).tolist() != list(present_rows):
        raise FormatError("column 'present': expected as many rows as present_rows says.")
    return presence


@dataclasses.dataclass(frozen=True)
class StoredColumn:
    """One column: numbers of present rows only, or of all rows.

    Attributes:
        presence: Which rows have a gradient.
        values: ``[n, ...]`` for present rows, or ``[records, rows, ...]``; None if the column is
            not stored.
        empty: The value of a missing number: an array of ``[...]``.
        is_count: Whether rows without a gradient have no number although 0 is stored.
    """

    presence: Presence
    values: np.ndarray | None
    empty: np.ndarray
    is_count: bool = False

    @property
    def nbytes(self) -> int:
        """The number of bytes in memory, without ``presence``."""
        return 200 if self.values is None else 200 + self.values.nbytes

    @property
    def is_whole(self) -> bool:
        """Return whether numbers are stored for all rows."""
        return self.values is not None and self.values.ndim == self.empty.ndim + 2

    def record(self, index: int) -> np.ndarray:
        """Return one record, expanded to all rows: ``[rows, ...]``."""
        if self.values is not None and self.is_whole:
            found = self.values[index]
            if not self.is_count:
                return found
            return np.where(self.presence.record(index), found.astype(np.float64), np.nan)
        values = self.of_record(index)
        dtype = (
            np.float64 if self.is_count else self.empty.dtype if values is None else values.dtype
        )
        found = np.empty((self.presence.rows, *self.empty.shape), dtype)
        found[...] = self.empty
        if values is not None:
            found[self.presence.places(index)] = values
        return found

    def of_record(self, index: int) -> np.ndarray | None:
        """Return one record's stored numbers, in the order of its rows."""
        if self.values is None or self.is_whole:
            return None if self.values is None else self.values[index]
        start, end = self.presence.starts[index : index + 2]
        return self.values[start:end]
