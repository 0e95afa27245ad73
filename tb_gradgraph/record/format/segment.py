"""One segment of a chunk. Its index is read at once, and its numbers when they are asked for."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import FACTS, Fact
from tb_gradgraph.quantities import is_name
from tb_gradgraph.record.entries.by_record import by_record
from tb_gradgraph.record.entries.fact_entries import count_entries, letters_of_facts
from tb_gradgraph.record.entries.own_entries import OwnEntries, read_own
from tb_gradgraph.record.entries.used_texts import letters_of
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.columns import DTYPES, decode_column
from tb_gradgraph.record.format.encode import HISTOGRAM
from tb_gradgraph.record.format.stored import Presence, StoredColumn, read_presence
from tb_gradgraph.record.format.whole_tensors import decode_whole
from tb_gradgraph.statistics import COUNTS, HISTOGRAM_BINS, STATISTICS, StatisticsTable

WholeByRow = dict[int, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Segment:
    """Records of one tag and one graph.

    The methods decompress on every call. They raise FormatError if the bytes do not follow
    FORMAT.md. Frequent callers should keep the results.

    Attributes:
        facts: The facts about the step of each record, by the fields of ``StepFacts``.
    """

    tag: str
    graph_hash: str
    rows: int
    steps: tuple[int, ...]
    wall_times: tuple[float, ...]
    backward_passes: tuple[int, ...]
    present_rows: tuple[int, ...]
    facts: Mapping[str, tuple[Any, ...]]
    unread: tuple[Mapping[int, str], ...]
    quantities: tuple[Mapping[str, float], ...]
    quantity_reasons: tuple[Mapping[str, str], ...]
    own: OwnEntries
    message: pb.Segment

    def __len__(self) -> int:
        """Count the records."""
        return len(self.steps)

    def facts_of(self, record: int) -> dict[str, Any]:
        """Return the facts of one record, as arguments of ``StepFacts``."""
        return {name: column[record] for name, column in self.facts.items()}

    def presence(self) -> Presence:
        """Read which rows have a gradient."""
        return read_presence(self.message.present, self.present_rows, self.rows)

    def column(self, name: str, presence: Presence) -> StoredColumn:
        """Read one statistic: float32 or wider, NaN if there is no number.

        A statistic that the writer did not have is NaN everywhere.
        """
        values = self._decode(self._column(name), presence)
        if values is not None and values.dtype.kind not in "fu":
            raise FormatError(f"column {name!r}: expected real numbers, got {values.dtype}.")
        return StoredColumn(presence, values, np.full((), np.nan, np.float32), name in COUNTS)

    def histograms(self, presence: Presence) -> StoredColumn:
        """Read the histograms: uint16, HISTOGRAM_BINS for each row."""
        counts = self._decode(self._column(HISTOGRAM), presence, HISTOGRAM_BINS)
        if counts is not None and counts.dtype != np.uint16:
            raise FormatError(f"column {HISTOGRAM!r}: expected uint16, got {counts.dtype}.")
        return StoredColumn(presence, counts, np.zeros(HISTOGRAM_BINS, np.uint16))

    def present(self) -> np.ndarray:
        """Return which rows have a gradient: bool ``[records, rows]``."""
        presence = self.presence()
        found = [presence.record(index) for index in range(len(self))]
        return np.array(found, bool).reshape(len(self), self.rows)

    def statistic(self, name: str) -> np.ndarray:
        """Return one statistic: ``[records, rows]``."""
        column = self.column(name, self.presence())
        found = [column.record(index) for index in range(len(self))]
        return np.stack(found) if found else np.zeros((0, self.rows), np.float32)

    def histogram(self) -> np.ndarray:
        """Return the histograms: uint16 ``[records, rows, HISTOGRAM_BINS]``."""
        column = self.histograms(self.presence())
        found = [column.record(index) for index in range(len(self))]
        return np.array(found, np.uint16).reshape(len(self), self.rows, HISTOGRAM_BINS)

    def tables(self) -> list[StatisticsTable]:
        """Return all statistics, one table for each record."""
        presence = self.presence()
        columns = [self.column(name, presence) for name in STATISTICS]
        histograms = self.histograms(presence)
        return [
            StatisticsTable(
                np.stack([column.record(at).astype(np.float64) for column in columns], axis=1),
                presence.record(at),
                histograms.record(at),
            )
            for at in range(len(self))
        ]

    def whole(self) -> tuple[list[WholeByRow], list[WholeByRow]]:
        """Read the gradients and values kept whole, one mapping from row to array for each record."""
        return decode_whole(self.message.whole, len(self), self.rows)

    def _decode(
        self, column: pb.Column | None, presence: Presence, width: int = 1
    ) -> np.ndarray | None:
        """Read a column of ``[n, width]`` or ``[records, rows, width]``; None if it is not stored."""
        if column is None:
            return None
        wide = (width,) if width > 1 else ()
        only_present = self.message.only_present
        count = (int(presence.starts[-1]),) if only_present else (len(self), self.rows)
        return decode_column(column, (*count, *wide), width)

    def _column(self, name: str) -> pb.Column | None:
        return next((column for column in self.message.columns if column.name == name), None)


def decoded_bytes(message: pb.Segment) -> int:
    """Return how many bytes the numbers of a segment take after decompression."""
    bits = len(message.step) * message.rows
    numbers = sum(message.present_rows) if message.only_present else bits
    widths = sum(
        (column.width or 1) * DTYPES[column.type].itemsize
        for column in message.columns
        if column.type in DTYPES
    )
    return bits // 8 + numbers * widths + message.whole.uncompressed_bytes


def decode_segment(message: pb.Segment) -> Segment:
    """Check and read the index of a segment.

    Raises:
        FormatError: If its columns differ in length, or have indices outside their tables; it says
            which records are lost.
    """
    try:
        return _decode(message)
    except FormatError as error:
        raise FormatError(f"{_which(message)}: {error}") from None


def _decode(message: pb.Segment) -> Segment:
    records = len(message.step)
    _check_limits(message, records)
    return Segment(
        tag=message.tag,
        graph_hash=message.graph_hash,
        rows=message.rows,
        steps=tuple(message.step),
        wall_times=tuple(message.wall_time),
        backward_passes=tuple(message.backward_pass),
        present_rows=tuple(message.present_rows),
        facts={fact.name: _read_fact(message, fact, records) for fact in FACTS},
        unread=_read_unread(message, records),
        quantities=_read_quantities(message, records),
        quantity_reasons=_read_reasons(message, records),
        own=read_own(message, records),
        message=message,
    )


def _which(message: pb.Segment) -> str:
    steps = f"steps {min(message.step)} to {max(message.step)}" if message.step else "no step"
    return f"tag {message.tag[:80]!r}, {steps}"


def segments_of(message: pb.StatisticsChunk) -> list[pb.Segment]:
    """Return the segments of gradients, and then those of values."""
    return [*message.segments, *message.forward_segments]


def check_chunk(message: pb.StatisticsChunk) -> None:
    """Check the total size of a chunk, before anything in it is decompressed.

    Raises:
        FormatError: If it is larger than readers accept.
    """
    segments, told = segments_of(message), letters_of_facts(message)
    for what, got, most in (
        ("segments", len(segments), limits.MAX_SEGMENTS),
        ("records", sum(len(one.step) for one in segments), limits.MAX_RECORDS),
        ("quantities", sum(map(_count_quantities, segments)), limits.MAX_QUANTITIES),
        ("own statistics", sum(len(one.own_name) for one in segments), limits.MAX_OWN_NAMES),
        ("numbers of own statistics", sum(len(one.own_value) for one in segments), limits.MAX_OWN),
        ("trainings with facts", len(message.facts), limits.MAX_FACTS),
        ("entries of facts", count_entries(message), limits.MAX_FACT_ENTRIES),
        ("letters of texts", sum(map(letters_of, segments)) + told, limits.MAX_LETTERS),
        ("bytes of numbers", sum(map(decoded_bytes, segments)), limits.MAX_CHUNK_BYTES),
    ):
        if got > most:
            which = f"{_which(segments[0])}: " if segments else ""
            raise FormatError(f"{which}chunk: expected at most {most} {what}, got {got}.")


def _read_fact(message: pb.Segment, fact: Fact, records: int) -> tuple[Any, ...]:
    stored = getattr(message, fact.name)
    if not stored:
        return (fact.default,) * records
    if not fact.is_text:
        return tuple(stored)
    try:
        return tuple(map(_texts(message), stored))
    except IndexError:
        raise FormatError("segment: expected texts in the string table, got others.") from None


def _texts(message: pb.Segment) -> Callable[[int], str]:
    """Return what gives the text of an index: the same object each time, which the message does not."""
    return list(message.strings).__getitem__


def _count_quantities(message: pb.Segment) -> int:
    return len(message.quantity_record) + len(message.missing_record)


def _read_unread(message: pb.Segment, records: int) -> tuple[Mapping[int, str], ...]:
    """Return for each record the rows that could not be read, and why."""

    def row_of(row: int) -> int:
        if row >= message.rows:
            raise IndexError
        return row

    columns = (message.unread_record, message.unread_row, message.unread_reason)
    text = _texts(message)
    return by_record(columns, records, row_of, text, "records, rows and reasons")


def _read_quantities(message: pb.Segment, records: int) -> tuple[Mapping[str, float], ...]:
    columns = (message.quantity_record, message.quantity_name, message.quantity_value)
    names = _quantity_names(message, message.quantity_name)
    return by_record(columns, records, names.__getitem__, float, "records and names of quantities")


def _read_reasons(message: pb.Segment, records: int) -> tuple[Mapping[str, str], ...]:
    columns = (message.missing_record, message.missing_name, message.missing_reason)
    names, text = _quantity_names(message, message.missing_name), _texts(message)
    expected = "records, names and reasons of missing quantities"
    return by_record(columns, records, names.__getitem__, text, expected)


def _quantity_names(message: pb.Segment, used: Iterable[int]) -> dict[int, str]:
    """Return the names of quantities by their index; indices without a text are left out."""
    texts = message.strings
    names = {index: sys.intern(texts[index]) for index in {*used} if index < len(texts)}
    for name in names.values():
        if not is_name(name) or len(name.encode()) > limits.MAX_QUANTITY_NAME_BYTES:
            raise FormatError(
                f"segment: expected a printable name of a quantity, without a comma and of at most "
                f"{limits.MAX_QUANTITY_NAME_BYTES} bytes, got {name[:80]!r}."
            )
    return names


def _check_limits(message: pb.Segment, records: int) -> None:
    columns: list[Any] = [message.wall_time, message.backward_pass, message.present_rows]
    columns += [getattr(message, fact.name) for fact in FACTS if fact.is_always_stored]
    if any(len(column) != records for column in columns):
        raise FormatError(f"segment: expected {records} entries in every column, got others.")
    if any(len(getattr(message, fact.name)) not in (0, records) for fact in FACTS):
        raise FormatError(f"segment: expected {records} entries or none, got others.")
    for what, got, most in (
        ("records", records, limits.MAX_RECORDS),
        ("rows", message.rows, limits.MAX_ROWS),
        ("numbers", records * message.rows, limits.MAX_NUMBERS),
        ("bytes of tag", len(message.tag.encode()), limits.MAX_TAG_BYTES),
        ("bytes of graph hash", len(message.graph_hash), 16),
        ("texts", len(message.strings), 2 * limits.MAX_RECORDS),
        ("columns", len(message.columns), limits.MAX_COLUMNS),
        ("tensors kept whole", len(message.whole.record), limits.MAX_WHOLE),
        ("rows not read", len(message.unread_record), limits.MAX_WHOLE),
        ("characters of text", max(map(len, message.strings), default=0), limits.MAX_TEXT_BYTES),
    ):
        if got > most:
            raise FormatError(f"segment: expected at most {most} {what}, got {got}.")
