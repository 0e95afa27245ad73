"""Notices calls, lines and returns of the user's own code on a thread; torch's code runs untraced."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from tb_gradgraph.autograd.user_code import monitoring_events, trace_events
from tb_gradgraph.autograd.user_code.packing import look_for_packing
from tb_gradgraph.autograd.user_code.stack_frames import is_users

#: Gets the kind of an event, the frame, and a value. The kind is "call", "line" (before the line
#: runs) or "return" (also if it yields or raises; the value is what it returns). Or the kind is the
#: name of a method in ``TAKES_OFF`` that is about to be called, and the value is its tensor. Or it
#: is "pack", when a hook that packs saved tensors is called; then the "return" of its frame is
#: reported too, even if it is not the user's code. Must not raise.
Listener = Callable[[str, FrameType, Any], None]

#: Names by which code reads its own variables.
_LOOK_AT_VARIABLES = frozenset({"locals", "vars", "_getframe", "currentframe"})
#: Before Python 3.13, such code holds the same dict that we fill when we read a frame's variables.
#: In 3.10, tracing its lines already fills it.
_SHARES_VARIABLES = sys.version_info < (3, 13)
_HEARING_FILLS = sys.version_info < (3, 11)


class _Here(threading.local):
    listeners: tuple[Listener, ...] = ()


_here = _Here()


def may_read_variables(code: CodeType) -> bool:
    """Return whether we can read the variables of a running frame of ``code`` without side effects."""
    return not _SHARES_VARIABLES or _LOOK_AT_VARIABLES.isdisjoint(code.co_names)


def hear(listener: Listener) -> Callable[[], None] | None:
    """Call ``listener`` for events of the user's code on this thread; return a function that ends this.

    Events of frames that were entered before are not reported. Before Python 3.12 there can be only
    one tracer. If there already is one, such as a debugger or coverage, it is not replaced.

    Returns:
        A function that ends it and may be called twice; ``None`` if no events can be reported.
    """
    if not _here.listeners and not _source.begin(_tell, _is_heard):
        return None
    look_for_packing()
    _here.listeners = (*_here.listeners, listener)

    def stop() -> None:
        if listener in _here.listeners:
            _here.listeners = tuple(each for each in _here.listeners if each is not listener)
            if not _here.listeners:
                _source.end()

    return stop


def _is_heard(code: CodeType) -> bool:
    if not _here.listeners or not is_users(code):
        return False
    return not _HEARING_FILLS or may_read_variables(code)


def _tell(event: str, frame: FrameType, about: Any = None) -> None:
    if event == "pack" and not (may_read_variables(frame.f_code) and look_for_packing(frame)):
        return
    for listener in _here.listeners:
        listener(event, frame, about)


_source = monitoring_events if sys.version_info >= (3, 12) else trace_events
