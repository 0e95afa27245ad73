"""Turn graphs and records into summaries, on one thread. Nothing is written before the first record."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator

from tensorboard.compat.proto.summary_pb2 import Summary

from tb_gradgraph.graph import Graph, Record, is_step
from tb_gradgraph.record.exchange.graph_def import encode_run_metadata
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format.check_graph import check_graph_size
from tb_gradgraph.record.format.encode import encode_chunk, encode_facts, encode_graph, shorten
from tb_gradgraph.record.format.envelope import (
    Strings,
    create_session,
    dashboard_summary,
    graph_tag,
    manifest_tag,
    parse_tag,
    record_summary,
    seal,
    statistics_tag,
)
from tb_gradgraph.record.format.gap import Disk, Gap, gap_of, joined
from tb_gradgraph.record.format.limits import MAX_TAG_BYTES
from tb_gradgraph.record.format.process import Process, columns_of
from tb_gradgraph.record.format.segment import check_chunk
from tb_gradgraph.record.write.patient_file import RETRY_SECONDS
from tb_gradgraph.record.write.scalar_points import ScalarPoints
from tb_gradgraph.record.write.schedule import ChunkSchedule
from tb_gradgraph.record.write.waiting_facts import WaitingFacts
from tb_gradgraph.version import __version__

#: Takes a summary and its step, and perhaps its time in seconds since the epoch.
AddSummary = Callable[..., None]

#: How many graphs wait for their first record; beyond this the oldest one is dropped.
MAX_WAITING_GRAPHS = 256

#: Limits for the standard dashboard: graphs that change at every step would flood it, and it cannot
#: draw large ones.
MAX_DASHBOARD_GRAPHS = 8
MAX_DASHBOARD_NODES = 20_000


class SinkError(Exception):
    """The user's writer did not accept a summary; its own error is the cause."""


