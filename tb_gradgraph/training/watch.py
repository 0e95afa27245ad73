"""Record the steps of a training loop without changing the training."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Sequence
from typing import Any

import torch

from tb_gradgraph.errors import CaptureError
from tb_gradgraph.training.cadence import Cadence
from tb_gradgraph.training.facts.facts_reading import FactsToTell
from tb_gradgraph.training.fault_guard import FaultGuard
from tb_gradgraph.training.guard.kept_batch import BatchKeeper
from tb_gradgraph.training.guard.lookout import Lookout
from tb_gradgraph.training.guard.telling import Telling
from tb_gradgraph.training.listener import Attachment
from tb_gradgraph.training.quantities.notes import check_notes
from tb_gradgraph.training.step.setting import Setting
from tb_gradgraph.training.step_counter import StepCounter
from tb_gradgraph.training.training_events import TrainingEvents
from tb_gradgraph.training.turns import Turns
from tb_gradgraph.training.why_nothing import Seen, find_mistake


class Watch:
    """A training that is recorded, from ``writer.watch`` until ``close``.

    No hooks are put on the model, unless ``keep_batch`` asks for one. On steps that are not recorded
    only a counter runs, and the loss is looked at. An error of our own ends the recording with one
    warning, and the training goes on. With ``strict``, the next use of this object raises the
    error.
    """

    def __init__(
        self,
        setting: Setting,
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        cadence: Cadence,
        strict: bool = False,
        telling: Telling | None = None,
        batches: str = "",
    ) -> None:
        """Attach; the first step is 0 until ``step`` is set."""
        self._setting = setting
        self._strict = strict
        self._mistake: str | None = None
        self._seen = Seen(tuple(type(optimizer).__name__ for optimizer in optimizers))
        self._attachment = attachment = Attachment()
        self._steps = StepCounter(setting, cadence, Turns(optimizers), self._seen, attachment)
        self._guard = FaultGuard(setting, self._steps, attachment)
        self._facts = FactsToTell(model, optimizers, setting)
        self._lookout = None
        if telling is not None:
            keeper = BatchKeeper(model, batches) if batches else None
            if keeper is not None:
                weakref.finalize(self, keeper.remove).atexit = False
            self._lookout = Lookout(setting, telling, self._steps, model, keeper)
        self._events = TrainingEvents(
            setting.parameters,
            self._steps,
            self._guard,
            self._seen,
            attachment,
            self._facts,
            self._lookout,
        )
        attachment.attach(self, self._events, model, optimizers, self._lookout)
        self._guard(self._steps.begin)

    @property
    def tag(self) -> str:
        """The name under which the training is recorded."""
        return self._setting.tag

    @property
    def step(self) -> int:
        """The running step. Set it when you resume a run."""
        self._check()
        return self._steps.step

    @step.setter
    def step(self, step: int) -> None:
        self._check()
        if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 2**63:
            raise CaptureError(f"watch.step: expected an integer from 0 to 2**63-1, got {step!r}.")
        if step != self._steps.step and self._steps.turns.has_begun:
            self._guard(self._steps.end)  # then an optimizer missed it
        if step != self._steps.step:
            self._guard(self._steps.jump_to, step)

    def note(self, /, **values: Any) -> None:
        """Record numbers of your own for the running step, as ``watch.note(tokens=n, reward=r)``.

        They become the quantities ``note/tokens`` and ``note/reward`` of the step, so call it before
        the step's optimizer steps. Of two values under one name the later one counts. If the step
        is not recorded, nothing happens. A tensor is copied without waiting for its device.

        Args:
            values: Real numbers, also NaN and infinity, or tensors of one element.

        Raises:
            CaptureError: A name is not a short name, or a value is not one real number.
        """
        check_notes(values)
        self._check()
        self._guard(self._steps.note, values)

    @property
    def quantities(self) -> dict[str, float]:
        """The quantities of the last recorded step whose numbers have arrived, by name.

        Reading them never waits, so they may be those of an earlier step. After the writer's
        ``flush()`` they are those of the last recorded step. Empty before the first one.
        """
        return dict(self._steps.progress.latest.found)

    def findings(self) -> list[Any]:
        """Return what looks wrong in the training so far, as ``tb_gradgraph.findings`` does.

        Waits until all recorded steps are in the writer's file, and reads that file and the others
        of its directory. So call it now and then, not at every step. It also works after ``close``.
        tensorboardX cannot be waited for: the last steps are missing until it has written them.

        Returns:
            A ``RunFinding`` for each cause, the worst first. Nothing if all is well, or if no step
            was recorded yet.
        """
        return self._setting.find()

    def count_from(self, first: int) -> None:
        """Set the number of the training's first step, which is always recorded."""
        self._steps.cadence.first = first

    @property
    def every_n_steps(self) -> int:
        """The present cadence: the one asked for, or a longer one to stay within a budget."""
        return self._steps.cadence.every_n_steps

    @property
    def cost(self) -> float:
        """Share of the training's time that recording takes; 0 if not measured yet."""
        return self._steps.cadence.cost

    @property
    def closed(self) -> bool:
        """Return whether nothing is recorded any more."""
        return self._attachment.is_removed

    @property
    def failure(self) -> Exception | None:
        """The error of our own that ended the recording, if there was one."""
        return self._guard.failure

    def close(self) -> None:
        """Remove all hooks, and write what is recorded. A second call does nothing.

        Warns if nothing was recorded, and says why.
        """
        self.end()
        mistake, self._mistake = self._mistake, None
        if mistake is not None and sys.exc_info()[1] is None:
            warnings.warn(f"watch() of {self.tag!r}: {mistake}", UserWarning, stacklevel=2)
        self._check()

    def end(self) -> None:
        """Do what ``close`` does, but without warning or raising."""
        if self.closed:
            return
        self._attachment.remove()
        self._guard(self._steps.finish)
        if self._lookout is not None:
            self._lookout.finish()
        if self.failure is None and self._setting.is_open():
            tensors = self._setting.parameters.tensors
            self._seen.shared = self._steps.progress.shared
            self._seen.is_opaque = self._setting.is_opaque
            self._mistake = find_mistake(self._seen, self._steps.step, self.every_n_steps, tensors)
            if self._mistake and not self._facts.is_told:
                self._guard(self._facts.tell, self._steps.step, None, self._mistake)
        self._setting.parameters.forget()

    def hand_over(self) -> None:
        """Write what is recorded of the running step, because the process is about to end."""
        self._guard(self._steps.hand_over)

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"every {self.every_n_steps} steps"
        return f"<Watch {self.tag!r}: step {self._steps.step}, {state}>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("cannot pickle or copy a Watch: it belongs to one training loop.")

    def _check(self) -> None:
        if self._strict and self.failure is not None:
            raise self.failure
