"""The index of a run: its records, their places, and what could not be read."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import logging
from collections.abc import Iterable, Mapping, Sequence

from tb_gradgraph.errors import FormatError, NewerFormatError
from tb_gradgraph.graph import StepFacts
from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.record import (
    Chunk,
    HiddenRecords,
    Process,
    RecordTag,
    RunRoom,
    count_rows,
    decode_chunk,
    decode_manifest,
    find_hidden,
    join_sessions,
    latest_facts,
    parse_tag,
    session_run,
)
from tb_gradgraph.serve.runs.kept_facts import KeptFacts
from tb_gradgraph.serve.runs.own_of_tags import own_of_tags
from tb_gradgraph.statistics import FORWARD
from tb_gradgraph.training_facts import TrainingFacts

MAX_WARNINGS = 20

_logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Entry(StepFacts):
    """One record: what it belongs to, and the place of its numbers."""

    tag: str
    graph_hash: str
    step: int
    backward_pass: int
    wall_time: float
    has_gradients: bool
    rows: int
    chunk: str  # TensorBoard's tag
    segment: int  # number within the chunk
    position: int  # number within the segment
    unread: Mapping[int, str]  # rows that could not be read, and why
    quantities: Mapping[str, float]
    quantity_reasons: Mapping[str, str]  # of those that are missing
    own: Mapping[str, OwnMeasure]  # statistics of the user's own that its segment has


@dataclasses.dataclass(frozen=True)
class RunView:
    """The readable contents of a run at one time. It is immutable.

    Attributes:
        name: TensorBoard's name of the run.
        warnings: One message each, which the panel shows.
        graphs: TensorBoard's tag for each graph, by hash.
        records: The records of gradients by tag, sorted by step, stage and backward pass. Hidden
            records are left out.
        forwards: The records of values by tag, in the same order.
        facts: What is known of each training, by its tag.
        hidden: Records of earlier sessions that are left out, because a later session repeats their
            steps.
        stored_in: If this is one session of a run, TensorBoard's name of that run.
        processes: Which process wrote each graph, by hash.
    """

    name: str
    warnings: tuple[str, ...]
    graphs: Mapping[str, str]
    records: Mapping[str, tuple[Entry, ...]]
    hidden: tuple[HiddenRecords, ...] = ()
    stored_in: str | None = None
    processes: Mapping[str, Process] = dataclasses.field(default_factory=dict)
    forwards: Mapping[str, tuple[Entry, ...]] = dataclasses.field(default_factory=dict)
    facts: Mapping[str, TrainingFacts] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def own(self) -> Mapping[str, Mapping[str, OwnMeasure]]:
        """The statistics of the user's own by tag and name, as the last records tell of them."""
        return own_of_tags(self.records, self.forwards)

    @property
    def stored_name(self) -> str:
        """TensorBoard's name of the run that holds these records."""
        return self.name if self.stored_in is None else self.stored_in


