"""Record only one backward at a time, and pause the garbage collector meanwhile."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

from tb_gradgraph.autograd import BackwardCall, is_batched, is_part_of_forward
from tb_gradgraph.training.reading.backward_pass import PassReading
from tb_gradgraph.training.step.step import RecordedStep
from tb_gradgraph.training.turns import Ended


class Running:
    """A lock that is held while a backward is recorded. It pauses the garbage collector."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.is_held: Callable[[], bool] = self._lock.locked  # called at every optimizer step
        self._was_collecting = False

    def take(self) -> bool:
        """Take the lock, unless the backward of another thread is being recorded."""
        if not self._lock.acquire(blocking=False):
            return False
        self._was_collecting = gc.isenabled()
        gc.disable()
        return True

    def release(self) -> None:
        """Release the lock."""
        if self._was_collecting:
            gc.enable()
        self._lock.release()


def recorded(
    call: BackwardCall,
    step: RecordedStep,
    running: Running,
    end: Callable[[RecordedStep, PassReading, bool], Any],
    then: Callable[[bool], None],
) -> Ended | None:
    """Read a backward that is about to run; return a function to call when it has ended.

    Args:
        call: The arguments of the backward.
        step: The step that it belongs to.
        running: The lock to hold meanwhile.
        end: Ends the reading; returns whether it was recorded. Never raises.
        then: Called with the result of ``end``, after the lock is released.
    """
    if is_part_of_forward(call) or is_batched(call) or not running.take():
        return None
    reading = None
    try:
        reading = step.begin_pass(call)
    finally:
        if reading is None:
            running.release()
    if reading is None:
        return None

    def ended(well: bool) -> None:
        try:
            found = bool(end(step, reading, well))
        finally:
            running.release()
        then(found)

    return ended
