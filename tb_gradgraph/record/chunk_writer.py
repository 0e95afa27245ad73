"""Graphs and records in, summaries out, on one thread; nothing is written before the first record."""

from __future__ import annotations

import collections
from collections.abc import Callable

from google.protobuf.message import Message
from tensorboard.compat.proto.summary_pb2 import Summary

from tb_gradgraph import __version__
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record import gradgraph_pb2 as pb
from tb_gradgraph.record.chunks import ChunkSchedule
from tb_gradgraph.record.encode import encode_chunk, encode_graph
from tb_gradgraph.record.envelope import seal
from tb_gradgraph.record.graph_def import encode_run_metadata
from tb_gradgraph.record.summaries import dashboard_summary, record_summary
from tb_gradgraph.record.tags import create_session, graph_tag, manifest_tag, statistics_tag

AddSummary = Callable[[Summary, "int | None"], None]

#: Graphs that wait for a record to be kept; beyond it the oldest is forgotten.
MAX_WAITING_GRAPHS = 256

#: A graph that changes at every step would flood the standard dashboard, and it cannot draw large ones.
MAX_DASHBOARD_GRAPHS = 8
MAX_DASHBOARD_NODES = 20_000


class ChunkWriter:
    """One session's encoder. Not thread-safe: the session calls it on its own thread.

    Args:
        add_summary: Takes a summary and a step.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, add_summary: AddSummary, torch_version: str, clock: Callable[[], float]
    ) -> None:
        self._add_summary = add_summary
        self._torch_version = torch_version
        self._clock = clock
        self._start_time = clock()
        self.session = create_session(self._start_time)
        self._schedule = ChunkSchedule(self._start_time)
        self._pending: list[Record] = []
        self._graphs: collections.OrderedDict[str, Graph] = collections.OrderedDict()
        self._graphs_written: set[str] = set()
        self._published: dict[str, set[str]] = {}  # hashes by tag
        self._started = False
        self.chunks_written = 0

    def write_graph(self, graph: Graph) -> None:
        """Keep a graph until a record of it is written."""
        self._graphs[graph.hash] = graph
        if len(self._graphs) > MAX_WAITING_GRAPHS:
            self._graphs.popitem(last=False)

    def write_record(self, record: Record) -> None:
        """Put a record into the open chunk, its graph before it, and close the chunk if it is due."""
        if not self._schedule.admits(record):
            return
        if not self._started:
            self._write_manifest()
        self._write_graphs(record)
        self._pending.append(record)
        self.write_due()

    def seconds_left(self) -> float | None:
        """Tell how long until :meth:`write_due` has something to do; ``None`` while nothing is open."""
        return self._schedule.seconds_left(self._clock())

    def write_due(self) -> None:
        """Write the open chunk if it is large, old or urgent."""
        if self.seconds_left() == 0:
            self.write_pending()

    def write_pending(self) -> None:
        """Write the open chunk whatever its age.

        The event's step is the chunk's first, so that TensorBoard's purging at
        a restart from step n never drops a record from before n.
        """
        if not self._pending:
            return
        records, self._pending = self._pending, []
        chunk = encode_chunk(records, self._schedule.stride)
        tag = statistics_tag(self.session, self.chunks_written)
        size = self._write(tag, chunk, min(record.step for record in records))
        self.chunks_written += 1
        self._schedule.close(size)

    def _write_manifest(self) -> None:
        manifest = pb.Manifest(
            session=self.session,
            writer_version=__version__,
            torch_version=self._torch_version,
            start_time=self._start_time,
        )
        self._write(manifest_tag(self.session), manifest, 0)
        self._started = True

    def _write_graphs(self, record: Record) -> None:
        graph_hash = record.graph_hash
        graph = self._graphs.get(graph_hash)
        if graph is None:
            return
        if graph_hash not in self._graphs_written:
            self._graphs_written.add(graph_hash)
            size = self._write(graph_tag(self.session, graph_hash), encode_graph(graph), 0)
            self._schedule.spend(size)
        self._publish_graph(record, graph)

    def _publish_graph(self, record: Record, graph: Graph) -> None:
        """Show the graph in the standard dashboard too, once a tag."""
        published = self._published.setdefault(record.tag, set())
        if record.graph_hash in published or len(published) >= MAX_DASHBOARD_GRAPHS:
            return
        published.add(record.graph_hash)
        if len(graph.nodes) <= MAX_DASHBOARD_NODES:
            summary = dashboard_summary(f"gradgraph/{record.tag}", encode_run_metadata(graph))
            self._add_summary(summary, record.step)

    def _write(self, tag: str, message: Message, step: int) -> int:
        strings = seal(message)
        self._add_summary(record_summary(tag, strings), step)
        return len(strings[0]) + len(strings[1])
