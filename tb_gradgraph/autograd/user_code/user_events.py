"""Notices calls, lines and returns of the user's own code on a thread; torch's code runs untraced."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FrameType
from typing import Any

from tb_gradgraph.autograd.bytecode.line_reading import ByIdentity, may_add
from tb_gradgraph.autograd.user_code import monitoring_events, trace_events
from tb_gradgraph.autograd.user_code.packing import look_for_packing
from tb_gradgraph.autograd.user_code.stack_frames import is_of_networks, is_users
from tb_gradgraph.autograd.user_code.torch_calls import Hearing

#: Gets the kind of an event, the frame, and a value. The kind is "call", "line" (before the line
#: runs) or "return" (also if it yields or raises; the value is what it returns). "line" and "return"
#: are also reported for code of torch's layers that adds or subtracts. Or the kind is "begin", when
#: the user's code or torch's layers are about to call a function of torch written in C; the value
#: is its ``TorchCall``. Or it is "end", when any function written in C has returned to such code. Or
#: it is "pack", when a hook that packs saved tensors is called; then the "return" of its frame is
#: reported too, even if it is not the user's code. Or it is "fault", after which nothing follows: the
#: value is an error of our own. Must not raise.
Listener = Callable[[str, FrameType, Any], None]

#: Names by which code reads its own variables.
_LOOK_AT_VARIABLES = frozenset({"locals", "vars", "_getframe", "currentframe"})
#: Before Python 3.13, such code holds the same dict that we fill when we read a frame's variables.
#: In 3.10, tracing its lines already fills it.
_SHARES_VARIABLES = sys.version_info < (3, 13)
_HEARING_FILLS = sys.version_info < (3, 11)


#: If a function of torch has more variables, such as that of attention, only its calls are reported:
#: ``sys.settrace`` copies all variables at each line. Such functions add only sizes and masks.
_MANY_VARIABLES = 30


class _Here(threading.local):
    listeners: tuple[Listener, ...] = ()
    is_quiet = False


_here = _Here()


class Quiet:
    """A block in which no event is reported on this thread, because our own code runs."""

    def __enter__(self) -> None:
        self._before = _here.is_quiet
        _here.is_quiet = True

    def __exit__(self, *exception: object) -> None:
        _here.is_quiet = self._before


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
    if not _here.listeners and not _source.begin(_tell, _how_heard):
        return None
    look_for_packing()
    _here.listeners = (*_here.listeners, listener)

    def stop() -> None:
        if listener in _here.listeners:
            _here.listeners = tuple(each for each in _here.listeners if each is not listener)
            if not _here.listeners:
                _source.end()

    return stop


def _how_heard(code: CodeType) -> Hearing:
    """Return which events of a code are reported."""
    if not _here.listeners or _here.is_quiet:
        return ""
    try:
        return _find_how_heard(code)
    except Exception as error:  # it must not reach the user's code, whose call this is
        _give_up(error)
        return ""


def _find_how_heard(code: CodeType) -> Hearing:
    if _HEARING_FILLS and not may_read_variables(code):
        return ""
    if is_users(code):
        return "all"
    return _how_heard_of_torch(ByIdentity(code)) if is_of_networks(code.co_filename) else ""


@functools.lru_cache(maxsize=4096)
def _how_heard_of_torch(known: ByIdentity) -> Hearing:
    is_large = known.code.co_nlocals > _MANY_VARIABLES
    return "lines" if may_add(known) and not is_large else "calls"


def _tell(event: str, frame: FrameType, about: Any = None) -> None:
    if _here.is_quiet:
        return
    try:
        if event == "pack" and not (may_read_variables(frame.f_code) and look_for_packing(frame)):
            return
        for listener in _here.listeners:
            listener(event, frame, about)
    except Exception as error:
        _give_up(error)


def _give_up(error: Exception) -> None:
    """Stop on this thread after a fault of our own."""
    listeners, _here.listeners = _here.listeners, ()
    _source.end()
    for listener in listeners:
        listener("fault", sys._getframe(1), error)


_source = monitoring_events if sys.version_info >= (3, 12) else trace_events
#: A block of our own code within the user's, in which there are no events.
events_paused: Callable[[], AbstractContextManager[None]] = _source.Paused
