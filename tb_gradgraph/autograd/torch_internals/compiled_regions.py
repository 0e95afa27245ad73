"""Notices when calls of compiled code (``torch.compile``) begin and end."""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

import torch

from tb_gradgraph.autograd.torch_internals.replaced import Replaced

#: Called with True when a call begins and False when it ends, on the thread of the call. Must not raise.
Listener = Callable[[bool], None]

_COMPILER = "torch._dynamo"
_SWITCH = "_maybe_set_eval_frame"  # the compiler's function that turns it on and off


def listen_to_regions(listener: Listener) -> Callable[[], None]:
    """Call ``listener`` for every outermost call of compiled code; return a function that ends this.

    If such a call is running already, the listener is called at once.

    Hooks and modes that are active while such code runs become part of it. If they were not active
    when the code was compiled, it is compiled again, or not at all. The wrapper of a compiled
    module counts too, because it warns about hooks. So does an export, which refuses them. The
    compiler is not imported for this (2 s). Listening begins when ``torch.compile`` loads it.
    """
    places = _loaded_places()
    with _lock:
        _hear(places)
        _find_running()
        stop_own = _compile_calls.listen(listener)
        stop_exports = _exports.listen(listener)
    if _here.is_in_region:
        listener(True)

    def stop() -> None:
        with _lock:
            stop_own()
            stop_exports()
            while _heard and not _compile_calls.listeners:
                _heard.pop()()

    return stop


def are_regions_heard() -> bool:
    """Return whether torch has the functions by which we notice compiled code, or has no compiler."""
    return _COMPILER not in sys.modules or _places() is not None


def is_backward_compiled() -> bool:
    """Return whether a backward that begins now is itself compiled, together with active hooks."""
    compiler = sys.modules.get(f"{_COMPILER}.compiled_autograd")
    return bool(getattr(compiler, "compiled_autograd_enabled", False))


@contextlib.contextmanager
def backward_eager() -> Iterator[None]:
    """In the block, run a backward uncompiled, even if the user has turned on compiled backwards."""
    compiler = sys.modules.get(f"{_COMPILER}.compiled_autograd")
    disable = getattr(compiler, "_disable", getattr(compiler, "disable", None))
    with disable() if disable and is_backward_compiled() else contextlib.nullcontext():
        yield


def stop_compiling() -> Callable[[], Any] | None:
    """Stop compiling on this thread if compiled code calls ours; then return a function that ends this."""
    if _COMPILER not in sys.modules or (set_callback := _own_switch()) is None:
        return None
    callback = set_callback(None)
    return None if callback is None else functools.partial(set_callback, callback)


def left_out_of_compiled(function: Any, instead: Callable[..., Any] | None = None) -> Any:
    """Return ``function``; compiled code calls ``instead`` in its place, which may do nothing.

    Otherwise our code would be compiled too, or refused where the user allows no graph breaks.
    """
    function._torchdynamo_inline = instead or _do_nothing
    return function


def _made_elsewhere(function: Any) -> Callable[..., Any]:
    """Return the same function without our file's name, because our files are not compiled."""
    code = function.__code__.replace(co_filename="<nothing>")
    return FunctionType(code, {"__name__": "builtins", "__builtins__": vars(builtins)})


@_made_elsewhere
def _do_nothing(*_: Any, **__: Any) -> None:
    return None


@functools.cache
def _own_switch() -> Callable[[Any], Any] | None:
    """Return the compiler's own function, not our replacement."""
    with contextlib.suppress(ImportError, AttributeError):
        return importlib.import_module("torch._C._dynamo.eval_frame").set_eval_frame
    return None


_heard: list[Callable[[], None]] = []  # functions that stop listening to the compiler
_lock = threading.RLock()  # reentrant: a garbage collection inside may end a watch


def _hear(places: Sequence[Replaced[None]]) -> None:
    with _lock:
        if not _heard:
            _heard.extend(place.listen(None) for place in places)


def _loaded_places() -> Sequence[Replaced[None]]:
    """Listen to compiled code if the compiler is loaded, or once it is loaded."""
    return _COMPILER in sys.modules and _places() or ()


