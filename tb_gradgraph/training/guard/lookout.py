"""Notice at every step whether a training breaks, also between recorded steps."""

from __future__ import annotations

import contextlib
import math
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import torch

from tb_gradgraph.autograd import (
    BackwardCall,
    elements_of,
    left_out_of_compiled,
    reach,
    source_line,
    user_frame,
    variables_of,
    warn_of_fault,
)
from tb_gradgraph.training.guard.broken import (
    bad_gradients,
    bad_weights,
    describe_loss,
    describe_norm,
    is_finite,
)
from tb_gradgraph.training.guard.closures import Arguments, has_closure, with_look
from tb_gradgraph.training.guard.dense_steps import DenseSteps
from tb_gradgraph.training.guard.kept_batch import BatchKeeper
from tb_gradgraph.training.guard.missing_gradients import MissingGradients
from tb_gradgraph.training.guard.scalars import NotFinite, Scalars
from tb_gradgraph.training.guard.telling import Telling
from tb_gradgraph.training.step.scalers import enabled_scaler_in, scaler_of
from tb_gradgraph.training.step.setting import Progress, Setting

#: How many steps are recorded in detail after the first sign; the weights may still be good.
DENSE_STEPS = 3
#: So many steps skipped in a row are a sign. A scaler that lowers its factor skips one or two.
MOST_SKIPS = 3
#: So many are an error: a factor of 2**16, which is the usual one, is below 1 by then.
COLLAPSED = 20
#: After so many losses and norms that are not finite, no more are looked at.
_MOST_SEEN = 20
_PATIENCE = 5.0  # seconds to wait for the log


class Steps(Protocol):
    """The steps of a training."""

    step: int
    current: Any  # the recorder of the running step; None if it is not recorded
    progress: Progress
    dense: DenseSteps

    def hand_over(self) -> None:
        """Write what is recorded so far."""


