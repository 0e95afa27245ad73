"""Calls of what torch.compile has taken in, seen as they begin and end."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch

from tb_gradgraph.autograd.replaced import Replaced

#: Told on the thread of the call whether one begins or ends. Must not raise.
Listener = Callable[[bool], None]

_COMPILER = "torch._dynamo"


def listen_to_regions(listener: Listener) -> Callable[[], None]:
    """Have ``listener`` told of every outermost call of compiled code; give what ends that.

    Where one is running already it is told at once that it begins.

    What is on while such code runs becomes a part of it: a hook or a mode that was not
    there when it was compiled has it compiled again, or not at all. A compiled module's
    wrapper counts too, for it warns of hooks. The compiler is not imported for this
    (2 s): it is heard once ``torch.compile`` has loaded it.
    """
    stop_own = _compile_calls.listen(listener)
    _hear_compiler()
    if _here.depth:
        listener(True)

    def stop() -> None:
        stop_own()
        while _heard and not _compile_calls.listeners:
            _heard.pop()()

    return stop


def are_regions_heard() -> bool:
    """Whether torch has the places by which compiled code is heard, if its compiler is there at all."""
    return _COMPILER not in sys.modules or _places() is not None


def stop_compiling() -> Callable[[], Any] | None:
    """Have nothing compiled on this thread, where compiled code calls ours; give what ends that, if so."""
    if _COMPILER not in sys.modules:
        return None
    set_callback = sys.modules[f"{_COMPILER}.eval_frame"].set_eval_frame
    callback = set_callback(None)
    return None if callback is None else functools.partial(set_callback, callback)


_heard: list[Callable[[], None]] = []  # what ends that the compiler is heard


def _hear_compiler() -> None:
    if _COMPILER in sys.modules and not _heard:
        _heard.extend(place.listen(None) for place in _places() or ())


@functools.cache
def _places() -> tuple[Replaced[None], Replaced[None]] | None:
    """Give where compiled code is heard; None where torch has no such places.

    One is the function by which the compiler turns itself on and off, the other the call of
    what ``torch.compile`` makes of a module.
    """
    owner = importlib.import_module(f"{_COMPILER}.eval_frame")
    wrapper = getattr(owner, "OptimizedModule", None)
    if wrapper is None or not hasattr(owner, "_maybe_set_eval_frame"):
        return None
    with contextlib.suppress(
        Exception
    ):  # else our functions, called in compiled code, are compiled
        importlib.import_module(f"{_COMPILER}.trace_rules").add(__name__.partition(".")[0])
    switch: Replaced[None] = Replaced(owner, "_maybe_set_eval_frame", _told_switch)
    return switch, Replaced(wrapper, "__call__", _told_call)


class _Here(threading.local):
    """What runs on this thread."""

    depth = 0  # of regions, each in the one before
    caller: int | None = None  # the frame, by ``id``, whose call of compiled code is running


_here = _Here()


def _begin() -> None:
    _here.depth += 1
    if _here.depth == 1:
        _tell(True)


def _end() -> None:
    _here.depth -= 1
    if _here.depth == 0:
        _tell(False)


def _tell(begins: bool) -> None:
    for listener in tuple(_compile_calls.listeners):
        listener(begins)


def _told_switch(set_callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(set_callback)
    def switch(callback: Any) -> Any:
        frame = sys._getframe(1)
        caller = _here.caller
        if caller is None and callback is not None:
            _here.caller = id(frame)
            _begin()
        before = set_callback(callback)
        # Within it others turn the compiler off and on, for what it is to leave alone.
        is_end = caller == id(frame) or frame.f_code.co_name == "__exit__"
        if caller is not None and callback is None and is_end:
            _here.caller = None
            _end()
        return before

    return switch


def _told_call(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def wrapper_call(*args: Any, **kwargs: Any) -> Any:
        _begin()
        try:
            return call(*args, **kwargs)
        finally:
            _end()

    return wrapper_call


def _told_compile(compile_function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile_function)
    def compile_and_hear(*args: Any, **kwargs: Any) -> Any:
        compiled = compile_function(*args, **kwargs)
        _hear_compiler()
        return compiled

    return compile_and_hear


_compile_calls: Replaced[Listener] = Replaced(torch, "compile", _told_compile)
