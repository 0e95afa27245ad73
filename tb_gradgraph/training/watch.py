"""Records the steps of a training loop, which runs as it would without."""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from tb_gradgraph.autograd import BackwardCall, is_part_of_forward, listen, warn_of_fault
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.training.cadence import Cadence
from tb_gradgraph.training.listener import WeakListener, detach, end_with, or_at_exit
from tb_gradgraph.training.optimizers import OptimizerHooks
from tb_gradgraph.training.reading.backward_pass import PassReading
from tb_gradgraph.training.running import Running, recorded
from tb_gradgraph.training.step.records import StepPlace
from tb_gradgraph.training.step.step import RecordedStep, Setting
from tb_gradgraph.training.turns import Ended, Turns, counted
from tb_gradgraph.training.why_nothing import Seen, find_mistake


class Watch:
    """A training that is recorded, from ``writer.watch`` until ``close``.

    Nothing is put on the model. On steps that are not recorded only a counter runs. Our own
    fault ends the recording with one warning (with ``strict`` the next use of this object
    raises it); the training goes on.
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
        self._last: RecordedStep | None = None  # it has ended, but an optimizer may go on with it
        self._running = Running()
        self._closed = False
        self._pid = os.getpid()
        self._seen = Seen(tuple(type(optimizer).__name__ for optimizer in optimizers))
        self._mistake: str | None = None
        self._turns = Turns(optimizers)
        self._ends_with_backward = False  # because its optimizers have stepped within it
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
        """The name under which the training is recorded."""
        return self._setting.tag

    @property
    def step(self) -> int:
        """The running step: set it when a run is resumed."""
        self._check()
        return self._step

    @step.setter
    def step(self, step: int) -> None:
        self._check()
        if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 2**63:
            raise CaptureError(f"watch.step: expected an integer from 0 to 2**63-1, got {step!r}.")
        if step != self._step and self._turns.has_begun:
            self._guarded(self._end_step)  # an optimizer misses it
        if step == self._step:
            return
        self._step = step
        if self._current is not None and self._cadence.is_due(step):
            self._current.move_to(step)
        else:
            self._guarded(self._begin_step)

    def count_from(self, first: int) -> None:
        """Set the number of the training's first step, which is recorded whatever the cadence."""
        self._cadence.first = first

    @property
    def every_n_steps(self) -> int:
        """The cadence in force: as asked for, or longer to stay within a budget."""
        return self._cadence.every_n_steps

    @property
    def cost(self) -> float:
        """Share of the training's time that recording takes; 0 if not measured yet."""
        return self._cadence.cost

    @property
    def closed(self) -> bool:
        """Return whether nothing is recorded any more."""
        return self._closed

    def close(self) -> None:
        """Remove every trace, and hand over what is recorded. Harmless when done twice.

        Warns if nothing was recorded, and says why.
        """
        self.end()
        mistake, self._mistake = self._mistake, None
        if mistake is not None and sys.exc_info()[1] is None:
            warnings.warn(f"watch() of {self.tag!r}: {mistake}", UserWarning, stacklevel=2)
        self._check()

    def end(self) -> None:
        """Do what ``close`` does, but leave warning and raising to ``close``."""
        if self._closed:
            return
        self._closed = True
        detach(self._stop, self._hooks)
        self._guarded(self._hand_over_last)
        current, self._current = self._current, None
        if current is not None:
            self._seen.recorded += bool(self._guarded(current.finish))
            self._guarded(current.drop)
        if self.failure is None and self._setting.is_open():
            tensors = self._setting.parameters.tensors
            self._seen.shared = self._setting.shared
            self._seen.is_opaque = self._setting.is_opaque
            self._mistake = find_mistake(self._seen, self._step, self.every_n_steps, tensors)
        self._setting.parameters.forget()

    def hand_over(self) -> None:
        """Write what is recorded of the running step, because the process is about to end."""
        self._guarded(self._hand_over_last)
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
        """Hear of every backward before it runs; return what to call after it."""
        if self._closed or self._pid != os.getpid():
            return None
        if self._turns.wants_backwards and not is_part_of_forward(call):
            self._guarded(self._begin_backward)
        current, ended = self._current, None
        if current is not None:
            told = (self._running, self._end_pass, self._pass_ended)
            ended = self._guarded(recorded, call, current, *told)
        elif not self._has_optimizers:
            end = partial(self._guarded, self._end_step)
            ended = self._guarded(counted, call, self._setting.parameters, end)
        return self._seen.counting(self._step, current is not None, ended)

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer is about to step."""
        if self._turns.has_stepped(optimizer) and not self._running.is_held:
            self._turns.close_with_last()
            self._guarded(self._end_step, True)
        if (of := self._step_of(optimizer)) is not None:
            self._guarded(of.before_optimizer, optimizer)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer has stepped."""
        if (self._current or self._last) and (of := self._step_of(optimizer)) is not None:
            self._guarded(of.after_optimizer, optimizer)
        self._has_stepped(optimizer)

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer outside this watch has stepped."""
        if self._current is not None:
            if self._guarded(self._current.other_stepped, optimizer):
                self._seen.others.add(type(optimizer).__name__)

    def scaled_step(self, scaler: Any) -> None:
        """Hear that a scaler is about to step an optimizer."""
        if self._current is not None:
            self._guarded(self._current.follow_scaler, scaler)
        else:
            self._setting.scaler = scaler

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that a scaler left an optimizer's step out."""
        if (of := self._step_of(optimizer)) is not None:
            self._guarded(of.skip_optimizer)
        self._has_stepped(optimizer)

    def _step_of(self, optimizer: torch.optim.Optimizer) -> RecordedStep | None:
        return self._last if self._turns.goes_on(optimizer) else self._current

    def _has_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        self._seen.steps += 1
        if self._turns.wants_backwards and self._turns.goes_on(optimizer):
            self._turns.take_late(optimizer)
            return
        if not self._turns.take(optimizer):
            return
        if self._running.is_held:
            self._ends_with_backward = True
        else:
            self._guarded(self._end_step)

    def _end_pass(self, current: RecordedStep, reading: PassReading, well: bool) -> bool:
        found = self._guarded(current.end_pass, reading, well)
        if self.failure is not None:
            reading.abandon()
        return found

    def _pass_ended(self, found: bool) -> None:
        self._seen.passes += found
        if self._ends_with_backward or (found and not self._has_optimizers):
            self._ends_with_backward = False
            self._guarded(self._end_step)

    def _begin_backward(self) -> None:
        """See whether a backward that begins is the next step's, which some optimizers then missed."""
        self._hand_over_last()
        if self._turns.end_with_backward():
            self._end_step()

    def _hand_over_last(self) -> None:
        last, self._last = self._last, None
        if last is not None:
            last.hand_over()

    def _begin_step(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            current.drop()
        if not self._closed and self._cadence.is_due(self._step):
            self._begin_recorded_step()
        needs_steps = self._has_optimizers and not self._turns.wants_backwards
        self._listener.is_awake = bool(self._current) or not (needs_steps and self._seen.recorded)

    def _begin_recorded_step(self) -> None:
        if not self._setting.is_open():
            self._closed = True  # the log directory is gone, or the writer closed
            detach(self._stop, self._hooks)
            return
        place = StepPlace(self.tag, self._step, self.every_n_steps, self._cadence.cost)
        self._current = RecordedStep(self._setting, place)

    def _end_step(self, has_begun: bool = False) -> None:
        """End a step; ``has_begun`` says that backwards of the next one have already run."""
        current = self._current
        self._turns.begin()
        ahead = current.take_unused() if current is not None and has_begun else []
        if self._last is not None:
            self._hand_over_last()
        recorded = current is not None and current.finish(self._turns.wants_backwards)
        self._last = current if recorded else None
        self._seen.recorded += recorded
        self._cadence.end_step(self._step, recorded)
        self._step += 1
        self._begin_step()
        if self._current is not None:
            self._current.add_passes(ahead)

    def _guarded(self, action: Callable[..., Any], *args: Any) -> Any:
        """Run code of ours; a fault ends the recording, not the training."""
        try:
            return action(*args)
        except Exception as error:
            self.failure = error
            self._closed = True
            detach(self._stop, self._hooks)
            current, self._current, self._last = self._current, None, None
            if current is not None:
                current.drop()
            self._setting.tell_end(self._step, error)
            warn_of_fault("stopped recording this training", error, "The training goes on.")
            return None

    def _check(self) -> None:
        if self._strict and self.failure is not None:
            raise self.failure
