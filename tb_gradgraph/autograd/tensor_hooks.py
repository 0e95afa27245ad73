"""Hooks that the user puts on tensors, seen as he does."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch

_listeners: list[Callable[[], None]] = []
_lock = threading.RLock()  # a collection within may end a watch
_original: Callable[..., Any] | None = None


def listen_for_hooks(listener: Callable[[], None]) -> Callable[[], None]:
    """Have ``listener`` told of every ``register_hook`` on a tensor with history; give what ends that.

    Such a hook may change a gradient between two operations that do not. Autograd does
    not tell of it, so ``Tensor.register_hook`` is replaced for as long as anyone listens.
    """
    global _original
    with _lock:
        _listeners.append(listener)
        if _original is None:
            _original = torch.Tensor.register_hook
            torch.Tensor.register_hook = _told(_original)

    def stop() -> None:
        with _lock:
            if listener in _listeners:
                _listeners.remove(listener)
            if not _listeners:
                _restore()

    return stop


def _restore() -> None:
    """Put torch's method back, unless somebody else has put another there since."""
    global _original
    installed = torch.Tensor.register_hook
    if _original is not None and getattr(installed, "__wrapped__", None) is _original:
        torch.Tensor.register_hook = _original
        _original = None


def _told(register_hook: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(register_hook)
    def told_register_hook(tensor: torch.Tensor, hook: Callable[..., Any]) -> Any:
        if tensor.grad_fn is not None:
            for listener in tuple(_listeners):
                listener()
        return register_hook(tensor, hook)

    return told_register_hook
