"""Read what was logged straight from the event files, without TensorBoard running."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.decode import Manifest, decode_chunk, decode_graph, decode_manifest
from tb_gradgraph.record.event_file import list_run_directories, read_events, run_name
from tb_gradgraph.record.segment import Segment
from tb_gradgraph.record.tags import PLUGIN_NAME, RecordTag, parse_tag
from tb_gradgraph.statistics import STAGES

_STAGE_ORDER = {stage: number for number, stage in enumerate(STAGES)}


@dataclasses.dataclass(frozen=True)
class LoggedRun:
    """What one run directory holds.

    Attributes:
        name: Path below the log directory with forward slashes, ``.`` for itself.
        sessions: One manifest a writer's life, oldest first.
        graphs: Structures by hash.
        records: Sorted by tag, step, stage and backward pass; where a restarted session
            repeats steps of an earlier one, the later session's.
        warnings: What could not be read, one sentence each.
    """

    name: str
    sessions: tuple[Manifest, ...]
    graphs: Mapping[str, Graph]
    records: tuple[Record, ...]
    warnings: tuple[str, ...]


class Locatable(Protocol):
    """What says of which tag, step and backward pass it is."""

    @property
    def tag(self) -> str: ...  # noqa: D102

    @property
    def step(self) -> int: ...  # noqa: D102

    @property
    def backward_pass(self) -> int: ...  # noqa: D102

    @property
    def stage(self) -> str: ...  # noqa: D102


Located = TypeVar("Located", bound=Locatable)


def read_logdir(logdir: str | os.PathLike[str]) -> tuple[LoggedRun, ...]:
    """Read every run below ``logdir`` that holds records of ours, sorted by name.

    Raises:
        FileNotFoundError: If there is no such directory.
    """
    root = pathlib.Path(logdir)
    if not root.is_dir():
        raise FileNotFoundError(f"expected a log directory, got {str(root)!r}, which is none.")
    told: list[str] = []
    directories = list_run_directories(root, told.append)
    runs = [read_run(path, run_name(path, root)) for path in directories]
    if told:
        runs.append(LoggedRun(".", (), {}, (), tuple(told)))
    return tuple(run for run in runs if run.sessions or run.records or run.warnings)


def read_run(directory: str | os.PathLike[str], name: str = ".") -> LoggedRun:
    """Read the event files of one directory; a damaged record costs itself alone."""
    reading = _Reading()
    for event in read_events(directory, reading.warnings.append):
        reading.add_event(event)
    return reading.finish(name)


class _Reading:
    """Records of one run as they come, by session."""

    def __init__(self) -> None:
        self.manifests: dict[str, Manifest] = {}
        self.graphs: dict[str, Graph] = {}
        self.records: dict[str, list[Record]] = {}
        self.warnings: list[str] = []

    def add_event(self, event: Event) -> None:
        """Take in what an event holds of ours; the rest is skipped."""
        for value in event.summary.value:
            tag = parse_tag(value.tag)
            if tag is not None and value.metadata.plugin_data.plugin_name == PLUGIN_NAME:
                try:
                    self._add_value(tag, value)
                except FormatError as error:
                    self.warnings.append(f"{value.tag}: {error}")

    def _add_value(self, tag: RecordTag, value: Summary.Value) -> None:
        strings = tuple(value.tensor.string_val)
        if tag.kind == "manifest":
            self.manifests[tag.session] = decode_manifest(strings)
        elif tag.kind == "graph":
            self.graphs[tag.name] = decode_graph(strings, tag.name)
        else:
            segments = decode_chunk(strings).segments
            records = [record for segment in segments for record in _read_records(segment)]
            self.records.setdefault(tag.session, []).extend(records)

    def finish(self, name: str) -> LoggedRun:
        """Join the sessions."""
        records = join_sessions([self.records[session] for session in sorted(self.records)])
        return LoggedRun(
            name,
            tuple(self.manifests[session] for session in sorted(self.manifests)),
            self.graphs,
            tuple(records),
            tuple(self.warnings),
        )


def join_sessions(sessions: Iterable[Sequence[Located]]) -> list[Located]:
    """Sort the records of several sessions, oldest session first, each in the order of writing.

    Within a step they come in the order of its stages, and of the passes within a stage.

    From its first step of a tag on, a later session replaces an earlier one: it
    is a training started again from a checkpoint. Within a session, what is said
    of one backward pass and stage again replaces what was said before: first
    the structure is written, then the gradients.
    """
    kept: dict[str, dict[tuple[int, int, str], Located]] = {}
    for session in sessions:
        first: dict[str, int] = {}
        for record in session:
            first[record.tag] = min(record.step, first.get(record.tag, record.step))
        for tag, step in first.items():
            earlier = kept.get(tag, {})
            kept[tag] = {key: record for key, record in earlier.items() if record.step < step}
        for record in session:
            kept[record.tag][record.step, record.backward_pass, record.stage] = record
    every = [record for records in kept.values() for record in records.values()]
    return sorted(every, key=_place)


def _place(record: Located) -> tuple[str, int, int, int]:
    stage = _STAGE_ORDER.get(record.stage, len(STAGES))
    return record.tag, record.step, stage, record.backward_pass


def _read_records(segment: Segment) -> Iterator[Record]:
    gradients, values = segment.whole()
    for index, table in enumerate(segment.tables()):
        yield Record(
            tag=segment.tag,
            graph_hash=segment.graph_hash,
            step=segment.steps[index],
            wall_time=segment.wall_times[index],
            backward_pass=segment.backward_passes[index],
            objective=segment.objectives[index],
            table=table,
            gradients=gradients[index],
            values=values[index],
            stage=segment.stages[index],
            loss_scale=segment.loss_scale[index],
            skipped=segment.skipped[index],
            every_n_steps=segment.every_n_steps[index],
            cost=segment.cost[index],
            unread=segment.unread[index],
        )