class RunIndex:
    """The index of a run that may grow. Existing records never change. Not thread-safe."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._seen: set[str] = set()
        self._graphs: dict[str, tuple[str, int]] = {}  # tag -> hash, number of rows
        self._chunks: dict[str, tuple[str, list[Entry], int]] = {}  # tag -> session, .., stride
        self._processes: dict[str, Process] = {}  # by session
        self._problems: dict[str, str] = {}
        self._told: dict[str, str] = {}  # about gaps and early ends, by the chunk's tag
        self._facts = KeptFacts()
        self._room = RunRoom(with_own=False)
        self._newer = 0
        self._view: RunView | None = None
        self._earlier: tuple[RunView, ...] = ()

    def list_new(self, tags: Iterable[str]) -> list[str]:
        """List the tags that have not been added yet."""
        return [tag for tag in tags if tag not in self._seen]

    def keep_only(self, tags: Iterable[str]) -> None:
        """Forget records that TensorBoard no longer holds."""
        if gone := self._seen.difference(tags):
            for tag in gone:
                self._forget(tag)
            self._seen -= gone
            self._view = None

    def add(self, tag: str, strings: Sequence[bytes]) -> Chunk | None:
        """Add a record, or a warning if it is damaged; return the chunk if it is one."""
        self._seen.add(tag)
        self._view = None
        name = parse_tag(tag)
        try:
            if name is None:
                raise FormatError("expected a tag of FORMAT.md, got another.")
            return self._decode(tag, name, strings)
        except NewerFormatError as error:
            self._newer += 1
            if self._newer == 1:
                _logger.warning("tb_gradgraph: run %s, %s: %s", self.name, tag, error)
        except FormatError as error:
            self._problems[tag] = str(error)
        return None

    def discard(self, tag: str, error: FormatError) -> None:
        """Drop a graph or chunk that turned out to be damaged."""
        self._forget(tag)
        self._problems[tag] = str(error)
        self._view = None

    def _forget(self, tag: str) -> None:
        self._graphs.pop(tag, None)
        self._told.pop(tag, None)
        self._facts.forget(tag)
        self._chunks.pop(tag, None)
        self._room.give_back(tag)

    def view(self) -> RunView:
        """Return the present contents."""
        if self._view is None:
            self._view = self._make_view()
        return self._view

    def earlier(self) -> tuple[RunView, ...]:
        """Return each session that has hidden records, as a run of its own."""
        self.view()
        return self._earlier

    def _decode(self, tag: str, name: RecordTag, strings: Sequence[bytes]) -> Chunk | None:
        if name.kind == "manifest":
            self._processes[name.session] = decode_manifest(strings).process
            return None
        if name.kind == "graph":
            self._graphs[tag] = (name.name, count_rows(strings, name.name))
            return None
        chunk = decode_chunk(strings)
        self._room.take(tag, chunk)
        if told := [text for text in (chunk.gap and chunk.gap.text, chunk.ended) if text]:
            self._told[tag] = "; ".join(told)
        self._facts.add(tag, name.session, chunk.facts)
        self._chunks[tag] = (name.session, list(_list_entries(tag, chunk)), chunk.stride)
        return chunk

    def _make_view(self) -> RunView:
        rows = {graph_hash: count for graph_hash, count in self._graphs.values()}
        sessions: dict[str, list[Entry]] = {}
        misfits: set[str] = set()
        for tag in sorted(self._chunks):
            session, entries, _ = self._chunks[tag]
            fitting = sessions.setdefault(session, [])
            for entry in entries:
                if rows.get(entry.graph_hash, entry.rows) == entry.rows:
                    fitting.append(entry)
                else:
                    misfits.add(entry.chunk)
        graphs = {graph_hash: tag for tag, (graph_hash, _) in self._graphs.items()}
        by_tag, forwards = _by_tag([sessions[session] for session in sorted(sessions)])
        warnings = tuple(self._list_warnings(misfits, by_tag, forwards, graphs))
        processes = self._writers(graphs)
        hidden, facts = tuple(find_hidden(sessions)), self._facts.by_session()
        self._earlier = tuple(
            self._view_of(number, sessions[session], graphs, processes, facts.get(session, {}))
            for session, number in dict.fromkeys((some.session, some.number) for some in hidden)
        )
        told = (hidden, None, processes, forwards, latest_facts(facts))
        return RunView(self.name, warnings, graphs, by_tag, *told)

    def _view_of(
        self,
        number: int,
        entries: Sequence[Entry],
        graphs: Mapping[str, str],
        processes: Mapping[str, Process],
        facts: Mapping[str, TrainingFacts],
    ) -> RunView:
        """Return one session as a run."""
        name = session_run(self.name, number)
        by_tag, forwards = _by_tag([entries])
        return RunView(name, (), graphs, by_tag, (), self.name, processes, forwards, facts)

    def _writers(self, graphs: Mapping[str, str]) -> dict[str, Process]:
        """Return the process that wrote each graph, by hash, if it is known from a manifest."""
        names = {graph_hash: parse_tag(tag) for graph_hash, tag in graphs.items()}
        sessions = {graph_hash: name.session for graph_hash, name in names.items() if name}
        known = self._processes
        return {of: known[session] for of, session in sessions.items() if session in known}

    def _list_warnings(
        self,
        misfits: Iterable[str],
        records: Mapping[str, Sequence[Entry]],
        forwards: Mapping[str, Sequence[Entry]],
        graphs: Mapping[str, str],
    ) -> list[str]:
        damaged = [
            f"{tag} is damaged and was skipped: {text}"
            for tag, text in sorted(self._problems.items())
        ]
        damaged += [f"{tag} does not fit its graph and was skipped." for tag in sorted(misfits)]
        entries = itertools.chain.from_iterable((*records.values(), *forwards.values()))
        used = {entry.graph_hash for entry in entries}
        damaged += [
            f"The structure of graph {graph_hash} is missing, so its records cannot be drawn."
            for graph_hash in sorted(used.difference(graphs))
        ]
        damaged += [
            f"Tag {tag!r} has values of the forward and no record of a backward, so it is not listed."
            for tag in sorted(set(forwards).difference(records))
        ]
        warnings = damaged[:MAX_WARNINGS]
        if len(damaged) > MAX_WARNINGS:
            warnings.append(f"{len(damaged) - MAX_WARNINGS} further records were skipped.")
        told = sorted(self._told.items())[-MAX_WARNINGS:]
        warnings.extend(f"{text[:1].upper()}{text[1:]}" for _, text in told)
        stride = max((stride for _, _, stride in self._chunks.values()), default=1)
        if stride > 1:
            warnings.append(
                f"This run is large, so only one of every {stride} recorded steps was kept."
            )
        if self._newer:
            warnings.append(
                f"{self._newer} records were skipped because a newer tb_gradgraph wrote them. "
                "Upgrade tb_gradgraph where TensorBoard runs."
            )
        return warnings


ByTag = dict[str, tuple[Entry, ...]]


def _by_tag(sessions: Sequence[Sequence[Entry]]) -> tuple[ByTag, ByTag]:
    """Return the records of several sessions by tag, without hidden ones: of gradients, and of values."""
    found: tuple[dict[str, list[Entry]], dict[str, list[Entry]]] = ({}, {})
    for entry in join_sessions(sessions):
        found[entry.stage == FORWARD].setdefault(entry.tag, []).append(entry)
    records, forwards = ({tag: tuple(some) for tag, some in part.items()} for part in found)
    return records, forwards


def _list_entries(tag: str, chunk: Chunk) -> Iterable[Entry]:
    for number, segment in enumerate(chunk.segments):
        for position in range(len(segment)):
            facts = segment.facts_of(position)
            yield Entry(
                tag=segment.tag,
                graph_hash=segment.graph_hash,
                step=segment.steps[position],
                backward_pass=segment.backward_passes[position],
                wall_time=segment.wall_times[position],
                # A record of a watch means that a backward ran, even if none of its gradients was read.
                has_gradients=segment.present_rows[position] > 0 or facts["every_n_steps"] > 0,
                rows=segment.rows,
                chunk=tag,
                segment=number,
                position=position,
                unread=segment.unread[position],
                quantities=segment.quantities[position],
                quantity_reasons=segment.quantity_reasons[position],
                own=segment.own.measures,
                **facts,
            )
