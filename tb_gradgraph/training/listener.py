"""What a watch puts on a training: hooks that do not keep it alive, and that go when it ends."""

from __future__ import annotations

import atexit
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import torch

from tb_gradgraph.autograd import BackwardCall, listen
from tb_gradgraph.training.optimizers import OptimizerHooks


class WeakListener:
    """Passes on to the events of a watch as long as there is one.

    Attributes:
        is_awake: Whether more is wanted than to hear that its optimizers have stepped.
    """

    def __init__(self, events: weakref.ref[Any]) -> None:
        self._events = events
        self.is_awake = True

    def on_backward(self, call: BackwardCall) -> Callable[[bool], None] | None:
        """Hear that a backward is about to run."""
        events = self._events()
        return None if events is None else events.on_backward(call)

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer is about to step."""
        if (events := self._events()) is not None:
            events.before_step(optimizer)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that it has stepped."""
        if (events := self._events()) is not None:
            events.after_step(optimizer)

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that an optimizer that is not followed has stepped."""
        if (events := self._events()) is not None:
            events.other_stepped(optimizer)

    def scaled_step(self, scaler: Any) -> None:
        """Hear that a scaler is about to step an optimizer."""
        if (events := self._events()) is not None:
            events.scaled_step(scaler)

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Hear that it left the step out."""
        if (events := self._events()) is not None:
            events.skipped_step(optimizer)


class Ending(Protocol):
    """What a watch is, as seen from here."""

    def close(self) -> None:
        """Hand over what is recorded, and warn of what is wrong."""

    def end(self) -> Any:
        """Do the same without a warning."""


class Attachment:
    """Everything that a watch has put anywhere, until ``remove``.

    Attributes:
        is_removed: Whether nothing of it is left.
    """

    def __init__(self) -> None:
        self.is_removed = False

    def attach(
        self,
        watch: Ending,
        events: Any,  # has the methods of ``WeakListener``, and does not raise
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
    ) -> None:
        """Tell ``events`` of the training; end ``watch`` with its model or the interpreter.

        Neither is kept alive.

        Raises:
            CaptureError: An optimizer cannot be followed; then nothing is attached.
        """
        this = weakref.ref(watch)
        self._listener = WeakListener(weakref.ref(events))
        self._hooks = OptimizerHooks(optimizers, self._listener)
        self._stop = or_at_exit(listen(self._listener), this)
        end_with(model, this)
        weakref.finalize(watch, self.remove).atexit = False

    def wake(self, is_awake: bool) -> None:
        """Say whether more is wanted than that the optimizers have stepped."""
        self._listener.is_awake = is_awake

    def remove(self) -> None:
        """Take everything away. Harmless when done twice."""
        self.is_removed = True
        self._stop()
        self._hooks.remove()


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
