"""Decide when a chunk of records is closed, and which records a large session keeps."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.graph import Record
from tb_gradgraph.statistics import HISTOGRAM_BINS, NONFINITE_COLUMNS, STATISTICS

CHUNK_BYTES = 2**20
#: A chunk is closed at this age in seconds; in a long session at this share of the session's age;
#: always at the maximum age.
FIRST_AGE = 5.0
AGE_SHARE = 0.01
LAST_AGE = 300.0

#: Whenever so many more bytes are written, the number of steps that are kept is halved from then on.
BUDGET_BYTES = 200 * 10**6
BUDGET_RECORDS = 2000

_RECORD_BYTES = 64
_OWN_BYTES = 16  # per number of an own statistic
_ROW_BYTES = 4 * len(STATISTICS) + 2 * HISTOGRAM_BINS  # per row with a gradient


def record_bytes(record: Record) -> int:
    """Estimate a record's size before compression."""
    whole = sum(array.nbytes for array in record.gradients.values())
    whole += sum(array.nbytes for array in record.values.values())
    whole += sum(_OWN_BYTES * len(of_rows) for of_rows in record.own.values())
    present = record.table.present
    return _RECORD_BYTES + len(present) // 8 + _ROW_BYTES * int(present.sum()) + whole


def has_nonfinite(record: Record) -> bool:
    """Return whether any gradient of the record holds a NaN or an infinity."""
    counts = record.table.values[record.table.present][:, NONFINITE_COLUMNS]
    return bool(np.any(counts > 0))


class ChunkSchedule:
    """Decides which records are kept, and when a chunk is closed. Times are seconds on one clock.

    Used on one thread only. Each time a further budget of bytes was written, the stride doubles,
    and so does the age of chunks.
    """

    def __init__(self, start_time: float) -> None:
        self._start = start_time
        self._opened: float | None = None  # when the open chunk got its first record
        self._pending_bytes = 0
        self._bytes_written = 0
        self._records_written = 0
        self._ratio = 1.0  # compressed size of the last chunk, divided by the estimate
        self._steps: dict[str, tuple[int, int]] = {}  # tag -> (last step, how many before it)
        self._nonfinite: set[str] = set()  # tags whose last record had non-finite gradients
        self._urgent = False

    @property
    def stride(self) -> int:
        """Every stride-th recorded step is kept."""
        spent = max(self._bytes_written / BUDGET_BYTES, self._records_written / BUDGET_RECORDS)
        return 2 ** min(int(spent), 30)

    def admits(self, record: Record) -> bool:
        """Return whether to keep a record. If so, count it as pending.

        The first record of a tag with a non-finite gradient is always kept and closes the chunk,
        because the training may end right after it.
        """
        last, count = self._steps.get(record.tag, (record.step, 0))
        count += record.step != last
        self._steps[record.tag] = (record.step, count)
        onset = self._is_onset(record)
        if count % self.stride and not onset:
            return False
        self._pending_bytes += record_bytes(record)
        self._urgent |= onset
        return True

    def _is_onset(self, record: Record) -> bool:
        was_nonfinite = record.tag in self._nonfinite
        if not has_nonfinite(record):
            self._nonfinite.discard(record.tag)
            return False
        self._nonfinite.add(record.tag)
        return not was_nonfinite

    def seconds_left(self, now: float) -> float | None:
        """Return how many seconds the chunk may stay open; ``None`` while nothing is pending."""
        if not self._pending_bytes:
            return None
        if self._opened is None:
            self._opened = now
        if self._urgent or self._pending_bytes * self._ratio >= CHUNK_BYTES:
            return 0.0
        age = min(max(FIRST_AGE, AGE_SHARE * (now - self._start)), LAST_AGE) * self.stride
        return max(0.0, self._opened + age - now)

    def spend(self, size: int) -> None:
        """Note that a graph or a chunk of ``size`` bytes was written."""
        self._bytes_written += size
        self._records_written += 1

    def close(self, size: int) -> None:
        """Note that the open chunk was written with ``size`` bytes."""
        self.spend(size)
        self._ratio = min(1.0, max(0.2, size / max(1, self._pending_bytes)))
        self.drop()

    def drop(self) -> None:
        """Note that nothing is pending any more."""
        self._pending_bytes = 0
        self._opened = None
        self._urgent = False
