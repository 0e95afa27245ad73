"""Notice the steps of optimizers, and the steps that a GradScaler skips."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from tb_gradgraph.autograd import is_capturing
from tb_gradgraph.training.guard.lookout import Lookout
from tb_gradgraph.training.reading.followed import followed, reference_to, takes_hooks
from tb_gradgraph.training.step.scalers import listen_to_scalers, note_scalings
from tb_gradgraph.training.step_calls import follow_calls


class StepListener(Protocol):
    """Is called for optimizer steps. Must not raise."""

    is_awake: bool  # whether it wants more events than the steps of its only optimizer

    @property
    def lookout(self) -> Callable[[], Lookout | None] | None:
        """Return a reference to who may want to be told of every step; None if nobody does."""

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle an optimizer that is about to step."""

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle an optimizer that has stepped."""

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle a step of an optimizer that is not followed."""

    def scaled_step(self, scaler: Any) -> None:
        """Handle ``scaler``, which is about to step an optimizer or to skip the step."""

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle a step that the scaler skipped because of non-finite gradients."""


class OptimizerHooks:
    """Hooks on optimizers, and on the scalers that step them, until ``remove``."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer], listener: StepListener) -> None:
        self._listener = listener
        self._stepped = False
        self._ours = {id(optimizer): reference_to(optimizer) for optimizer in optimizers}
        self._handles: list[Any] = []
        self._ends: list[Callable[[], None]] = [note_scalings()]
        try:
            for optimizer in optimizers:
                self._follow(optimizer)
        except BaseException:
            self.remove()
            raise
        if optimizers:
            self._handles.append(register_optimizer_step_post_hook(_untraced(self._after_any)))
            self._ends.append(listen_to_scalers(self))

    def _follow(self, optimizer: Any) -> None:
        before, after = _untraced(self._before), _untraced(self._after)
        if takes_hooks(optimizer):
            self._handles.append(optimizer.register_step_pre_hook(before))
            self._handles.append(optimizer.register_step_post_hook(after))
        else:
            self._ends.append(follow_calls(optimizer, before, after))

    def remove(self) -> None:
        """Remove everything. A second call does nothing."""
        while self._ends:
            self._ends.pop()()
        while self._handles:
            self._handles.pop().remove()

    def before_scaled_step(self, scaler: Any, optimizer: Any) -> None:
        """Note that ``scaler.step(optimizer)`` begins."""
        if self._is_ours(optimizer):
            self._stepped = False
            self._listener.scaled_step(scaler)

    def after_scaled_step(self, _scaler: Any, optimizer: Any) -> None:
        """Note that it has ended; find out whether the optimizer stepped in it."""
        if self._is_ours(optimizer) and not self._stepped:
            self._listener.skipped_step(followed(optimizer))

    def before_unscaling(self, scaler: Any, optimizer: Any) -> None:
        """Note which scaler it is, before gradients are clipped."""
        if self._is_ours(optimizer):
            self._listener.scaled_step(scaler)

    def _is_ours(self, optimizer: Any) -> bool:
        inner = followed(optimizer)
        reference = self._ours.get(id(inner))
        return reference is not None and reference() is inner  # an id may be reused

    def _before(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> Any:
        """Return other arguments for the step; None if those given are right."""
        self._stepped, changed = True, None
        if _is_within_its_step(optimizer):
            return None
        lookout = self._listener.lookout and self._listener.lookout()
        if lookout is not None and lookout.wants_steps and not is_capturing():
            changed = lookout.before_step(args, kwargs)  # may raise, if the user wants it
        wants = self._listener.is_awake or len(self._ours) > 1  # then the order of steps matters
        if wants and not is_capturing():  # while capturing, nothing runs yet
            self._listener.before_step(optimizer)
        return changed

    def _after(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if not is_capturing() and not _is_within_its_step(optimizer):
            self._listener.after_step(optimizer)

    def _after_any(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if self._listener.is_awake and not self._is_ours(optimizer):
            self._listener.other_stepped(optimizer)


def _is_within_its_step(optimizer: torch.optim.Optimizer) -> bool:
    """Return whether a step called a step of its base class, for which torch calls the hooks again.

    Torch does so if the base class has objects of its own. The calls are counted on the stack,
    because a step that raised an error has no end.
    """
    hooked = []
    for kind in type(optimizer).__mro__:  # no comprehensions: this runs at every step
        step = vars(kind).get("step")
        if hasattr(step, "hooked"):
            hooked.append(getattr(step, "__code__", None))
    if len(hooked) < 2:
        return False
    count, frame = 0, sys._getframe(1)
    while frame is not None and count < 2:
        count += frame.f_code in hooked and frame.f_locals.get("self") is optimizer
        frame = frame.f_back  # type: ignore[assignment]
    return count > 1


def _untraced(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Exclude a hook from compilation, for example in a step that is itself compiled.

    Doing so loads the compiler, which takes a second. Therefore it is done only if the compiler is
    loaded.
    """
    return torch.compiler.disable(hook) if "torch._dynamo" in sys.modules else hook
