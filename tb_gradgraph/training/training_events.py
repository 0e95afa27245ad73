"""Pass the events of a training to the running step."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import torch

from tb_gradgraph.autograd import BackwardCall, is_part_of_forward
from tb_gradgraph.training.facts.facts_reading import FactsToTell
from tb_gradgraph.training.fault_guard import FaultGuard
from tb_gradgraph.training.guard.lookout import Lookout
from tb_gradgraph.training.listener import Attachment
from tb_gradgraph.training.reading.backward_pass import PassReading
from tb_gradgraph.training.reading.parameter_rows import Parameters
from tb_gradgraph.training.running import Running, recorded
from tb_gradgraph.training.step.step import RecordedStep
from tb_gradgraph.training.step_counter import StepCounter
from tb_gradgraph.training.turns import Ended, counted
from tb_gradgraph.training.why_nothing import Seen


class TrainingEvents:
    """Handles backwards and optimizer steps: passes them to the running step, and ends it.

    Nothing here raises.
    """

    def __init__(
        self,
        parameters: Parameters,
        steps: StepCounter,
        guard: FaultGuard,
        seen: Seen,
        attachment: Attachment,
        facts: FactsToTell,
        lookout: Lookout | None,
    ) -> None:
        self._parameters = parameters
        self._steps = steps
        self._turns = steps.turns
        self._guard = guard
        self._seen = seen
        self._attachment = attachment
        self._facts = facts
        self._lookout = lookout
        self._running = Running()
        self._ends_with_backward = False  # because its optimizers have stepped within it
        self._pid = os.getpid()

    def on_backward(self, call: BackwardCall) -> Ended | None:
        """Handle a backward before it runs; return a function to call after it."""
        if self._attachment.is_removed or self._pid != os.getpid():
            return None
        return self._guard(self._begin_backward, call)

    def _begin_backward(self, call: BackwardCall) -> Ended | None:
        steps, ended = self._steps, None
        if self._turns.wants_backwards and not is_part_of_forward(call):
            steps.see_backward()
        current = steps.current
        if current is not None:
            ended = recorded(call, current, self._running, self._end_pass, self._pass_ended)
            if ended is not None:
                current.note(self._facts.now())
                if not self._facts.is_told:
                    self._facts.tell(steps.step, steps.progress.scaler)
        elif not self._turns.has_optimizers:
            ended = counted(
                call, self._parameters, partial(self._guard, self._end_step, steps.step)
            )
        return self._seen.counting(steps.step, current is not None, ended)

    def _end_step(self, step: int) -> None:
        """End a step, unless a backward on another thread has done so."""
        if self._steps.step == step:
            self._steps.end()

    def _end_pass(self, current: RecordedStep, reading: PassReading, well: bool) -> bool:
        found = self._guard(current.end_pass, reading, well)
        if self._guard.failure is not None:
            reading.abandon()
        return found

    def _pass_ended(self, found: bool) -> None:
        self._seen.passes += found
        if self._ends_with_backward or (found and not self._turns.has_optimizers):
            self._ends_with_backward = False
            self._guard(self._steps.end)

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle an optimizer that is about to step."""
        if self._turns.has_stepped(optimizer) and not self._running.is_held():
            self._turns.close_with_last()
            self._guard(self._steps.end, True)
        if (of := self._steps.of(optimizer)) is not None:
            self._guard(of.before_optimizer, optimizer)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle an optimizer that has stepped."""
        steps = self._steps
        if steps.current is not None or steps.last is not None:  # saves a call on all other steps
            if (of := steps.of(optimizer)) is not None:
                self._guard(of.after_optimizer, optimizer)
        if self._lookout is not None:
            self._lookout.skips = 0
        self._has_stepped(optimizer)

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle a step of an optimizer outside this watch."""
        current = self._steps.current
        if current is not None and self._guard(current.other_stepped, optimizer):
            self._seen.others.add(type(optimizer).__name__)

    def scaled_step(self, scaler: Any) -> None:
        """Handle a scaler that is about to step an optimizer."""
        self._guard(self._steps.follow_scaler, scaler)

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle an optimizer's step that a scaler skipped."""
        if (of := self._steps.of(optimizer)) is not None:
            self._guard(of.skip_optimizer)
        if self._lookout is not None:
            self._guard(self._lookout.skipped)
        self._has_stepped(optimizer)

    def _has_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        self._seen.steps += 1
        if self._turns.wants_backwards and self._turns.goes_on(optimizer):
            self._turns.take_late(optimizer)
            return
        if not self._turns.take(optimizer):
            return
        if self._running.is_held():
            self._ends_with_backward = True
        else:
            self._guard(self._steps.end)
