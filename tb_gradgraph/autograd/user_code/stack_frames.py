"""Read source lines and variables from the frames of the user's code."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from types import CodeType, FrameType
from typing import Any

import torch

_PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
_ROOMS = ("api", "autograd", "memory", "summarize", "training")
_OURS = tuple(os.path.join(_PACKAGE, room) for room in _ROOMS)
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_NETWORKS = os.path.join(_TORCH, "nn", "")
_MODULE_CALL = getattr(getattr(torch.nn.Module, "_call_impl", None), "__code__", None)
Place = tuple[CodeType, int]  # code and line number
_is_users: dict[str, bool] = {}  # by file name: Python caches the hash of a string


def is_users(code: CodeType) -> bool:
    """Return whether ``code`` is the user's: neither torch's nor ours nor Python's import system."""
    return is_users_file(code.co_filename)


def is_users_file(name: str) -> bool:
    """Return whether the file ``name`` holds the user's code."""
    known = _is_users.get(name)
    if known is None:
        known = _is_users[name] = not name.startswith((_TORCH, *_OURS, "<frozen"))
    return known


@functools.cache
def is_of_networks(name: str) -> bool:
    """Return whether the file ``name`` belongs to torch's own layers and their functions."""
    return name.startswith(_NETWORKS) and not name.endswith(os.path.join("modules", "module.py"))


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """Return the innermost frame of the user's own code: ``frame`` (or ours) or one of its callers."""
    return user_call(sys._getframe(1) if frame is None else frame)[0]


def user_call(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """Return the user's innermost frame, and the frame that it called on the way to ``frame``.

    The second is ``None`` if the first is ``frame`` itself.
    """
    called = None
    while frame is not None:
        known = _is_users.get(frame.f_code.co_filename)
        if known or (known is None and is_users(frame.f_code)):
            break
        called, frame = frame, frame.f_back
    return frame, called


def is_in_module_call() -> bool:
    """Return whether a module's call is running on this thread."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _MODULE_CALL:
            return True
        frame = frame.f_back
    return False


def source_line(frame: FrameType | None) -> str:
    """Return the line of ``frame`` as text: ``path/file.py:12 in forward``.

    The path is relative to the working directory if it lies below it.
    """
    if frame is None:
        return ""
    code = frame.f_code
    return f"{shown_path(code.co_filename)}:{frame.f_lineno} in {code.co_name}"


@functools.lru_cache(maxsize=1024)
def shown_path(path: str) -> str:
    """Return a path relative to the working directory, if it is below it."""
    return path.removeprefix(os.getcwd() + os.sep)


def tensors_of(frame: FrameType) -> list[tuple[str, torch.Tensor]]:
    """Return the local variables of ``frame`` that hold a tensor; containers are not entered."""
    pairs = local_variables(frame).items()
    try:
        return [pair for pair in pairs if isinstance(pair[1], torch.Tensor)]
    except Exception:  # one of them may raise when it is asked
        asked = (pair for pair in pairs if _may_be_asked(pair[1]))
        return [pair for pair in asked if isinstance(pair[1], torch.Tensor)]


def _may_be_asked(value: object) -> bool:
    """Return whether a variable can be asked for its class. A proxy of a deleted object raises."""
    try:
        isinstance(value, (torch.Tensor, torch.nn.Module))
    except Exception:
        return False
    return True


def variables_of(frame: FrameType | None) -> dict[str, Any]:
    """Return every variable that code in ``frame`` can reach, local ones before global ones."""
    if frame is None:
        return {}
    found = local_variables(frame)
    for name, value in list(frame.f_globals.items()):
        found.setdefault(name, value)
    return {name: value for name, value in found.items() if _may_be_asked(value)}


def local_variables(frame: FrameType) -> dict[str, Any]:
    """Return the local variables of ``frame``, or the global ones at module level.

    Before Python 3.13 ``f_locals`` of a function is a snapshot. The frame keeps the snapshot, and
    so every tensor in it, until the function returns. Therefore we empty it again, unless the
    user's code holds it too (by ``locals()``).
    """
    snapshot = frame.f_locals
    found = dict(snapshot)
    kept_by_frame = frame.f_code.co_flags & inspect.CO_OPTIMIZED and isinstance(snapshot, dict)
    if kept_by_frame and sys.getrefcount(snapshot) <= _FRAMES_OWN_REFERENCES:
        snapshot.clear()
    return found


#: References to a snapshot that only we use: the frame's, our variable's, and that of getrefcount.
_FRAMES_OWN_REFERENCES = 3


_WRITES_NOTHING_BACK = sys.version_info >= (3, 12)


class Snapshots:
    """Reads the variables of the frame of an event, without keeping tensors alive afterwards.

    Before Python 3.13, a snapshot must not be emptied during an event, because Python would write
    it back and the frame would lose its variables. Therefore it is read again at the next event of
    the same frame, which releases deleted variables. It is emptied at an event of another frame.
    """

    def __init__(self) -> None:
        self._frame = 0  # the frame, by ``id``, that has a snapshot
        self._snapshot: dict[str, Any] | None = None

    def read(self, frame: FrameType) -> dict[str, Any]:
        """Return the variables of ``frame``, during an event of it."""
        variables = frame.f_locals
        if frame.f_code.co_flags & inspect.CO_OPTIMIZED and isinstance(variables, dict):
            self._frame, self._snapshot = id(frame), variables
        return dict(variables)

    def look(self, frame: FrameType) -> dict[str, Any]:
        """Do the same without leaving a snapshot, if Python writes nothing back (from 3.12 on)."""
        if _WRITES_NOTHING_BACK:
            return local_variables(frame)
        self.renew(frame)
        return self.read(frame)

    def renew(self, frame: FrameType) -> None:
        """Handle an event of ``frame``: update the snapshot, so that it holds only existing variables."""
        if self._snapshot is None:
            return
        if self._frame == id(frame):
            frame.f_locals  # noqa: B018 fills it again
        else:
            self.clear()

    def clear(self) -> None:
        """Empty the snapshot; not at an event of its own frame."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.clear()


def place_of(frame: FrameType | None) -> Place | None:
    """Return where the user's innermost code is, in ``frame`` or above it."""
    frame, _ = user_call(frame)
    return None if frame is None else (frame.f_code, frame.f_lineno)


def spelled(place: Place | None) -> str:
    """Return a place as text: ``path/file.py:12 in forward``; "" if there is none."""
    if place is None:
        return ""
    code, line = place
    return f"{shown_path(code.co_filename)}:{line} in {code.co_name}"
