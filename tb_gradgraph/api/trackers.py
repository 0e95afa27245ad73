"""Find the real writer behind a logger or tracker. Some processes have none."""

from __future__ import annotations

from typing import Any

from tb_gradgraph.api.processes import process_rank
from tb_gradgraph.errors import WriterError


def writer_of(given: Any, where: str) -> Any:
    """Return the real writer; None if only the main process has one, and this is another process.

    Args:
        given: A writer, or a logger or tracker that has one. On other processes it may be a
            placeholder: None, Accelerate's blank tracker, or Lightning's dummy.
        where: The user's call, for messages.

    Raises:
        WriterError: The main process has no writer.
    """
    if _is_dummy(given) or _is_dummy(target := getattr(given, "experiment", given)):
        return None
    if _is_a(target, "GeneralTracker"):
        target = getattr(target, "tracker", None)
    if target is not None:
        return target
    if process_rank() > 0:
        return None
    if given is None:
        raise WriterError(
            f"{where}: expected a SummaryWriter, got None. Only a process whose rank is above 0 may be "
            "without one."
        )
    raise WriterError(
        f"{where}: expected a tracker that has begun, got {type(given).__name__} without a writer. "
        'Call accelerator.init_trackers("name") first, with Accelerator(log_with="tensorboard").'
    )


def _is_dummy(given: Any) -> bool:
    """Return whether it is the dummy that Lightning's loggers give when they log nothing."""
    return _is_a(given, "_DummyExperiment")


def _is_a(value: Any, name: str) -> bool:
    """Return whether the class of a value has a name in a library. We do not import the library for this."""
    return any(kind.__name__ == name for kind in type(value).__mro__)
