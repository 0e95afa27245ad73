"""What hooks hold instead of a watch, so that they do not keep it alive."""

from __future__ import annotations

import atexit
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import torch

from tb_gradgraph.autograd import BackwardCall


class WeakListener:
    """Passes events on to a watch as long as there is one.

    Attributes:
        is_awake: Whether more is wanted than to hear that its optimizers have stepped.
    """

    def __init__(self, watch: weakref.ref[Any]) -> None:
        self._watch = watch
        self.is_awake = True

    def on_backward(self, call: BackwardCall) -> Callable[[bool], None] | None:
        """Hear that a backward is about to run."""
        watch = self._watch()
        return None if watch is None else watch.on_backward(call)

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer is about to step."""
        if (watch := self._watch()) is not None:
            watch.before_step(optimizer)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that it has stepped."""
        if (watch := self._watch()) is not None:
            watch.after_step(optimizer)

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer that is not followed has stepped."""
        if (watch := self._watch()) is not None:
            watch.other_stepped(optimizer)

    def scaled_step(self, scaler: Any) -> None:
        """Hear that a scaler is about to step an optimizer."""
        if (watch := self._watch()) is not None:
            watch.scaled_step(scaler)

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that it left the step out."""
        if (watch := self._watch()) is not None:
            watch.skipped_step(optimizer)


class Ending(Protocol):
    """What a watch is, as seen from here."""

    def close(self) -> None:
        """Hand over what is recorded, and warn of what is wrong."""

    def end(self) -> Any:
        """Do the same without a warning."""


class Removable(Protocol):
    """Hooks."""

    def remove(self) -> None:
        """Take everything away."""


def or_at_exit(stop: Callable[[], None], watch: weakref.ref[Any]) -> Callable[[], None]:
    """Close a watch if the interpreter ends before the watch does, because its step may be waiting.

    Returns what stops both that and what ``stop`` does.
    """
    at_exit = partial(_close_at_exit, watch)
    atexit.register(at_exit)

    def stop_both() -> None:
        stop()
        atexit.unregister(at_exit)

    return stop_both


def end_with(model: torch.nn.Module, watch: weakref.ref[Any]) -> None:
    """End a watch when its model is gone."""
    weakref.finalize(model, _end, watch).atexit = False


def detach(stop: Callable[[], None], hooks: Removable) -> None:
    """Take away everything that a watch has put anywhere."""
    stop()
    hooks.remove()


def _close_at_exit(reference: weakref.ref[Ending]) -> None:
    watch = reference()
    if watch is not None and getattr(sys, "last_value", None) is not None:
        watch.end()  # an exception ends the program, and says enough
    elif watch is not None:
        watch.close()


def _end(reference: weakref.ref[Ending]) -> None:
    watch = reference()
    if watch is not None:
        watch.end()
