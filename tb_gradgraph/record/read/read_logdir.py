"""Read records directly from event files, without TensorBoard."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_gradgraph.errors import FormatError
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.format.decode import Manifest, decode_chunk, decode_graph, decode_manifest
from tb_gradgraph.record.format.envelope import PLUGIN_NAME, RecordTag, parse_tag
from tb_gradgraph.record.format.gap import Gap
from tb_gradgraph.record.format.limits import MAX_RUN_WHOLE_BYTES
from tb_gradgraph.record.format.segment import Segment
from tb_gradgraph.record.read.event_file import list_run_directories, read_events, run_name
from tb_gradgraph.record.read.run_room import RunRoom
from tb_gradgraph.record.read.sessions import (
    HiddenRecords,
    find_hidden,
    join_sessions,
    latest_facts,
    session_run,
)
from tb_gradgraph.record.read.stored_table import LastColumns, StoredTable
from tb_gradgraph.statistics import FORWARD
from tb_gradgraph.training_facts import TrainingFacts


@dataclasses.dataclass(frozen=True)
class LoggedRun:
    """The contents of one run directory.

    Attributes:
        name: Path below the log directory with forward slashes; ``.`` for the log directory itself.
        sessions: The manifest of each session, oldest first. Every writer begins a session.
        graphs: Structures by hash.
        records: Records of gradients, sorted by tag, step, stage and backward pass. If a later
            session repeats steps of an earlier one, its records replace those of the earlier one.
        warnings: What could not be read, one message each.
        hidden: Records of earlier sessions that are not among ``records``.
        earlier: Each session that has hidden records, by itself.
        gaps: Records that could not be written, for example while the disk was full.
        ended: What ended a recording early, one message each.
        forwards: Records of values (their stage is "forward"), in the same order.
        facts: What is known of each training, by its tag, as the latest session says.
    """

    name: str
    sessions: tuple[Manifest, ...]
    graphs: Mapping[str, Graph]
    records: tuple[Record, ...]
    warnings: tuple[str, ...]
    hidden: tuple[HiddenRecords, ...] = ()
    earlier: tuple[LoggedRun, ...] = ()
    gaps: tuple[Gap, ...] = ()
    ended: tuple[str, ...] = ()
    forwards: tuple[Record, ...] = ()
    facts: Mapping[str, TrainingFacts] = dataclasses.field(default_factory=dict)


def read_logdir(logdir: str | os.PathLike[str]) -> tuple[LoggedRun, ...]:
    """Return every run below ``logdir`` that has records of ours, sorted by name.

    Raises:
        FileNotFoundError: If there is no such directory.
    """
    root = pathlib.Path(logdir)
    if not root.is_dir():
        raise FileNotFoundError(f"expected a log directory, got {str(root)!r}, which is not one.")
    told: list[str] = []
    directories = list_run_directories(root, told.append)
    runs = [read_run(path, run_name(path, root)) for path in directories]
    if told:
        runs.append(LoggedRun(".", (), {}, (), tuple(told)))
    return tuple(run for run in runs if run.sessions or run.records or run.warnings)


def read_run(directory: str | os.PathLike[str], name: str = ".") -> LoggedRun:
    """Read the event files of one directory. A damaged record costs only itself."""
    reading = _Reading()
    for event in read_events(directory, reading.warnings.append):
        reading.add_event(event)
    return reading.finish(name)


class _Reading:
    """Collects the records of one run, by session."""

    def __init__(self) -> None:
        self.manifests: dict[str, Manifest] = {}
        self.graphs: dict[str, Graph] = {}
        self.records: dict[str, list[Record]] = {}
        self.warnings: list[str] = []
        self.gaps: list[Gap] = []
        self.ended: list[str] = []
        self.facts: dict[str, dict[str, TrainingFacts]] = {}  # by session and tag
        self._columns = LastColumns()
        self._room = RunRoom(with_own=True)
        self._whole_bytes = 0

    def add_event(self, event: Event) -> None:
        """Add the records of ours in an event, and skip the rest."""
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
            chunk = decode_chunk(strings)
            segments = chunk.segments
            self._room.take(object(), chunk)
            of_session = self.records.setdefault(tag.session, [])
            records = [record for segment in segments for record in self._read_segment(segment)]
            of_session.extend(records)
            if chunk.gap is not None:
                self.gaps.append(chunk.gap)
            told = self.facts.setdefault(tag.session, {})
            told.update({facts.tag: facts for facts in chunk.facts})
            if chunk.ended:
                self.ended.append(chunk.ended)

    def _read_segment(self, segment: Segment) -> list[Record]:
        self._whole_bytes += segment.message.whole.uncompressed_bytes
        has_room = self._whole_bytes <= MAX_RUN_WHOLE_BYTES
        if not has_room and segment.message.whole.record:
            text = (
                f"expected at most {MAX_RUN_WHOLE_BYTES} bytes of whole tensors in a run, got more"
            )
            which = f"tag {segment.tag!r}, steps {min(segment.steps)} to {max(segment.steps)}"
            self.warnings.append(f"{which}: {text}; only the statistics are returned.")
        return list(read_records(segment, self._columns, has_room))

    def finish(self, name: str) -> LoggedRun:
        """Join the sessions."""
        records, forwards = _parted(self.records[session] for session in sorted(self.records))
        hidden = find_hidden(self.records)
        numbers = {some.session: some.number for some in hidden}
        return LoggedRun(
            name,
            tuple(self.manifests[session] for session in sorted(self.manifests)),
            self.graphs,
            records,
            tuple(self.warnings),
            tuple(hidden),
            tuple(self._session(name, session, number) for session, number in numbers.items()),
            tuple(self.gaps),
            tuple(self.ended),
            forwards,
            latest_facts(self.facts),
        )

    def _session(self, name: str, session: str, number: int) -> LoggedRun:
        """Return one session as a run."""
        manifests = (self.manifests[session],) if session in self.manifests else ()
        records, forwards = _parted([self.records[session]])
        used = {record.graph_hash for record in records}
        graphs = {key: graph for key, graph in self.graphs.items() if key in used}
        name = session_run(name, number)
        facts = self.facts.get(session, {})
        return LoggedRun(name, manifests, graphs, records, (), forwards=forwards, facts=facts)


def _parted(
    sessions: Iterable[Sequence[Record]],
) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
    """Join sessions; return the records of gradients and those of values."""
    joined = join_sessions(sessions)
    records = tuple(record for record in joined if record.stage != FORWARD)
    return records, tuple(record for record in joined if record.stage == FORWARD)


def read_records(
    segment: Segment, columns: LastColumns, with_whole: bool = True
) -> Iterator[Record]:
    """Yield the records of a segment. It is fully checked; tables are expanded when they are read."""
    nothing: list[dict[int, np.ndarray]] = [{}] * len(segment)
    gradients, values = segment.whole() if with_whole else (nothing, nothing)
    columns.check(segment)
    for index in range(len(segment)):
        yield Record(
            tag=segment.tag,
            graph_hash=segment.graph_hash,
            step=segment.steps[index],
            wall_time=segment.wall_times[index],
            backward_pass=segment.backward_passes[index],
            table=StoredTable(columns, segment, index),
            gradients=gradients[index],
            values=values[index],
            unread=segment.unread[index],
            quantities=segment.quantities[index],
            quantity_reasons=segment.quantity_reasons[index],
            own=segment.own.of_record(index),
            own_measures=segment.own.measures,
            **segment.facts_of(index),
        )