@functools.cache
def _places() -> tuple[Replaced[None], ...] | None:
    """Return the functions to replace; None if torch lacks them.

    Two of them turn the compiler on and off (before torch 2.7 it is one function). The third is the
    call of a module that ``torch.compile`` has wrapped.
    """
    owner = importlib.import_module(f"{_COMPILER}.eval_frame")
    names = (_SWITCH, "OptimizedModule")
    if not all(hasattr(owner, name) for name in names) or _compiled_call() is None:
        return None
    with contextlib.suppress(
        Exception
    ):  # otherwise our code is compiled too if compiled code calls it
        importlib.import_module(f"{_COMPILER}.trace_rules").add(__name__.partition(".")[0])
    begins: list[Replaced[None]]
    begins = [Replaced(owner, "set_eval_frame", _told_begin)] * hasattr(owner, "set_eval_frame")
    return (
        *begins,
        Replaced(owner, "_maybe_set_eval_frame", _told_switch),
        Replaced(owner.OptimizedModule, "__call__", _told_call),
    )


@functools.cache
def _compiled_call() -> CodeType | None:
    """Return the code object that runs compiled code, by which we recognize its frames."""
    owner = importlib.import_module(f"{_COMPILER}.eval_frame")
    make = vars(getattr(owner, "_TorchDynamoContext", object)).get("__call__")
    for part in make.__code__.co_consts if inspect.isfunction(make) else ():
        if isinstance(part, CodeType) and _SWITCH in part.co_names:
            return part
    return None


_BLOCK = 0  # instead of a frame, for ``with torch._dynamo.optimize()``


class _Here(threading.local):
    """What is running on this thread."""

    caller: int | None = None  # the frame, by ``id``, whose compiled call is running
    wrappers = 0  # nested calls of compiled modules and exports

    @property
    def is_in_region(self) -> bool:
        return self.caller is not None or self.wrappers > 0


_here = _Here()


def _find_running() -> None:
    """Find what is running already: a call may have begun or ended while there was no listener."""
    call = _compiled_call() if _heard else None
    caller, frame = None, sys._getframe(1) if call is not None else None
    while frame is not None:
        caller = id(frame) if frame.f_code is call else caller
        frame = frame.f_back
    _change(caller=caller)


def _change(**state: int | None) -> None:
    """Note what runs from now on; call listeners if the first call begins or the last one ends."""
    before = _here.is_in_region
    vars(_here).update(state)
    if _here.is_in_region != before:
        _tell(not before)


def _tell(begins: bool) -> None:
    for listener in tuple(_compile_calls.listeners):
        listener(begins)


def _told_begin(set_callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Notice the start of a call of compiled code, by the first function that it calls.

    After this, it reads which of torch's modes are active, and assumes them while it runs.
    """

    @functools.wraps(set_callback)
    def turn_off(callback: Any) -> Any:
        frame = sys._getframe(1)
        if _here.caller is None and frame.f_code is _compiled_call() and not _is_forced_eager():
            _change(caller=id(frame))
        return set_callback(callback)

    return turn_off


def _is_forced_eager() -> bool:
    """Return whether ``torch.compiler.set_stance`` makes everything run uncompiled."""
    owner = sys.modules[f"{_COMPILER}.eval_frame"]
    return hasattr(owner, "_callback_from_stance") and owner._callback_from_stance(False) is None


def _told_switch(set_callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Notice the end of a call of compiled code, and the start and end of a ``with`` block of it.

    During a call, other code also turns the compiler off and on, for code that must not be
    compiled.
    """

    @functools.wraps(set_callback)
    def switch(callback: Any) -> Any:
        frame = sys._getframe(1)
        name = frame.f_code.co_name
        if _here.caller is None and callback is not None:
            if name == "__enter__":
                _change(caller=_BLOCK)
            elif frame.f_code is _compiled_call():
                _change(caller=id(frame))
        before = set_callback(callback)
        if callback is None and _here.caller == (_BLOCK if name == "__exit__" else id(frame)):
            _change(caller=None)
        return before

    return switch


def _told_call(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def wrapper_call(*args: Any, **kwargs: Any) -> Any:
        _change(wrappers=_here.wrappers + 1)
        try:
            return call(*args, **kwargs)
        finally:
            _change(wrappers=_here.wrappers - 1)

    return wrapper_call


def _told_compile(compile_function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile_function)
    def compile_and_hear(*args: Any, **kwargs: Any) -> Any:
        compiled = compile_function(*args, **kwargs)
        _hear(_loaded_places())
        return compiled

    return compile_and_hear


_compile_calls: Replaced[Listener] = Replaced(torch, "compile", _told_compile)
_exports: Replaced[Listener] = Replaced(torch.export, "export", _told_call)
