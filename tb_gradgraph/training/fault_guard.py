"""An error of our own ends the recording, and nothing else."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from tb_gradgraph.autograd import warn_of_fault
from tb_gradgraph.training.listener import Attachment
from tb_gradgraph.training.step.setting import Setting
from tb_gradgraph.training.step_counter import StepCounter


class FaultGuard:
    """Runs our own code, on one thread at a time. An error ends the recording, not the training.

    A watch hears of backwards on all threads, so one may begin while another ends a step.

    Attributes:
        failure: The error that ended the recording.
    """

    def __init__(self, setting: Setting, steps: StepCounter, attachment: Attachment) -> None:
        self.failure: Exception | None = None
        self._setting = setting
        self._steps = steps
        self._attachment = attachment
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def __call__(self, action: Callable[..., Any], *args: Any) -> Any:
        """Return the result of ``action``; if it raises, warn and return ``None``."""
        if os.getpid() != self._pid:  # the parent may have held the lock when this process began
            self._lock, self._pid = threading.RLock(), os.getpid()
        with self._lock:
            try:
                return action(*args)
            except Exception as error:
                self.failure = error
                self._attachment.remove()
                self._steps.give_up()
                self._setting.tell_end(self._steps.step, error)
                warn_of_fault("stopped recording this training", error, "The training goes on.")
                return None
