"""From what a trainer hands out for a writer to the writer, or to none where this process has none."""

from __future__ import annotations

from typing import Any

from tb_gradgraph.api.processes import process_rank
from tb_gradgraph.errors import WriterError


def writer_of(given: Any, where: str) -> Any:
    """Give the writer that is meant; None where only the main process has one, and this is another.

    Args:
        given: A writer; a logger or tracker that has one; or what stands for it on other
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
            f"{where}: expected a SummaryWriter, got None. Only a process whose rank is above 0 may "
            "be without one."
        )
    raise WriterError(
        f"{where}: expected a tracker that has begun, got {type(given).__name__} without a writer. "
        'Call accelerator.init_trackers("name") before, with Accelerator(log_with="tensorboard").'
    )


def _is_dummy(given: Any) -> bool:
    """Whether it is what Lightning's loggers give where nothing is to be logged."""
    return _is_a(given, "_DummyExperiment")


def _is_a(value: Any, name: str) -> bool:
    """Whether a value is of a class of that name, of a library that we do not import."""
    return any(kind.__name__ == name for kind in type(value).__mro__)
