"""One segment of a chunk: an index read at once, numbers read when they are asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record import gradgraph_pb2 as pb
from tb_gradgraph.record import limits
from tb_gradgraph.record.columns import decode_column, decompress
from tb_gradgraph.record.encode import COUNTS, HISTOGRAM, STEP_DEFAULTS
from tb_gradgraph.record.whole import decode_whole
from tb_gradgraph.statistics import HISTOGRAM_BINS, STATISTICS, StatisticsTable

WholeByRow = dict[int, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Segment:
    """Records of one tag and one graph.

    The methods decompress on every call and raise FormatError where the bytes
    are not as FORMAT.md says; who calls them often keeps their results.
    """

    tag: str
    graph_hash: str
    rows: int
    steps: tuple[int, ...]
    wall_times: tuple[float, ...]
    backward_passes: tuple[int, ...]
    objectives: tuple[str, ...]
    stages: tuple[str, ...]
    present_rows: tuple[int, ...]
    loss_scale: tuple[float, ...]
    skipped: tuple[bool, ...]
    every_n_steps: tuple[int, ...]
    cost: tuple[float, ...]
    unread: tuple[Mapping[int, str], ...]
    message: pb.Segment

    def __len__(self) -> int:
        """Count the records."""
        return len(self.steps)

    def present(self) -> np.ndarray:
        """Read where a gradient arrived: bool ``[records, rows]``."""
        size = len(self) * self.rows
        content = decompress(self.message.present, (size + 7) // 8, "column 'present'")
        bits = np.unpackbits(np.frombuffer(content, np.uint8), count=size, bitorder="little")
        return bits.astype(bool).reshape(len(self), self.rows)

    def statistic(self, name: str) -> np.ndarray:
        """Read one statistic: float32 or wider ``[records, rows]``, NaN where there is no number.

        A statistic that the writer did not know is NaN throughout.
        """
        column = self._column(name)
        if column is None:
            return np.full((len(self), self.rows), np.nan, np.float32)
        values = self._decode(column)
        if values.dtype.kind not in "fu":
            raise FormatError(f"column {name!r}: expected real numbers, got {values.dtype}.")
        if name not in COUNTS:
            return values
        return np.where(self.present(), values.astype(np.float64), np.nan)

    def histogram(self) -> np.ndarray:
        """Read the histograms: uint16 ``[records, rows, HISTOGRAM_BINS]``."""
        column = self._column(HISTOGRAM)
        if column is None:
            return np.zeros((len(self), self.rows, HISTOGRAM_BINS), np.uint16)
        counts = self._decode(column, HISTOGRAM_BINS)
        if counts.dtype != np.uint16:
            raise FormatError(f"column {HISTOGRAM!r}: expected uint16, got {counts.dtype}.")
        return counts

    def tables(self) -> list[StatisticsTable]:
        """Read all statistics, one table a record."""
        values = np.stack([self.statistic(name).astype(np.float64) for name in STATISTICS], axis=2)
        present, histogram = self.present(), self.histogram()
        return [StatisticsTable(*parts) for parts in zip(values, present, histogram)]

    def whole(self) -> tuple[list[WholeByRow], list[WholeByRow]]:
        """Read the gradients and values kept whole, one mapping from row to array a record."""
        return decode_whole(self.message.whole, len(self), self.rows)

    def _decode(self, column: pb.Column, width: int = 1) -> np.ndarray:
        """Read a column of ``[records, rows, width]``, NaN or 0 where no number is stored."""
        wide = (width,) if width > 1 else ()
        shape = (len(self), self.rows, *wide)
        if not self.message.only_present:
            return decode_column(column, shape, width)
        present = self.present()
        stored = decode_column(column, (int(present.sum()), *wide), width)
        values = np.full(shape, np.nan if stored.dtype.kind in "fc" else 0, stored.dtype)
        values[present] = stored
        return values

    def _column(self, name: str) -> pb.Column | None:
        return next((column for column in self.message.columns if column.name == name), None)


def decode_segment(message: pb.Segment) -> Segment:
    """Check and read the index of a segment.

    Raises:
        FormatError: If its columns differ in length or point outside their tables.
    """
    records = len(message.step)
    _check_limits(message, records)
    strings = message.strings
    try:
        objectives = tuple(strings[index] for index in message.objective)
        stages = tuple(strings[index] for index in message.stage)
    except IndexError:
        raise FormatError("segment: expected texts in the string table, got others.") from None
    return Segment(
        message.tag,
        message.graph_hash,
        message.rows,
        tuple(message.step),
        tuple(message.wall_time),
        tuple(message.backward_pass),
        objectives,
        stages,
        tuple(message.present_rows),
        *(
            tuple(getattr(message, name)) or (default,) * records
            for name, default in STEP_DEFAULTS.items()
        ),
        _read_unread(message, records),
        message,
    )


_NOTHING: Mapping[int, str] = {}


def _read_unread(message: pb.Segment, records: int) -> tuple[Mapping[int, str], ...]:
    """Give for each record the rows that could not be read, and why."""
    columns = (message.unread_record, message.unread_row, message.unread_reason)
    found: list[dict[int, str] | None] = [None] * records
    try:
        for record, row, reason in zip(*columns, strict=True):
            if row >= message.rows:
                raise IndexError
            of_record = found[record] = found[record] or {}
            of_record[row] = message.strings[reason]
    except (IndexError, ValueError):
        raise FormatError(
            "segment: expected records, rows and reasons of it, got others."
        ) from None
    return tuple(_NOTHING if rows is None else rows for rows in found)


def _check_limits(message: pb.Segment, records: int) -> None:
    columns = (message.wall_time, message.backward_pass, message.objective, message.stage)
    if any(len(column) != records for column in (*columns, message.present_rows)):
        raise FormatError(f"segment: expected {records} entries in every column, got others.")
    if any(len(getattr(message, name)) not in (0, records) for name in STEP_DEFAULTS):
        raise FormatError(f"segment: expected {records} entries or none, got others.")
    for what, got, most in (
        ("records", records, limits.MAX_RECORDS),
        ("rows", message.rows, limits.MAX_ROWS),
        ("numbers", records * message.rows, limits.MAX_UNCOMPRESSED_BYTES // 8),
        ("bytes of tag", len(message.tag.encode()), limits.MAX_TAG_BYTES),
        ("bytes of graph hash", len(message.graph_hash), 16),
        ("texts", len(message.strings), 2 * limits.MAX_RECORDS),
        ("characters of text", max(map(len, message.strings), default=0), limits.MAX_TEXT_BYTES),
    ):
        if got > most:
            raise FormatError(f"segment: expected at most {most} {what}, got {got}.")