class Lookout:
    """Looks at the loss of every backward, at norms of gradients, and at steps that a scaler skips.

    Attributes:
        wants_steps: Whether ``before_step`` is to be called.
        skips: How many steps a scaler has skipped since the last step that it did not.
    """

    def __init__(
        self,
        setting: Setting,
        telling: Telling,
        steps: Steps,
        model: torch.nn.Module,
        keeper: BatchKeeper | None,
    ) -> None:
        self.skips = 0
        self.wants_steps = telling.wants_steps
        self._setting = setting
        self._telling = telling
        self._steps = weakref.ref(steps)
        self._model = weakref.ref(model)
        self._keeper = keeper
        self._losses, self._norms = Scalars(), Scalars()
        self._seen = 0
        self._fired = -1  # the last step that was told of
        self._is_off = False
        self._expected = -1  # step of which something is expected; -1: of none
        self._finite = -1  # the last step with a finite loss
        self._hook: Any = None  # on the next forward of the model
        self._missing = MissingGradients(setting, telling)

    def see(self, call: BackwardCall) -> None:
        """Look at the loss of a backward that is about to run. Does not raise."""
        if self._is_off or not call.accumulates:
            return
        steps = self._steps()
        if steps is None:
            return
        try:
            if self._expected >= 0 or self._telling.is_waiting:
                self._go_on(steps)
            found = self._losses.see(call.roots, steps.step)
            if found is not None:
                self._fire(found, call, steps)
            else:
                self._finite = steps.step
        except Exception as error:
            self._is_off = True
            warn_of_fault("stopped looking at the losses", error, "All else goes on.")

    def _go_on(self, steps: Steps) -> None:
        """Tell what was found before this step, if no optimizer's step did."""
        if self._expected != steps.step:
            self._settle()
        if self._telling.is_waiting and self._hook is None:
            self._deliver_with_forward()

    def _fire(self, found: NotFinite, call: BackwardCall, steps: Steps) -> None:
        """Say that a loss is not finite, if that is about this training."""
        scaler = steps.progress.scaler
        if scaler is None and math.isinf(found.value):  # before a scaler's first step it is unknown
            scaler = scaler_of(call.roots, variables_of(user_frame()))
        is_scaled = scaler is not None and bool(scaler.is_enabled())
        if (is_scaled and math.isinf(found.value)) or not self._is_ours(call):
            return  # the factor alone may have made it infinite
        bad = bad_weights(self._setting)
        self._say(found, *describe_loss(found, bad, is_scaled, self._finite), bool(bad), steps)

    def see_norm(self, gradients: Sequence[torch.Tensor], norm: torch.Tensor | None) -> None:
        """Look at the norm of gradients that are not clipped yet. Does not raise."""
        steps = self._steps()
        if self._is_off or steps is None:
            return
        try:
            found = self._norm_found(gradients, norm, steps.step)
            if found is not None and found.step != self._fired:
                self._fire_norm(found, gradients, steps)
        except Exception as error:
            self._is_off = True
            warn_of_fault("stopped looking at the losses", error, "All else goes on.")

    def _norm_found(
        self, gradients: Sequence[torch.Tensor], norm: torch.Tensor | None, step: int
    ) -> NotFinite | None:
        if norm is not None:
            return self._norms.see((elements_of(norm),), step)
        if all(map(is_finite, gradients)):
            return None  # torch refused them for another reason
        return NotFinite(step, math.nan, False)

    def _fire_norm(self, found: NotFinite, gradients: Sequence[torch.Tensor], steps: Steps) -> None:
        """Say that a norm is not finite, if it is of this training and no scaler skips the step."""
        own = {id(tensor.grad) for tensor in self._setting.parameters.tensors} - {id(None)}
        if not any(id(gradient) in own for gradient in gradients):
            return
        scaler = steps.progress.scaler or enabled_scaler_in(variables_of(user_frame()))
        if scaler is not None and scaler.is_enabled():
            return
        bad = bad_weights(self._setting)
        at_fault = [] if found.is_late else bad_gradients(self._setting, gradients)
        self._say(found, *describe_norm(found, bad, at_fault, self._finite), bool(bad), steps)

    def _say(self, found: NotFinite, kind: str, text: str, is_lost: bool, steps: Steps) -> None:
        """Tell of what was found, and record the next steps in detail."""
        self._fired = found.step
        self._seen += 1
        self._is_off = is_lost or self._seen >= _MOST_SEEN
        steps.dense.ask(steps.step + 1, 1 if is_lost else DENSE_STEPS)
        text += self._keep(found, not is_lost)
        source = "" if found.is_late else source_line(user_frame())
        if steps.current is not None and not found.is_late:
            self._telling.expect(kind, found.step, text, source)
            self._expected = found.step
        else:
            self._telling.tell(kind, found.step, text, source)
        if self._telling.is_waiting and self._hook is None:
            self._deliver_with_forward()

    def _is_ours(self, call: BackwardCall) -> bool:
        """Return whether a backward reaches a parameter of ours."""
        parameters = self._setting.parameters
        ours = set(map(id, parameters.tensors))
        return any(id(parameters.own(leaf)) in ours for leaf in reach(call.roots)[1])

    def _keep(self, found: NotFinite, weights_finite: bool) -> str:
        if self._keeper is None:
            return ""
        try:
            path = self._keeper.save(self._setting.tag, found.step, found.is_late, weights_finite)
        except Exception as error:
            warn_of_fault("did not keep the batch", error, "All else goes on.")
            return ""
        if not path:
            return " What the model was given is not kept: no call of it was seen, as in compiled code."
        return f" What the model was given is in {path}."

    def skipped(self) -> None:
        """Note that a scaler skipped a step."""
        self.skips += 1
        steps = self._steps()
        if self.skips == MOST_SKIPS and steps is not None:
            steps.dense.ask(steps.step + 1, DENSE_STEPS)
        elif self.skips == COLLAPSED and steps is not None:
            text = f"The scaler has skipped {COLLAPSED} steps in a row."
            self._telling.tell("scale_collapse", steps.step, text)

    def before_step(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments | None:
        """Do what the user wants at a finding, before an optimizer steps. Raises what that raises.

        If the step has a closure, which computes the gradients within it, return arguments with
        which the same is done at the end of the closure.
        """
        has_one = has_closure(args, kwargs)
        self._before_update(is_over=not has_one)
        return with_look(args, kwargs, self._before_update) if has_one else None

    def _before_update(self, is_over: bool = True) -> None:
        """Do what the user wants; ``is_over`` says whether the gradients are those of the step."""
        steps = self._steps()
        if steps is None or not self.wants_steps:
            return
        try:
            if steps.current is not None and is_over:
                self._look_at_gradients(steps)
            if self._expected >= 0:
                steps.hand_over()
                self._settle()
        except Exception as error:
            warn_of_fault("stopped looking at the gradients", error, "All else goes on.")
            self.wants_steps = False
        if self._telling.is_waiting:
            self._deliver()

    def _look_at_gradients(self, steps: Steps) -> None:
        """Look at gradients of a recorded step, where a finding ends the training or is awaited."""
        if self._telling.wants_warnings:
            self._missing.look(steps.step)
        if self._telling.raises and self._expected < 0 and steps.progress.scaler is None:
            if not all(
                p.grad is None or is_finite(p.grad) for p in self._setting.parameters.tensors
            ):
                text = f"At step {steps.step} a gradient is not finite; its loss was."
                self._telling.expect("nonfinite", steps.step, text)
                self._expected = steps.step

    def _settle(self) -> None:
        """Tell what was expected of a record that is written by now."""
        if self._expected >= 0:
            self._expected = -1
            self._setting.flush(_PATIENCE)
            self._telling.settle()

    def _deliver_with_forward(self) -> None:
        """Deliver at the model's next forward, if no optimizer steps before. One hook, once."""
        model = self._model()
        if model is not None:
            this = weakref.ref(self)
            deliver = left_out_of_compiled(lambda *_: _deliver_once(this))
            self._hook = model.register_forward_pre_hook(deliver)
            weakref.finalize(self, self._hook.remove).atexit = False

    def _deliver(self) -> None:
        self._remove_hook()
        steps = self._steps()
        with contextlib.suppress(Exception):
            if steps is not None:
                steps.hand_over()
            self._setting.flush(_PATIENCE)
        self._telling.deliver()

    def finish(self) -> None:
        """Tell what is left, after the recorded steps were handed over. Does not raise."""
        with contextlib.suppress(Exception):
            if self._telling.wants_steps:
                self._setting.flush(_PATIENCE)
            self._settle()
            self._telling.close()

    def let_go(self) -> None:
        """Remove what is on the model, and keep no batch any more. A second call does nothing."""
        self._is_off = True
        self._remove_hook()
        if self._keeper is not None:
            self._keeper.remove()

    def _remove_hook(self) -> None:
        hook, self._hook = self._hook, None
        if hook is not None:
            hook.remove()


def _deliver_once(lookout: weakref.ref[Lookout]) -> None:
    this = lookout()
    if this is not None and this._hook is not None:
        this._deliver()
