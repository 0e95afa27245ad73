"""Hears calls, lines and returns of the user's own code on a thread; torch runs without that."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from tb_gradgraph.autograd.user_code import monitoring_events, trace_events
from tb_gradgraph.autograd.user_code.packing import look_for_packing
from tb_gradgraph.autograd.user_code.stack_frames import is_users

#: Called with "call", "line" (before it runs) or "return" (also: yields, raises), and with the
#: frame, and what is returned; or with the name of a method in ``TAKES_OFF`` that is about to be
#: called, and its tensor; or with "pack" when a hook that packs saved tensors is called, and with
#: "return" of its frame too, whosever code it is. Must not raise.
Listener = Callable[[str, FrameType, Any], None]

#: Names by which code gets at its own variables.
_LOOK_AT_VARIABLES = frozenset({"locals", "vars", "_getframe", "currentframe"})
#: Before Python 3.13 such code has the same table that reading a frame's variables fills anew,
#: and in 3.10 hearing its lines is enough for that.
_SHARES_VARIABLES = sys.version_info < (3, 13)
_HEARING_FILLS = sys.version_info < (3, 11)


class _Here(threading.local):
    listeners: tuple[Listener, ...] = ()


_here = _Here()


def may_read_variables(code: CodeType) -> bool:
    """Return whether only we see that the variables of a frame of ``code`` are read while it runs."""
    return not _SHARES_VARIABLES or _LOOK_AT_VARIABLES.isdisjoint(code.co_names)


def hear(listener: Listener) -> Callable[[], None] | None:
    """Tell ``listener`` of the user's code on this thread; return what ends that, on this thread.

    Frames entered before are not heard. If Python hears one thing at a time (before 3.12)
    and somebody else already listens, such as a debugger or a measurement of coverage,
    that is left alone.

    Returns:
        What ends it, harmless when called twice; ``None`` if nothing can be heard.
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
