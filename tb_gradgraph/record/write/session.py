"""One writer's life: records come in on the training's thread and are written on another."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Protocol

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.format.gap import Disk
from tb_gradgraph.record.format.process import Process
from tb_gradgraph.record.write import shutdown
from tb_gradgraph.record.write.chunk_writer import AddSummary, ChunkWriter
from tb_gradgraph.record.write.schedule import record_bytes
from tb_gradgraph.record.write.session_thread import SessionThread


class Holder(Protocol):
    """Holds records back until it knows more about their step."""

    def hand_over(self) -> None:
        """Write them. Called in a signal handler; must not raise or wait for a lock."""


class Session:
    """Takes graphs and records, and hands summaries to ``add_summary`` on a daemon thread.

    Nothing is written before the first record. A failure of the writer gives one warning
    and ends the session; it is never raised here. A record that cannot be stored costs
    only itself. What is pending is written when the interpreter exits, and on SIGTERM if
    nobody else handles it. A forked child, a copy and an unpickled session write nothing.

    Args:
        add_summary: Takes a TensorBoard summary and a step; called on one other thread.
        flush_writer: Called on that thread after each chunk, so that TensorBoard sees it.
        torch_version: Kept in the session's manifest.
        clock: Seconds since the epoch.
        disk: Knows whether what was added waits for room; recording then pauses.
    """

    def __init__(
        self,
        add_summary: AddSummary,
        *,
        flush_writer: Callable[[], None] | None = None,
        torch_version: str = "",
        clock: Callable[[], float] = time.time,
        disk: Disk | None = None,
    ) -> None:
        self._pid = os.getpid()
        self._closed = False
        self._writer = ChunkWriter(add_summary, torch_version, clock, disk)
        self._thread = SessionThread(self._writer, flush_writer or (lambda: None))
        self._graphs: set[str] = set()
        self._holders: weakref.WeakSet[Holder] = weakref.WeakSet()
        shutdown.add(self)
        # A session dropped without close() still writes what it has.
        weakref.finalize(self, self._thread.stop).atexit = False

    @property
    def name(self) -> str:
        """The session's part of its tags."""
        return self._writer.session

    def describe(self, process: Process) -> None:
        """Say, before the first record, whose session it is, for its manifest."""
        self._writer.process = process

    @property
    def failure(self) -> BaseException | None:
        """What ended the session early, if anything did."""
        return self._thread.failure

    @property
    def is_open(self) -> bool:
        """Return whether records are still taken."""
        return not self._closed and self.failure is None and self._pid == os.getpid()

    def write_graph(self, tag: str, graph: Graph) -> None:
        """Hand over a graph, which is written once, before its first record.

        With that record it also appears in the standard Graphs dashboard, as
        ``gradgraph/<tag>``.

        Args:
            tag: The tag of the records to come; records of other tags may share the graph.
            graph: Kept until the session ends.
        """
        if self.is_open and graph.hash not in self._graphs:
            self._graphs.add(graph.hash)
            self._thread.put(lambda writer: writer.write_graph(graph))

    def write_record(self, record: Record) -> None:
        """Queue a record and return; its arrays must not change afterwards.

        While the disk is so slow that 256 MiB of records wait, records are left out, with
        one warning.
        """
        if self.is_open:
            self._thread.put(lambda writer: writer.write_record(record), record_bytes(record))

    def write_later(self, make: Callable[[], Iterable[Record]], size: int = 0) -> None:
        """Queue records that are made on the session's thread, where it may wait for a device.

        Args:
            make: Returns the records; called once.
            size: An estimate of the bytes that wait with it.
        """

        def write(writer: ChunkWriter) -> None:
            for record in make():
                writer.write_record(record)

        if self.is_open:
            self._thread.put(write, size)

    def write_end(self, why: str) -> None:
        """Write into the log a sentence that says that nothing more of some tag is recorded."""
        if self.is_open:
            self._thread.put(lambda writer: writer.write_end(why))

    def add_holder(self, holder: Holder) -> None:
        """Ask ``holder`` for its records when SIGTERM ends the process. It is not kept alive."""
        self._holders.add(holder)

    def collect(self) -> None:
        """Ask every holder for its records."""
        if self.is_open:
            for holder in list(self._holders):
                holder.hand_over()

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything given so far is in the event file.

        Args:
            timeout: Seconds to wait at most; ``None``: as long as it takes.
        """
        if self._pid == os.getpid():
            self._thread.flush(timeout)

    def close(self) -> None:
        """Write what is pending and end the session; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        shutdown.remove(self)
        if self._pid == os.getpid():
            self._thread.stop()
            self._thread.join()

    def __reduce__(self) -> tuple:
        """Copy or unpickle as a closed session."""
        return _closed_session, ()


def _closed_session() -> Session:
    session = Session(lambda summary, step: None)
    session.close()
    return session
