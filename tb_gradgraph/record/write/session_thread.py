"""The thread on which a session encodes and writes."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Callable

from tb_gradgraph.record.write.chunk_writer import ChunkWriter, SinkError
from tb_gradgraph.record.write.patient_file import warn

#: How many bytes of records wait for the disk. Beyond this, new records are dropped to save memory.
MAX_QUEUED_BYTES = 256 * 2**20

Job = Callable[[ChunkWriter], None]


class SessionThread:
    """Runs a ChunkWriter. It starts with the first job. It has no reference to the session.

    The first failure of the user's writer is kept in ``failure``, with a warning; later jobs are
    dropped. A record that cannot be made or stored costs only itself, with one warning.
    """

    def __init__(self, writer: ChunkWriter, flush_writer: Callable[[], None]) -> None:
        self.failure: BaseException | None = None
        self._writer = writer
        self._flush_writer = flush_writer
        self._jobs: queue.SimpleQueue[tuple[Job, int, threading.Event | None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()  # reentrant: a garbage collection inside may add a job
        self._queued_bytes = 0
        self._left_out = 0
        self._lost = 0

    def put(self, job: Job, size: int = 0) -> None:
        """Queue a job that keeps ``size`` bytes alive, or drop it if too many bytes wait."""
        with self._lock:
            fits = not self._queued_bytes or self._queued_bytes + size <= MAX_QUEUED_BYTES
            self._queued_bytes += size if fits else 0
            self._left_out += not fits
            if self._thread is None:
                self._start()
        if fits:
            self._jobs.put((job, size, None))
        elif self._left_out == 1:
            warn("records come faster than they can be written; some are left out")

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all jobs are done and their summaries are in the file.

        It takes no lock, so a signal handler may call it.
        """
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        done = threading.Event()
        self._jobs.put((ChunkWriter.write_pending, 0, done))
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while thread.is_alive() and (left := deadline - time.monotonic()) > 0:
            if done.wait(min(left, 0.2)):  # in short waits, because the thread may end
                return

    def stop(self) -> None:
        """Ask the thread to end once all jobs are done; does not wait."""
        self._jobs.put((_stop, 0, None))

    def join(self) -> None:
        """Wait for the thread to end."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="tb_gradgraph", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the interpreter is shutting down
            self.failure = error
            return
        self._thread = thread

    def _run(self) -> None:
        while True:
            # After a failure nothing is written, however long it is due: only a job wakes the thread.
            wait = self._writer.seconds_left() if self.failure is None else None
            try:
                job, size, done = self._jobs.get(timeout=wait)
            except queue.Empty:
                job, size, done = ChunkWriter.write_due, 0, None
            if self.failure is None:
                self._attempt(job)
            if done is not None:
                done.set()
            if job is _stop:
                return
            del job
            with self._lock:
                self._queued_bytes -= size

    def _attempt(self, job: Job) -> None:
        chunks = self._writer.chunks_written
        try:
            try:
                job(self._writer)
            except SinkError:
                raise
            except Exception as error:
                self._writer.lose(f"{type(error).__name__}: {error}")
            if self._writer.chunks_written != chunks:
                self._flush()
        except SinkError as error:
            self._fail(error.__cause__)
        self._tell_lost()

    def _flush(self) -> None:
        try:
            self._flush_writer()
        except Exception as error:
            raise SinkError from error
        self._writer.settle()

    def _fail(self, error: BaseException | None) -> None:
        self.failure = error
        warn(f"recording stopped, training goes on: {type(error).__name__}: {error}")
        with contextlib.suppress(Exception):  # earlier records may still be written
            self._writer.write_pending()
            self._flush_writer()

    def _tell_lost(self) -> None:
        """Warn of the first lost record, and at the end of the number of lost records."""
        lost = self._writer.take_lost()
        if lost and not self._lost:
            warn(f"a record could not be stored, but the others are: {lost[0]}")
        self._lost += len(lost)


def _stop(writer: ChunkWriter) -> None:
    writer.write_pending()
