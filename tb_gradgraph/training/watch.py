"""Records the steps of a training loop, which runs as it would without."""

from __future__ import annotations

import gc
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tb_gradgraph.autograd.backward_calls import (
    BackwardCall,
    is_batched,
    is_part_of_forward,
    listen,
)
from tb_gradgraph.autograd.faults import warn_of_fault
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.training.cadence import Cadence
from tb_gradgraph.training.counting import Ended, counted
from tb_gradgraph.training.endings import detach, end_with, or_at_exit
from tb_gradgraph.training.listener import WeakListener
from tb_gradgraph.training.optimizers import OptimizerHooks
from tb_gradgraph.training.records import StepPlace
from tb_gradgraph.training.seen import Seen, find_mistake
from tb_gradgraph.training.step import RecordedStep, Setting
from tb_gradgraph.training.turns import Turns


class Watch:
    """A training that is being recorded, from ``writer.watch`` until ``close``.

    Nothing is put on the model. On steps that are not recorded a counter runs, and
    nothing else. A fault of ours ends the recording with one warning (with
    ``strict`` the next use of this object raises it); the training goes on.
    """

    def __init__(
        self,
        setting: Setting,
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        cadence: Cadence,
        strict: bool = False,
    ) -> None:
        """Attach; the first step is 0 until ``step`` is set."""
        self._setting = setting
        self._cadence = cadence
        self._strict = strict
        self._step = 0
        self._current: RecordedStep | None = None
        self._running = threading.Lock()  # held while a backward is being recorded
        self._closed = False
        self._pid = os.getpid()
        self._seen = Seen(tuple(type(optimizer).__name__ for optimizer in optimizers))
        self._mistake: str | None = None
        self._turns = Turns(len(optimizers))
        self._ends_with_backward = False  # for its optimizers have stepped within it
        self.failure: Exception | None = None
        this = weakref.ref(self)
        self._listener = WeakListener(this)
        self._hooks = OptimizerHooks(optimizers, self._listener)
        self._has_optimizers = bool(optimizers)
        self._stop = or_at_exit(listen(self._listener), this)
        end_with(model, this)
        weakref.finalize(self, detach, self._stop, self._hooks).atexit = False
        self._guarded(self._begin_step)

    @property
    def tag(self) -> str:
        """Name that the training is recorded under."""
        return self._setting.tag

    @property
    def step(self) -> int:
        """The step that is running: set it when a run is resumed."""
        self._check()
        return self._step

    @step.setter
    def step(self, step: int) -> None:
        self._check()
        if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 2**63:
            raise CaptureError(f"watch.step: expected an integer from 0 to 2**63-1, got {step!r}.")
        if step == self._step:
            return
        self._step = step
        if self._current is not None and self._cadence.is_due(step):
            self._current.move_to(step)
        else:
            self._guarded(self._begin_step)

    @property
    def every_n_steps(self) -> int:
        """The cadence in force: as asked for, or longer to stay within a budget."""
        return self._cadence.every_n_steps

    @property
    def cost(self) -> float:
        """Share of the training's time that recording takes; 0 where not measured yet."""
        return self._cadence.cost

    @property
    def closed(self) -> bool:
        """Whether nothing is recorded any more."""
        return self._closed

    def close(self) -> None:
        """Remove every trace, and hand over what is recorded. Harmless when done twice.

        Warns where nothing was recorded, and says why.
        """
        self.end()
        mistake, self._mistake = self._mistake, None
        if mistake is not None and sys.exc_info()[1] is None:
            warnings.warn(f"watch() of {self.tag!r}: {mistake}", UserWarning, stacklevel=2)
        self._check()

    def end(self) -> None:
        """Do what ``close`` does, and leave it to that to warn and to raise."""
        if self._closed:
            return
        self._closed = True
        detach(self._stop, self._hooks)
        current, self._current = self._current, None
        if current is not None:
            self._seen.recorded += bool(self._guarded(current.finish))
            self._guarded(current.drop)
        if self.failure is None and self._setting.is_open():
            tensors = self._setting.parameters.tensors
            self._seen.shared = self._setting.shared
            self._mistake = find_mistake(self._seen, self._step, self.every_n_steps, tensors)
        self._setting.parameters.forget()

    def hand_over(self) -> None:
        """Have what is recorded of the running step written: the process is about to end."""
        if self._current is not None:
            self._guarded(self._current.hand_over)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"every {self.every_n_steps} steps"
        return f"<Watch {self._setting.tag!r}: step {self._step}, {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("cannot pickle or copy a Watch: it belongs to one training loop.")

    def on_backward(self, call: BackwardCall) -> Ended | None:
        """Called before every backward; gives what is to be called after it."""
        if self._closed or self._pid != os.getpid():
            return None
        is_due = self._current is not None
        if is_due:
            ended = self._guarded(self._record, call)
        else:
            ended = None if self._has_optimizers else self._guarded(self._count, call)
        if self._seen.recorded:
            return ended
        return self._seen.counting(self._step, is_due, ended)

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step."""
        if self._turns.has_stepped(optimizer) and not self._running.locked():
            self._turns.close_with_last()
            self._guarded(self._end_step, True)
        if self._current is not None:
            self._guarded(self._current.before_optimizer, optimizer)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer has stepped."""
        if self._current is not None:
            self._guarded(self._current.after_optimizer, optimizer)
        self._has_stepped(optimizer)

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer that is not of this watch has stepped."""
        if self._current is not None:
            if self._guarded(self._current.other_stepped, optimizer):
                self._seen.others.add(type(optimizer).__name__)

    def scaled_step(self, scaler: Any) -> None:
        """A scaler is about to have an optimizer step."""
        if self._current is not None:
            self._guarded(self._current.follow_scaler, scaler)
        else:
            self._setting.scaler = scaler

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """A scaler left an optimizer's step out."""
        if self._current is not None:
            self._guarded(self._current.skip_optimizer)
        self._has_stepped(optimizer)

    def _has_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        self._seen.steps += 1
        if not self._turns.take(optimizer):
            return
        if self._running.locked():
            self._ends_with_backward = True
        else:
            self._guarded(self._end_step)

    def _count(self, call: BackwardCall) -> Ended | None:
        """Count a backward that is not recorded, if it is over the model."""
        return counted(call, self._setting.parameters, lambda: self._guarded(self._end_step))

    def _record(self, call: BackwardCall) -> Ended | None:
        current = self._current
        if current is None or is_part_of_forward(call) or is_batched(call):
            return None
        if not self._running.acquire(blocking=False):
            return None  # another thread's backward is being recorded
        was_collecting = gc.isenabled()
        gc.disable()  # thousands of hooks would be walked again and again
        reading = None
        try:
            reading = current.begin_pass(call)
        finally:
            if reading is None:
                self._release(was_collecting)
        if reading is None:
            return None

        def ended(well: bool) -> None:
            try:
                found = self._guarded(current.end_pass, reading, well)
            finally:
                if self.failure is not None:
                    reading.abandon()
                self._release(was_collecting)
            self._seen.passes += bool(found)
            if self._ends_with_backward or (found and not self._has_optimizers):
                self._ends_with_backward = False
                self._guarded(self._end_step)

        return ended

    def _release(self, was_collecting: bool) -> None:
        if was_collecting:
            gc.enable()
        self._running.release()

    def _begin_step(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            current.drop()
        if not self._closed and self._cadence.is_due(self._step):
            self._begin_recorded_step()
        needs_only_steps = self._has_optimizers and self._seen.recorded
        self._listener.is_awake = self._current is not None or not needs_only_steps

    def _begin_recorded_step(self) -> None:
        if not self._setting.is_open():
            self._closed = True  # the disk is full, or the writer closed
            detach(self._stop, self._hooks)
            return
        cadence = self._cadence
        place = StepPlace(self._setting.tag, self._step, cadence.every_n_steps, cadence.cost)
        self._current = RecordedStep(self._setting, place)

    def _end_step(self, has_begun: bool = False) -> None:
        """End a step; ``has_begun`` if backwards of the next one have run already."""
        current = self._current
        self._turns.begin()
        ahead = current.take_unused() if current is not None and has_begun else []
        recorded = current is not None and current.finish()
        self._seen.recorded += recorded
        self._cadence.end_step(self._step, recorded)
        self._step += 1
        self._begin_step()
        if self._current is not None:
            self._current.add_passes(ahead)

    def _guarded(self, action: Callable[..., Any], *args: Any) -> Any:
        """Do something of ours; a fault ends the recording, not the training."""
        try:
            return action(*args)
        except Exception as error:
            self.failure = error
            self._closed = True
            detach(self._stop, self._hooks)
            current, self._current = self._current, None
            if current is not None:
                current.drop()
            warn_of_fault("stopped recording this training", error, "The training goes on.")
            return None

    def _check(self) -> None:
        if self._strict and self.failure is not None:
            raise self.failure
