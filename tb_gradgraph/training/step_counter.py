"""Count the steps of a training, and record those that are due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tb_gradgraph.autograd import is_capturing
from tb_gradgraph.quantities import NOTE
from tb_gradgraph.training.cadence import Cadence
from tb_gradgraph.training.guard.dense_steps import DenseSteps
from tb_gradgraph.training.listener import Attachment
from tb_gradgraph.training.step.passes import StepPlace
from tb_gradgraph.training.step.setting import Progress, Setting
from tb_gradgraph.training.step.step import RecordedStep
from tb_gradgraph.training.turns import Turns
from tb_gradgraph.training.why_nothing import Seen


class StepCounter:
    """Begins and ends the steps of a training, and records those that are due.

    Attributes:
        step: Number of the running step.
        current: The recorder of that step; ``None`` if it is not recorded.
        last: The recorder of the step before, while an optimizer may still step for it.
        turns: Decides which optimizer's step ends it.
        cadence: Which steps are due.
        progress: What the recorded steps have found.
        dense: Steps that are recorded in detail besides.
    """

    def __init__(
        self,
        setting: Setting,
        cadence: Cadence,
        turns: Turns,
        seen: Seen,
        attachment: Attachment,
    ) -> None:
        """Prepare for step 0, which ``begin`` begins."""
        self.step = 0
        self.current: RecordedStep | None = None
        self.turns = turns
        self.cadence = cadence
        self.progress = Progress(setting.scaler)
        self.last: RecordedStep | None = None
        self.dense = DenseSteps(setting)
        self._setting = setting
        self._seen = seen
        self._attachment = attachment

    def begin(self) -> None:
        """Begin the step whose number is ``step``."""
        if self.current is not None:
            self.drop_current()
        is_due = self.dense.first <= self.step <= self.dense.last or self.cadence.is_due(self.step)
        if is_due and not self._attachment.is_removed:
            self._begin_recorded()
        only_counts = self.turns.has_optimizers and not self.turns.wants_backwards
        is_bare = self.current is None and only_counts and bool(self._seen.recorded)
        self._attachment.wake(not is_bare)

    def _begin_recorded(self) -> None:
        if not self._setting.is_open():  # the log directory is gone, or the writer was closed
            self._attachment.remove()
            return
        place = StepPlace(
            self._setting.tag, self.step, self.cadence.every_n_steps, self.cadence.cost
        )
        setting, progress = self._setting, self.progress
        if self.dense.covers(self.step):
            setting, progress = self.dense.of(progress)
        self.current = RecordedStep(setting, progress, place)

    def jump_to(self, step: int) -> None:
        """Change the number of the running step."""
        self.step = step
        if self.current is not None and (self.dense.covers(step) or self.cadence.is_due(step)):
            self.current.move_to(step)
        else:
            self.begin()

    def see_backward(self) -> None:
        """Check whether a backward that begins belongs to the next step. Some optimizers then missed this."""
        self._hand_over_last()
        if self.turns.end_with_backward():
            self.end()

    def end(self, has_begun: bool = False) -> None:
        """End the step and begin the next one; ``has_begun`` says that backwards of it have already run."""
        current = self.current
        self.turns.begin()
        ahead = current.take_unused() if current is not None and has_begun else []
        if self.last is not None:
            self._hand_over_last()
        recorded = current is not None and current.finish(self.turns.wants_backwards)
        self.last = current if recorded else None
        self._seen.recorded += recorded
        is_dense = recorded and self.dense.covers(self.step)
        self.cadence.end_step(self.step, recorded, is_dense)
        self.step += 1
        self.begin()
        if self.current is not None:
            self.current.add_passes(ahead)

    def of(self, optimizer: torch.optim.Optimizer) -> RecordedStep | None:
        """Return the recorder of the step to which a step of ``optimizer`` belongs now."""
        if self.current is None and self.last is None:
            return None
        return self.last if self.turns.goes_on(optimizer) else self.current

    def follow_scaler(self, scaler: Any) -> None:
        """Note which scaler steps an optimizer."""
        if self.current is not None:
            self.current.follow_scaler(scaler)
        else:
            self.progress.scaler = scaler

    def note(self, notes: Mapping[str, Any]) -> None:
        """Add numbers of the user's to the running step, if it is recorded."""
        if self.current is not None and not is_capturing():
            self.current.note({f"{NOTE}{name}": value for name, value in notes.items()})

    def hand_over(self) -> None:
        """Write what is recorded so far."""
        self._hand_over_last()
        if self.current is not None:
            self.current.hand_over()

    def finish(self) -> None:
        """End the running step without beginning another."""
        self._hand_over_last()
        self.progress.copies.free()
        current, self.current = self.current, None
        if current is not None:
            try:
                self._seen.recorded += current.finish()
            finally:
                current.drop()

    def give_up(self) -> None:
        """Drop everything that is still being recorded."""
        self.last = None
        self.progress.copies.free()
        self.drop_current()

    def drop_current(self) -> None:
        """Stop following the running step."""
        current, self.current = self.current, None
        if current is not None:
            current.drop()

    def _hand_over_last(self) -> None:
        last, self.last = self.last, None
        if last is not None:
            last.hand_over()
