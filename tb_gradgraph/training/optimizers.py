"""Follow the steps of optimizers, and those that a GradScaler skips."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from tb_gradgraph.autograd.frames import local_variables


class StepListener(Protocol):
    """What is told of optimizer steps."""

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """``optimizer`` is about to step."""

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """It has stepped."""

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """The scaler found gradients that are not finite, and left the step out."""


class OptimizerHooks:
    """Hooks on optimizers, and on a scaler's ``step``, until ``remove``."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer], listener: StepListener) -> None:
        self._listener = listener
        self._stepped = False
        self._handles: list[Any] = []
        self._scaler: Any = None
        for optimizer in optimizers:
            self._handles.append(optimizer.register_step_pre_hook(self._before))
            self._handles.append(optimizer.register_step_post_hook(self._after))

    def follow(self, scaler: Any, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        """Learn of the steps that ``scaler`` skips."""
        if self._scaler is None:
            self._scaler = scaler
            scaler.step = _ScalerStep(scaler, self, frozenset(map(id, optimizers)))

    def remove(self) -> None:
        """Take everything away."""
        while self._handles:
            self._handles.pop().remove()
        scaler, self._scaler = self._scaler, None
        if scaler is not None and isinstance(vars(scaler).get("step"), _ScalerStep):
            del scaler.step

    def scaled_step(
        self, step: Callable[..., Any], optimizer: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Run a scaler's step and see whether the optimizer's ran in it."""
        self._stepped = False
        result = step(optimizer, *args, **kwargs)
        if not self._stepped:
            self._listener.skipped_step(optimizer)
        return result

    def _before(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        self._stepped = True
        self._listener.before_step(optimizer)

    def _after(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        self._listener.after_step(optimizer)


class _ScalerStep:
    """Stands for ``scaler.step``; copied or pickled it is the scaler's own again."""

    def __init__(self, scaler: Any, hooks: OptimizerHooks, optimizers: frozenset[int]) -> None:
        self._scaler = scaler
        self._hooks = hooks
        self._optimizers = optimizers

    def __call__(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """As ``GradScaler.step``."""
        step = type(self._scaler).step.__get__(self._scaler)
        inner = getattr(optimizer, "optimizer", optimizer)  # a wrapper's, as Accelerate's
        if id(optimizer) not in self._optimizers and id(inner) not in self._optimizers:
            return step(optimizer, *args, **kwargs)
        return self._hooks.scaled_step(step, optimizer, *args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (self._scaler, "step")


def running_scaler() -> Any:
    """Give the GradScaler whose ``step`` is running now, if one is."""
    code = torch.amp.GradScaler.step.__code__
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is code:
            return local_variables(frame).get("self")
        frame = frame.f_back
    return None


def loss_scale(scaler: Any) -> torch.Tensor | None:
    """Give a copy of what ``scaler`` multiplies losses with now; None where it does not."""
    if scaler is None or not scaler.is_enabled():
        return None
    scale = getattr(scaler, "_scale", None)  # get_scale() would wait for the device
    return scale.detach().clone() if isinstance(scale, torch.Tensor) else None
