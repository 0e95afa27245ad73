"""From what a trainer hands out as a writer to the real one, or to none if this process has none."""

from __future__ import annotations

from typing import Any

from tb_gradgraph.api.processes import process_rank
from tb_gradgraph.errors import WriterError


def writer_of(given: Any, where: str) -> Any:
    """Return the writer that is meant; None if only the main process has one, and this is another.

    Args:
        given: A writer; a logger or tracker that has one; or its stand-in on other
            processes: None, Accelerate's blank tracker, Lightning's dummy.
        where: The user's call, for messages.

    Raises:
        WriterError: There is none on the main process.
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
    """Return whether it is what Lightning's loggers give when nothing is to be logged."""
    return _is_a(given, "_DummyExperiment")


def _is_a(value: Any, name: str) -> bool:
    """Return whether a value's class has that name and is from a library that we do not import."""
    return any(kind.__name__ == name for kind in type(value).__mro__)
