"""What hooks hold instead of a watch, so as not to keep it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from tb_gradgraph.autograd.backward_calls import BackwardCall


class WeakListener:
    """Hands on to a watch for as long as there is one.

    Attributes:
        is_awake: Whether more is wanted than that its optimizers have stepped.
    """

    def __init__(self, watch: weakref.ref[Any]) -> None:
        self._watch = watch
        self.is_awake = True

    def on_backward(self, call: BackwardCall) -> Callable[[bool], None] | None:
        """A backward is about to run."""
        watch = self._watch()
        return None if watch is None else watch.on_backward(call)

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer is about to step."""
        if (watch := self._watch()) is not None:
            watch.before_step(optimizer)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """It has stepped."""
        if (watch := self._watch()) is not None:
            watch.after_step(optimizer)

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """An optimizer that is not followed has stepped."""
        if (watch := self._watch()) is not None:
            watch.other_stepped(optimizer)

    def scaled_step(self, scaler: Any) -> None:
        """A scaler is about to have an optimizer step."""
        if (watch := self._watch()) is not None:
            watch.scaled_step(scaler)

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """It left the step out."""
        if (watch := self._watch()) is not None:
            watch.skipped_step(optimizer)
