"""Ends that come to a watch from without: of the program, of the model, of the watch itself."""

from __future__ import annotations

import atexit
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import torch


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
    """Have a watch closed when the interpreter ends before it was: its step may be waiting.

    Gives what stops both that and what ``stop`` does.
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
    """Take away all that a watch has put somewhere."""
    stop()
    hooks.remove()


def _close_at_exit(reference: weakref.ref[Ending]) -> None:
    watch = reference()
    if watch is not None and getattr(sys, "last_value", None) is not None:
        watch.end()  # an exception ends the program, which says enough
    elif watch is not None:
        watch.close()


def _end(reference: weakref.ref[Ending]) -> None:
    watch = reference()
    if watch is not None:
        watch.end()
