"""Write summaries to the user's own writer, torch's or tensorboardX's. Neither library is imported."""

from __future__ import annotations

import sys
from typing import Any

from tensorboard.compat.proto.summary_pb2 import Summary

from tb_gradgraph.errors import WriterError
from tb_gradgraph.record.write.checksum import use_fast_checksum
from tb_gradgraph.record.write.patient_file import PatientFile, make_patient


class WriterSink:
    """Wraps a user's SummaryWriter: torch's or tensorboardX's, or a subclass of either.

    The sink looks up the writer's file writer at each call, because both libraries replace the file
    writer when a closed SummaryWriter is used again.

    Args:
        writer: The user's writer. The sink keeps it alive. The sink changes two things about the
            writer's event file: the function that computes checksums, and how it behaves while the
            disk is full (it waits).
        caller: The public function to name in errors, such as ``"watch()"``.

    Attributes:
        directory: The directory of the event file.

    Raises:
        WriterError: If the writer is closed or of an unknown kind.
    """

    def __init__(self, writer: Any, caller: str = "add_grad_graph()") -> None:
        if not callable(getattr(writer, "_get_file_writer", None)):
            raise WriterError(
                f"{caller}: expected a SummaryWriter of torch or tensorboardX, got "
                f"{type(writer).__name__}. For a logger, pass its .experiment."
            )
        self._writer = writer
        self._caller = caller
        self._accelerated: Any = None
        self._file: PatientFile | None = None
        self.directory = str(self._file_writer().get_logdir())

    def check_open(self) -> None:
        """Raise WriterError if the writer was closed."""
        self._file_writer()

    def add_summary(
        self, summary: Summary, step: int | None, wall_time: float | None = None
    ) -> None:
        """Add a summary to the queue of the event file; raise WriterError if the writer was closed.

        ``wall_time`` is its time in seconds since the epoch; None: now.
        """
        file_writer = self._file_writer()
        told = () if wall_time is None else (wall_time,)
        file_writer.add_summary(_in_writers_protos(summary, file_writer), step, *told)

    def flush(self) -> None:
        """Wait until everything is in the file; raise WriterError if the writer was closed."""
        self._file_writer().flush()

    @property
    def fault(self) -> str:
        """Return why the last failed attempt to write the event file failed."""
        return "" if self._file is None else self._file.fault

    def is_stuck(self, patience: float | None = None) -> bool:
        """Say whether events wait for disk space, as PatientFile does."""
        return self._file is not None and self._file.is_stuck(patience)

    def take_dropped(self) -> list[str]:
        """Return the tags of our own summaries that were lost since the last call."""
        return [] if self._file is None else self._file.take_dropped()

    def _file_writer(self) -> Any:
        if getattr(self._writer, "file_writer", self._writer) is None:
            raise WriterError(
                f"{self._caller}: expected an open SummaryWriter, got one that was closed. "
                "Call close() on the writer last."
            )
        file_writer = self._writer._get_file_writer()
        if file_writer is not self._accelerated:
            self._accelerated = file_writer
            self._file = make_patient(file_writer)
            use_fast_checksum(file_writer)
        return file_writer


def _in_writers_protos(summary: Summary, file_writer: Any) -> Any:
    """Convert the summary if the writer has message classes of its own, as tensorboardX does."""
    package = type(file_writer).__module__.partition(".")[0]
    protos = sys.modules.get(f"{package}.proto.summary_pb2")
    if package == "tensorboard" or protos is None:
        return summary
    return protos.Summary.FromString(summary.SerializeToString())
