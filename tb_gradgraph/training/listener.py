"""The hooks of a watch. They do not keep it alive, and are removed when it ends."""

from __future__ import annotations

import atexit
import sys
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import torch

from tb_gradgraph.autograd import BackwardCall, listen
from tb_gradgraph.training.guard.clipping import listen_to_norms
from tb_gradgraph.training.guard.lookout import Lookout
from tb_gradgraph.training.optimizers import OptimizerHooks


class WeakListener:
    """Forwards events to a watch as long as the watch exists.

    Attributes:
        is_awake: Whether the watch wants more events than the steps of its optimizers.
        lookout: Gives what looks at every step; None if nobody wants to know.
    """

    def __init__(self, events: weakref.ref[Any], lookout: Lookout | None) -> None:
        self._events = events
        self.is_awake = True
        self.lookout = None if lookout is None else weakref.ref(lookout)

    def on_backward(self, call: BackwardCall) -> Callable[[bool], None] | None:
        """Handle a backward that is about to run."""
        events = self._events()
        return None if events is None else events.on_backward(call)

    def before_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle an optimizer that is about to step."""
        if (events := self._events()) is not None:
            events.before_step(optimizer)

    def after_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle an optimizer that has stepped."""
        if (events := self._events()) is not None:
            events.after_step(optimizer)

    def other_stepped(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle a step of an optimizer that is not followed."""
        if (events := self._events()) is not None:
            events.other_stepped(optimizer)

    def scaled_step(self, scaler: Any) -> None:
        """Handle a scaler that is about to step an optimizer."""
        if (events := self._events()) is not None:
            events.scaled_step(scaler)

    def skipped_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Handle a step that the scaler skipped."""
        if (events := self._events()) is not None:
            events.skipped_step(optimizer)


class Ending(Protocol):
    """The methods of a watch that this module needs."""

    def close(self) -> None:
        """Write what is recorded, and warn about mistakes."""

    def end(self) -> Any:
        """Write what is recorded, without a warning."""


class Attachment:
    """All hooks and replacements of a watch, until ``remove``.

    Attributes:
        is_removed: Whether all of them are gone.
    """

    def __init__(self) -> None:
        self.is_removed = False

    def attach(
        self,
        watch: Ending,
        events: Any,  # has the methods of ``WeakListener``, and does not raise
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        lookout: Lookout | None,
    ) -> None:
        """Call ``events`` for the training; end ``watch`` together with its model or the interpreter.

        Neither is kept alive.

        Raises:
            CaptureError: An optimizer cannot be followed; then nothing is attached.
        """
        this = weakref.ref(watch)
        self._listener = WeakListener(weakref.ref(events), lookout)
        self._hooks = OptimizerHooks(optimizers, self._listener)
        self._stop = or_at_exit(listen(self._listener), this)
        self._stop_norms = _nothing if lookout is None else listen_to_norms(weakref.ref(lookout))
        end_with(model, this)
        weakref.finalize(watch, self.remove).atexit = False

    def wake(self, is_awake: bool) -> None:
        """Say whether more events are wanted than the steps of the optimizers."""
        self._listener.is_awake = is_awake

    def remove(self) -> None:
        """Remove everything. A second call does nothing."""
        self.is_removed = True
        self._stop()
        self._stop_norms()
        self._hooks.remove()
        if self._listener.lookout is not None and (lookout := self._listener.lookout()) is not None:
            lookout.let_go()


def or_at_exit(stop: Callable[[], None], watch: weakref.ref[Any]) -> Callable[[], None]:
    """Close a watch at the end of the interpreter, because records of its step may be waiting.

    Return a function that cancels this and calls ``stop``.
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
        watch.end()  # the program ends by an exception, which says enough
    elif watch is not None:
        watch.close()


def _end(reference: weakref.ref[Ending]) -> None:
    watch = reference()
    if watch is not None:
        watch.end()


def _nothing() -> None:
    """Do nothing."""
