"""A session: it takes records on the training's thread, and writes them on another thread."""

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
from tb_gradgraph.training_facts import TrainingFacts


class Holder(Protocol):
    """Holds records back until more is known about their step."""

    def hand_over(self) -> None:
        """Write them. It is called in a signal handler, so it must not raise or wait for a lock."""


class Session:
    """Takes graphs and records, and passes summaries to ``add_summary`` on a daemon thread.

    Nothing is written before the first record. A failure of the writer gives one warning and ends
    the session; it is never raised here. A record that cannot be stored costs only itself. Pending
    records are written when the interpreter exits, and on SIGTERM if no other handler is installed.
    A session in a forked child, a copy, or an unpickled session writes nothing.

    Args:
        add_summary: Takes a TensorBoard summary and a step. It is called on the session's thread
            only.
        flush_writer: Called on the same thread after each chunk, so that TensorBoard can read it.
        torch_version: Kept in the session's manifest.
        clock: Seconds since the epoch.
        disk: Says whether summaries wait for disk space. Recording pauses while they do.
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
        # A session that is deleted without close() still writes its records.
        weakref.finalize(self, self._thread.stop).atexit = False

    @property
    def name(self) -> str:
        """The name of the session, which is a part of its tags."""
        return self._writer.session

    def describe(self, process: Process) -> None:
        """Set the process of the session for its manifest. Call it before the first record."""
        self._writer.process = process

    def draw_scalars(self, tag: str, draws: bool, is_named: bool) -> None:
        """Write the quantities of a tag's coming records as scalars of TensorBoard's own too, or not.

        Their tags begin with ``gradgraph/``. If the tag ``is_named`` by the user, or is not the
        first in the session whose scalars are drawn, they begin with ``gradgraph/<tag>/``.
        """
        prefixes = self._writer.scalars.prefixes
        prefixes.pop(tag, None)
        if draws:
            prefixes[tag] = f"gradgraph/{tag}/" if is_named or prefixes else "gradgraph/"

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the session early, if there was one."""
        return self._thread.failure

    @property
    def is_open(self) -> bool:
        """Return whether records are still taken."""
        return not self._closed and self.failure is None and self._pid == os.getpid()

    def write_graph(self, tag: str, graph: Graph) -> None:
        """Queue a graph, which is written once, before its first record.

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
        """Queue a record. Its arrays must not change afterwards.

        If the disk is so slow that 256 MiB of records wait, further records are dropped, with one
        warning.
        """
        if self.is_open:
            self._thread.put(lambda writer: writer.write_record(record), record_bytes(record))

    def write_later(self, make: Callable[[], Iterable[Record]], size: int = 0) -> None:
        """Queue a function that makes records on the session's thread, where it may wait for a device.

        Args:
            make: Returns the records; called once.
            size: An estimate of the bytes that it keeps alive.
        """

        def write(writer: ChunkWriter) -> None:
            for record in make():
                writer.write_record(record)

        if self.is_open:
            self._thread.put(write, size)

    def write_facts(self, make: Callable[[], TrainingFacts]) -> None:
        """Queue a function that says what is known of a training; see ``write_later``.

        It is written with the next chunk of records, or without one if it says why there are none. Of
        several of one tag the latest counts.
        """
        if self.is_open:
            self._thread.put(lambda writer: writer.facts.add(make()))

    def write_end(self, why: str) -> None:
        """Write a sentence to the log which says that recording of a tag has ended."""
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
        """Wait until everything queued so far is in the event file.

        Args:
            timeout: The maximum number of seconds to wait; ``None`` for no limit.
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
