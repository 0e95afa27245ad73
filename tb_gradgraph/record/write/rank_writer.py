"""A writer for a process above rank 0: its own event file, below the directory of rank 0."""

from __future__ import annotations

import os
import time
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter


class RankWriter:
    """Has what WriterSink asks of a SummaryWriter, so that all ranks may give the same directory.

    TensorBoard reads one directory as one run, in which a later writer would hide an earlier one. The
    user's writer stays as it is; this one is open as long as that one is.

    Args:
        writer: The user's writer.
        directory: The directory of this process, which is made.
    """

    def __init__(self, writer: Any, directory: str) -> None:
        self._writer = writer
        self._directory = directory
        self._own: _FileWriter | None = None

    @property
    def file_writer(self) -> Any:
        """Return what the user's writer has: None if it was closed."""
        return getattr(self._writer, "file_writer", self._writer)

    def _get_file_writer(self) -> _FileWriter:
        if self._own is None:
            os.makedirs(self._directory, exist_ok=True)
            self._own = _FileWriter(self._directory)
        return self._own

    def close(self) -> None:
        """Close the event file; the next use begins another one."""
        own, self._own = self._own, None
        if own is not None:
            own.event_writer.close()


class _FileWriter:
    """The methods of torch's FileWriter that WriterSink calls."""

    def __init__(self, directory: str) -> None:
        self.event_writer = EventFileWriter(directory)

    def get_logdir(self) -> str:
        return self.event_writer.get_logdir()

    def add_summary(
        self, summary: Summary, step: int | None = None, wall_time: float | None = None
    ) -> None:
        event = Event(summary=summary, wall_time=time.time() if wall_time is None else wall_time)
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def flush(self) -> None:
        self.event_writer.flush()