class ChunkWriter:
    """Encodes the records of one session. Not thread-safe: the session calls it on its own thread.

    A record or graph that cannot be stored costs only itself, and ``take_lost`` names it. SinkError
    is raised if the writer behind ``add_summary`` fails. While the disk is full, chunks are
    dropped. The next chunk that is written says how many records were lost, and of which steps.

    Args:
        add_summary: Takes a summary and a step.
        clock: Seconds since the epoch.
        disk: The disk; None if it never gets full.
    """

    def __init__(
        self,
        add_summary: AddSummary,
        torch_version: str,
        clock: Callable[[], float],
        disk: Disk | None = None,
    ) -> None:
        self._disk = disk
        self._gap: Gap | None = None  # not reported yet
        self._ended = ""  # not reported yet
        self.facts = WaitingFacts()
        self._sent: dict[str, Gap | None] = {}  # by tag: the gap that losing the chunk would leave
        self._add_summary = add_summary
        self._torch_version = torch_version
        self.process = Process()  # for the manifest
        self.scalars = ScalarPoints()
        self._clock = clock
        self._start_time = clock()
        self.session = create_session(self._start_time)
        self._schedule = ChunkSchedule(self._start_time)
        self._pending: list[Record] = []
        self._graphs: collections.OrderedDict[str, Graph] = collections.OrderedDict()
        self._graphs_written: set[str] = set()
        self._published: dict[str, set[str]] = {}  # hashes, by tag
        self._started = False
        self._lost: list[str] = []
        self.chunks_written = 0

    def write_graph(self, graph: Graph) -> None:
        """Keep a graph until one of its records is written."""
        self._graphs[graph.hash] = graph
        if len(self._graphs) > MAX_WAITING_GRAPHS:
            self._graphs.popitem(last=False)

    def write_record(self, record: Record) -> None:
        """Add a record to the open chunk, after its graph, and close the chunk if it is due."""
        if not self._admits(record):
            return
        if not self._is_stuck():
            self._introduce(record)
        self._pending.append(record)
        self.write_due()

    def _admits(self, record: Record) -> bool:
        if not is_step(record.step):
            self.lose(f"expected a step of 64 bits, got {record.step}", record)
            return False
        self.scalars.add(record, [_dashboard_tag(tag) for tag in self._published])
        try:
            return self._schedule.admits(record)
        except Exception as error:
            self.lose(_named(error), record)
            return False

    def seconds_left(self) -> float | None:
        """Return the seconds until :meth:`write_due` has something to do; ``None`` while no chunk is open."""
        return self._schedule.seconds_left(self._clock())

    def write_due(self) -> None:
        """Write the open chunk if it is large, old or urgent."""
        if self.seconds_left() == 0:
            self._write_open(RETRY_SECONDS)

    def write_pending(self) -> None:
        """Write the open chunk whatever its age.

        The event's step is the chunk's first, so that TensorBoard's purging at
        a restart from step n never drops a record from before n.
        """
        self._write_open(0.0)

    def write_end(self, why: str) -> None:
        """Report that recording of a tag has ended."""
        self._ended = shorten(f"{self._ended}; {why}" if self._ended else why, MAX_TAG_BYTES)
        self.write_pending()

    def _write_open(self, patience: float) -> None:
        stuck = self._is_stuck(patience)
        records, self._pending = self._pending, []
        if not stuck:
            self._write_records(records)
        elif records:
            self._gap = joined(self._gap, gap_of(records, self._fault))
            self._schedule.drop()

    def _write_records(self, records: list[Record]) -> None:
        self._take_dropped()
        for point in self.scalars.take():
            self._add(*point)
        has_news = self._gap is not None or self._ended or self.facts.explain
        if has_news and not self._started:
            self._write_manifest()
        for record in records:
            self._introduce(record)
        size = sum(self._write_chunk(*sealed) for sealed in self._seal(records))
        if records:
            self._schedule.close(size)

    def _write_chunk(self, records: list[Record], strings: Strings) -> int:
        tag = statistics_tag(self.session, self.chunks_written)
        told, self._gap, self._ended = self._gap, None, ""
        if self._disk is not None:
            self._sent[tag] = joined(told, gap_of(records, "") if records else None)
        steps = [record.step for record in records] or [0 if told is None else told.first_step]
        size = self._put(tag, strings, min(steps))
        self.chunks_written += 1
        self.facts.sent(tag)
        return size

    def settle(self) -> None:
        """Note which added summaries are in the file, wait for room, or are lost."""
        self._take_dropped()
        self._sent.clear()
        self.facts.settle()

    def _take_dropped(self) -> None:
        for tag in () if self._disk is None else self._disk.take_dropped():
            name = parse_tag(tag)
            if name is None or name.session != self.session:
                continue
            if name.kind == "manifest":
                self._started = False
            elif name.kind == "graph":
                self._graphs_written.discard(name.name)
                continue
            self.facts.lost(tag)
            if lost := self._sent.pop(tag, None):
                self._gap = joined(self._gap, dataclasses.replace(lost, why=self._fault))

    def _is_stuck(self, patience: float | None = None) -> bool:
        try:
            return self._disk is not None and self._disk.is_stuck(patience)
        except Exception as error:
            raise SinkError from error

    @property
    def _fault(self) -> str:
        return "" if self._disk is None else self._disk.fault

    def lose(self, why: str, record: Record | None = None) -> None:
        """Note that a record or something else is not stored."""
        where = "" if record is None else f"{record.tag!r}, step {record.step}: "
        self._lost.append(where + why)

    def take_lost(self) -> list[str]:
        """Return what could not be stored since the last call."""
        lost, self._lost = self._lost, []
        return lost

    def _seal(self, records: list[Record]) -> Iterator[tuple[list[Record], Strings]]:
        """Yield one chunk of all records, or several chunks if one record cannot be stored."""
        if not (records or self._gap or self._ended or (self.facts and self._started)):
            return
        try:
            chunk = encode_chunk(records, self._schedule.stride)
            chunk.ended = self._ended
            encode_facts(chunk, self.facts.next())
            if self._gap is not None:
                self._gap.encode_into(chunk)
            check_chunk(chunk)
            strings = seal(chunk)
        except Exception as error:
            if len(records) < 2:
                self.lose(_named(error), *records)
                return
            half = len(records) // 2
            yield from self._seal(records[:half])
            yield from self._seal(records[half:])
        else:
            yield records, strings

    def _introduce(self, record: Record) -> None:
        """Write what must come before a record (the manifest and its graph), once."""
        if not self._started:
            self._write_manifest()
        self._write_graphs(record)

    def _write_manifest(self) -> None:
        manifest = pb.Manifest(
            session=self.session,
            writer_version=__version__,
            torch_version=self._torch_version,
            start_time=self._start_time,
            **columns_of(self.process),
        )
        self._put(manifest_tag(self.session), seal(manifest), 0)
        self._started = True

    def _write_graphs(self, record: Record) -> None:
        graph_hash = record.graph_hash
        graph = self._graphs.get(graph_hash)
        if graph is None:
            return
        try:
            if graph_hash not in self._graphs_written:
                self._graphs_written.add(graph_hash)
                message = encode_graph(graph)
                check_graph_size(message)
                strings = seal(message)
                self._schedule.spend(self._put(graph_tag(self.session, graph_hash), strings, 0))
            self._publish_graph(record, graph)
        except SinkError:
            raise
        except Exception as error:
            self.lose(f"its graph: {_named(error)}", record)

    def _publish_graph(self, record: Record, graph: Graph) -> None:
        """Also write the graph for the standard dashboard, once for each tag."""
        published = self._published.setdefault(record.tag, set())
        if record.graph_hash in published or len(published) >= MAX_DASHBOARD_GRAPHS:
            return
        published.add(record.graph_hash)
        if len(graph.nodes) <= MAX_DASHBOARD_NODES:
            tag = _dashboard_tag(record.tag)
            if tag not in self.scalars.tags:
                self._add(dashboard_summary(tag, encode_run_metadata(graph)), record.step)

    def _put(self, tag: str, strings: Strings, step: int) -> int:
        self._add(record_summary(tag, strings), step)
        return len(strings[0]) + len(strings[1])

    def _add(self, summary: Summary, step: int, *wall_time: float) -> None:
        try:
            self._add_summary(summary, step, *wall_time)
        except Exception as error:
            raise SinkError from error


def _dashboard_tag(tag: str) -> str:
    return shorten(f"gradgraph/{tag}", MAX_TAG_BYTES)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
