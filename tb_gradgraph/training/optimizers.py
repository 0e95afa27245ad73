"""Follow the steps of optimizers, and those that a GradScaler skips."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from tb_gradgraph.autograd import is_capturing
from tb_gradgraph.training.reading.followed import followed, reference_to, takes_hooks
from tb_gradgraph.training.step.scalers import listen_to_scalers, note_scalings
from tb_gradgraph.training.step_calls import follow_calls


class StepListener(Protocol):
    """Hears of optimizer steps. Must not raise."""

    is_awake: bool  # whether it wants to hear more than that its only optimizer has stepped

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that ``optimizer`` is about to step."""

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that it has stepped."""

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer that is not followed has stepped."""

    def scaled_step(self, scaler: Any) -> None:
        """Hear that ``scaler`` is about to step an optimizer, or not."""

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that the scaler found non-finite gradients, and left the step out."""


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
        """Take everything away. Harmless when done twice."""
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
        """Note that it has ended; see whether the optimizer's step ran in it."""
        if self._is_ours(optimizer) and not self._stepped:
            self._listener.skipped_step(followed(optimizer))

    def _is_ours(self, optimizer: Any) -> bool:
        inner = followed(optimizer)
        reference = self._ours.get(id(inner))
        return reference is not None and reference() is inner  # ids are reused

    def _before(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        self._stepped = True
        wants = self._listener.is_awake or len(self._ours) > 1  # then whose turn it is matters
        if wants and not is_capturing():  # otherwise nothing runs yet
            self._listener.before_step(optimizer)

    def _after(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if not is_capturing():
            self._listener.after_step(optimizer)

    def _after_any(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if self._listener.is_awake and not self._is_ours(optimizer):
            self._listener.other_stepped(optimizer)


def _untraced(hook: Callable[..., None]) -> Callable[..., None]:
    """Keep the compiler out of a hook, for example of a step that is itself compiled.

    Asking for that loads the compiler, which takes a second, so only if it is already loaded.
    """
    return torch.compiler.disable(hook) if "torch._dynamo" in sys.modules else hook
