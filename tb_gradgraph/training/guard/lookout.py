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
    functions_not_overridden,
    modes_paused,
    reach,
    source_line,
    user_frame,
    variables_of,
    warn_of_fault,
)
from tb_gradgraph.training.guard.dense_steps import DenseSteps
from tb_gradgraph.training.guard.kept_batch import BatchKeeper
from tb_gradgraph.training.guard.losses import Losses, SeenLoss
from tb_gradgraph.training.guard.telling import Telling
from tb_gradgraph.training.step.scalers import scaler_of
from tb_gradgraph.training.step.setting import Progress, Setting

#: How many steps are recorded in detail after the first sign; the weights may still be good.
DENSE_STEPS = 3
#: So many steps skipped in a row are a sign. A scaler that lowers its factor skips one or two.
MOST_SKIPS = 3
#: So many are an error: a factor of 2**16, which is the usual one, is below 1 by then.
COLLAPSED = 20
#: After so many losses that are not finite, no more are looked at.
_MOST_SEEN = 20
#: A parameter without a gradient in so many recorded steps never gets one.
_STEPS_WITHOUT = 3
_NAMED = 5
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
    """Looks at the loss of every backward, and at the steps that a scaler skips.

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
        self._losses = Losses()
        self._seen = 0
        self._is_off = False
        self._expected = -1  # step of which something is expected; -1: of none
        self._finite = -1  # the last step with a finite loss
        self._hook: Any = None  # on the next forward of the model
        self._without: dict[int, int] = {}  # recorded steps without a gradient, by ``id``

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

    def _fire(self, found: SeenLoss, call: BackwardCall, steps: Steps) -> None:
        """Say that a loss is not finite, if that is about this training."""
        scaler = steps.progress.scaler
        if scaler is None and math.isinf(found.value):  # before a scaler's first step it is unknown
            scaler = scaler_of(call.roots, variables_of(user_frame()))
        is_scaled = scaler is not None and bool(scaler.is_enabled())
        if (is_scaled and math.isinf(found.value)) or not self._is_ours(call):
            return  # the factor alone may have made it infinite
        self._seen += 1
        bad = self._bad_weights()
        self._is_off = bool(bad) or self._seen >= _MOST_SEEN
        steps.dense.ask(steps.step + 1, 1 if bad else DENSE_STEPS)
        kind, text = _describe(found, bad, is_scaled, self._finite)
        text += self._keep(found, not bad)
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

    def _bad_weights(self) -> list[str]:
        """Return the names of the model's parameters that hold NaN or infinity. Waits for the device."""
        parameters = self._setting.parameters
        return [
            parameters.known[id(tensor)].names[0]
            for tensor in parameters.tensors
            if id(tensor) in parameters.known and not _is_finite(tensor)
        ]

    def _keep(self, found: SeenLoss, weights_finite: bool) -> str:
        if self._keeper is None:
            return ""
        try:
            path = self._keeper.save(self._setting.tag, found.step, found.is_late, weights_finite)
        except Exception as error:
            warn_of_fault("did not keep the batch", error, "All else goes on.")
            return ""
        return f" What the model was given is in {path}." if path else ""

    def skipped(self) -> None:
        """Note that a scaler skipped a step."""
        self.skips += 1
        steps = self._steps()
        if self.skips == MOST_SKIPS and steps is not None:
            steps.dense.ask(steps.step + 1, DENSE_STEPS)
        elif self.skips == COLLAPSED and steps is not None:
            text = f"The scaler has skipped {COLLAPSED} steps in a row."
            self._telling.tell("scale_collapse", steps.step, text)

    def before_step(self) -> None:
        """Do what the user wants at a finding, before an optimizer steps. Raises what that raises."""
        steps = self._steps()
        if steps is None:
            return
        try:
            if steps.current is not None:
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
        parameters = self._setting.parameters.tensors
        if self._telling.wants_warnings:
            self._look_for_missing(parameters, steps.step)
        if self._telling.raises and self._expected < 0 and steps.progress.scaler is None:
            if not all(p.grad is None or _is_finite(p.grad) for p in parameters):
                text = f"At step {steps.step} a gradient is not finite; its loss was."
                self._telling.expect("nonfinite", steps.step, text)
                self._expected = steps.step

    def _look_for_missing(self, parameters: Sequence[torch.Tensor], step: int) -> None:
        known, missing = self._setting.parameters.known, []
        for parameter in parameters:
            if parameter.requires_grad and parameter.grad is None:
                count = self._without[id(parameter)] = self._without.get(id(parameter), 0) + 1
                if count == _STEPS_WITHOUT and id(parameter) in known:
                    missing.append(known[id(parameter)].names[0])
            else:
                self._without[id(parameter)] = _STEPS_WITHOUT  # it had one
        if missing:
            text = f"In {_STEPS_WITHOUT} recorded steps no gradient arrived at {_listed(missing)}."
            self._telling.tell("no_gradient", step, text, nodes=len(missing))

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
            self._hook = model.register_forward_pre_hook(lambda *_: _deliver_once(this))
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


def _describe(found: SeenLoss, bad: Sequence[str], is_scaled: bool, last: int) -> tuple[str, str]:
    """Return the kind of a finding, and say what was found; ``last`` is the step before of a finite loss."""
    loss = f"The loss of step {found.step} is {found.value}"
    if bad:
        hold = "a weight holds" if len(bad) == 1 else f"{len(bad)} weights hold"
        already = "now" if found.is_late else "already"
        text = f"{loss}, and {hold} NaN or infinity {already}: {_listed(bad)}."
        before = f" The loss of step {last} was finite, so its update did it." if last >= 0 else ""
        return "nonfinite_weight", text + ("" if found.is_late else before)
    next_one = "the scaler skips this step" if is_scaled else "the update may destroy them"
    return "nonfinite_value", f"{loss}. All weights are finite so far; {next_one}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _is_finite(tensor: torch.Tensor) -> bool:
    with torch.no_grad(), functions_not_overridden(), modes_paused():
        elements = elements_of(tensor)
        if elements is None or not (elements.is_floating_point() or elements.is_complex()):
            return True
        if elements.layout != torch.strided:
            elements = elements.coalesce().values() if elements.is_sparse else elements.values()
        return bool(torch.isfinite(elements).all())
