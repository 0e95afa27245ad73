"""Events of the user's code from ``sys.settrace``, for Pythons without ``sys.monitoring`` (before 3.12)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from tb_gradgraph.autograd.user_code.packing import packing_code
from tb_gradgraph.autograd.user_code.torch_calls import Hearing, torch_call

Tell = Callable[[str, FrameType, Any], None]

#: In 3.10, a profile function would change the variables that code sees through ``locals()``.
_HEARS_METHODS = sys.version_info >= (3, 11)


class _Here(threading.local):
    tell: Tell | None = None
    how_heard: Callable[[CodeType], Hearing] | None = None
    begun: Any = None  # the function that was called last; of calls within calls the inner one


_here = _Here()


def begin(tell: Tell, how_heard: Callable[[CodeType], Hearing]) -> bool:
    """Call ``tell`` for frames that this thread enters from now on; return whether this is possible."""
    if sys.gettrace() not in (None, _at_call):
        return False
    _here.tell, _here.how_heard = tell, how_heard
    sys.settrace(_at_call)
    if _HEARS_METHODS and sys.getprofile() is None:
        sys.setprofile(_at_method)
    return True


def end() -> None:
    """Stop. A tracer that the user has set since then stays."""
    _here.tell = _here.how_heard = _here.begun = None
    _take_off()


class Paused:
    """In the block, which holds only code of ours, nothing is reported: each event takes 0.5 us."""

    __slots__ = ("_was_profiling", "_was_tracing")

    def __enter__(self) -> None:
        self._was_tracing = sys.gettrace() is _at_call
        self._was_profiling = sys.getprofile() is _at_method
        _take_off()

    def __exit__(self, *_exception: object) -> None:
        if _here.how_heard is None:  # it was ended in the block
            return
        if self._was_profiling:
            sys.setprofile(_at_method)
        if self._was_tracing:
            sys.settrace(_at_call)


def _take_off() -> None:
    if sys.gettrace() is _at_call:
        sys.settrace(None)
    if sys.getprofile() is _at_method:
        sys.setprofile(None)


def _at_call(frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
    """Handle the call of a function. Inside most of torch's own functions nothing is traced."""
    if _here.how_heard is None:  # the user's tracer, which began after ours, has restored it
        _take_off()
        return None
    within = None
    if id(frame.f_code) in packing_code:
        _tell("pack", frame)
        within = _until_return
    heard = _here.how_heard(frame.f_code)
    if heard == "all":
        _tell("call", frame)
    return _within if heard in ("all", "lines") else within


def _within(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
    if event == "line" or event == "return":
        _tell(event, frame, argument)
    return _within


def _until_return(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
    if event == "return":
        _tell(event, frame, argument)
    return _until_return


def _at_method(frame: FrameType, event: str, function: Any) -> None:
    """Handle the call, and the return, of a function of torch written in C; ignore other events."""
    if _here.how_heard is None:
        _take_off()
    elif event == "c_call":
        call = torch_call(function, None)
        if call is not None and _here.how_heard(frame.f_code):
            _here.begun = function
            _tell("begin", frame, call)
    elif event == "c_return" and function is _here.begun and _here.how_heard(frame.f_code):
        _here.begun = None  # a mode calls the same function again, within the call
        _tell("end", frame)


def _tell(event: str, frame: FrameType, about: Any = None) -> None:
    if _here.tell is not None:
        _here.tell(event, frame, about)
