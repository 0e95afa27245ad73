"""Events of the user's code by ``sys.settrace``, where Python has no ``sys.monitoring`` (before 3.12)."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any


class _Here(threading.local):
    tell: Callable[[str, FrameType], None] | None = None
    is_heard: Callable[[CodeType], bool] | None = None


_here = _Here()


def begin(tell: Callable[[str, FrameType], None], is_heard: Callable[[CodeType], bool]) -> bool:
    """Have ``tell`` told of frames entered from now on on this thread; whether that can be."""
    if sys.gettrace() not in (None, _at_call):
        return False
    _here.tell, _here.is_heard = tell, is_heard
    sys.settrace(_at_call)
    return True


def end() -> None:
    """End it. A tracer that the user has put on since stays."""
    _here.tell = _here.is_heard = None
    _take_off()


def _take_off() -> None:
    if sys.gettrace() is _at_call:
        sys.settrace(None)


def _at_call(frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
    """Hear of a function that is called: of torch's own, which are most, no more than that."""
    if _here.is_heard is None:  # the user's tracer, which came after ours, has put it back
        _take_off()
        return None
    if not _here.is_heard(frame.f_code):
        return None
    _tell("call", frame)
    return _within


def _within(frame: FrameType, event: str, _argument: Any) -> Callable[..., Any] | None:
    if event == "line" or event == "return":
        _tell(event, frame)
    return _within


def _tell(event: str, frame: FrameType) -> None:
    if _here.tell is not None:
        _here.tell(event, frame)
