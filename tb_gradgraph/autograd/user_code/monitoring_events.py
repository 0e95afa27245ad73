"""Events of the user's code from ``sys.monitoring`` (Python 3.12 and later). Other tools may use it too."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from tb_gradgraph.autograd.user_code.packing import packing_code
from tb_gradgraph.autograd.user_code.torch_calls import Hearing, torch_call

_monitoring: Any = getattr(sys, "monitoring", None)
#: Tool ids for general use; 0, 1, 2 and 5 are for debuggers, coverage, profilers and optimizers.
_IDS = (4, 3)


Tell = Callable[[str, FrameType, Any], None]


class _Heard:
    """What is monitored in this process, for all threads."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # reentrant: a garbage collection inside may end a watch
        self.threads: set[int] = set()
        self.tool: int | None = None
        self.codes: dict[int, tuple[CodeType, int]] = {}  # code and its events, by ``id``
        self.tell: Tell = _nothing
        self.how_heard: Callable[[CodeType], Hearing] = _never


def begin(tell: Tell, how_heard: Callable[[CodeType], Hearing]) -> bool:
    """Call ``tell`` for frames that this thread enters from now on; return whether this is possible."""
    with _heard.lock:
        if _heard.tool is None and not _begin_tool():
            return False
        _heard.tell, _heard.how_heard = tell, how_heard
        _heard.threads.add(threading.get_ident())
    return True


def end() -> None:
    """Stop for this thread. If it was the last thread, stop monitoring."""
    with _heard.lock:
        _heard.threads.discard(threading.get_ident())
        tool = _heard.tool
        if _heard.threads or tool is None:
            return
        _heard.tool = None
        for code, _events in _heard.codes.values():
            _monitoring.set_local_events(tool, code, 0)
        _heard.codes.clear()
        _monitoring.set_events(tool, 0)
        for event in _callbacks():
            _monitoring.register_callback(tool, event, None)
        _monitoring.free_tool_id(tool)


#: In a block of our own code, nothing needs to be paused: events cost where they are reported.
Paused = contextlib.nullcontext


def _begin_tool() -> bool:
    for tool in _IDS:
        if _monitoring.get_tool(tool) is None:
            _monitoring.use_tool_id(tool, "tb_gradgraph")
            for event, callback in _callbacks().items():
                _monitoring.register_callback(tool, event, callback)
            events = _monitoring.events
            _monitoring.set_events(
                tool, events.PY_START | events.PY_RESUME | events.PY_THROW | events.PY_UNWIND
            )
            _heard.tool = tool
            return True
    return False


def _callbacks() -> dict[int, Callable[..., Any]]:
    events = _monitoring.events
    return {
        **dict.fromkeys((events.PY_START, events.PY_RESUME, events.PY_THROW), _at_call),
        **dict.fromkeys((events.PY_RETURN, events.PY_YIELD), _at_return),
        events.PY_UNWIND: _at_unwinding,
        events.LINE: _at_line,
        events.CALL: _at_function,
        events.C_RETURN: _at_functions_return,
    }


def _at_call(code: CodeType, *_arguments: Any) -> None:
    """Handle the call or the resumption of a function. Torch's own functions are ignored from then on."""
    if threading.get_ident() not in _heard.threads:
        return
    events = _monitoring.events
    if id(code) in packing_code:
        _hear(code, events.PY_RETURN)
        _heard.tell("pack", sys._getframe(1), None)
    heard = _heard.how_heard(code)
    if heard:
        lines = events.LINE | events.PY_RETURN | events.PY_YIELD
        _hear(code, events.CALL | (0 if heard == "calls" else lines))  # and with CALL its C_RETURN
    if heard == "all":
        _heard.tell("call", sys._getframe(1), None)


def _hear(code: CodeType, events: int) -> None:
    with _heard.lock:
        heard = _heard.codes.get(id(code), (code, 0))[1]
        if _heard.tool is not None and heard | events != heard:
            _heard.codes[id(code)] = (code, heard | events)
            _monitoring.set_local_events(_heard.tool, code, heard | events)


def _at_line(_code: CodeType, _line: int) -> None:
    if threading.get_ident() in _heard.threads:
        _heard.tell("line", sys._getframe(1), None)


def _at_function(_code: CodeType, _offset: int, function: Any, first: Any) -> None:
    if threading.get_ident() in _heard.threads:
        call = torch_call(function, first)
        if call is not None:
            _heard.tell("begin", sys._getframe(1), call)


def _at_functions_return(_code: CodeType, _offset: int, _function: Any, _first: Any) -> None:
    if threading.get_ident() in _heard.threads:
        _heard.tell("end", sys._getframe(1), None)


def _at_return(_code: CodeType, _offset: int, returned: Any) -> None:
    if threading.get_ident() in _heard.threads:
        _heard.tell("return", sys._getframe(1), returned)


def _at_unwinding(code: CodeType, *_arguments: Any) -> None:
    if id(code) in _heard.codes and threading.get_ident() in _heard.threads:
        _heard.tell("return", sys._getframe(1), None)


def _nothing(_event: str, _frame: FrameType, _about: Any) -> None:
    """Do nothing."""


def _never(_code: CodeType) -> Hearing:
    return ""


_heard = _Heard()
