"""Records that could not be written, which a later chunk reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Record
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.encode import shorten
from tb_gradgraph.record.format.limits import MAX_TAG_BYTES
from tb_gradgraph.statistics import FORWARD


class Disk(Protocol):
    """The disk to which summaries are written, now or later."""

    @property
    def fault(self) -> str:
        """Return why the last failed attempt to write failed."""

    def is_stuck(self, patience: float | None = None) -> bool:
        """Say whether summaries are waiting; try again if the last attempt is ``patience`` seconds old."""

    def take_dropped(self) -> list[str]:
        """Return the tags of summaries that were lost since the last call."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gap:
    """How many records are missing, from which steps, and why."""

    records: int
    first_step: int
    last_step: int
    why: str

    @property
    def text(self) -> str:
        """Return a sentence about the gap."""
        many = "1 record" if self.records == 1 else f"{self.records:,} records"
        steps = f"steps {self.first_step} to {self.last_step}"
        if self.first_step == self.last_step:
            steps = f"step {self.first_step}"
        return f"{steps}: {many} lost, because the event file could not be written: {self.why}"

    def encode_into(self, message: pb.StatisticsChunk) -> None:
        """Store it in the chunk that is written after it."""
        message.lost_records = self.records
        message.lost_first_step = self.first_step
        message.lost_last_step = self.last_step
        message.lost_why = self.why


def gap_of(records: Sequence[Record], why: str) -> Gap:
    """Make the gap that the loss of records leaves. Those of values do not count."""
    steps = [record.step for record in records]
    count = sum(record.stage != FORWARD for record in records)
    return Gap(max(1, count), min(steps), max(steps), shorten(why, MAX_TAG_BYTES))


def joined(*gaps: Gap | None) -> Gap | None:
    """Join several gaps into one."""
    some = [gap for gap in gaps if gap is not None]
    if not some:
        return None
    first, last = min(gap.first_step for gap in some), max(gap.last_step for gap in some)
    return Gap(sum(gap.records for gap in some), first, last, some[0].why)


def decode_gap(message: pb.StatisticsChunk) -> Gap | None:
    """Read the gap before a chunk, if there is one.

    Raises:
        FormatError: If it is no valid gap.
    """
    if not message.lost_records:
        return None
    first, last = message.lost_first_step, message.lost_last_step
    if first > last or len(message.lost_why) > MAX_TAG_BYTES:
        raise FormatError(f"chunk: expected a gap of steps in order, got {first} to {last}.")
    return Gap(message.lost_records, first, last, message.lost_why)
