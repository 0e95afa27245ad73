"""Source lines and variable names, read from the frames of the user's code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

import torch

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = tuple(os.path.join(_PACKAGE, room) for room in ("autograd", "writer.py", "recorder.py"))
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_is_foreign: dict[CodeType, bool] = {}


def _users(code: CodeType) -> bool:
    """Whether ``code`` is the user's: not torch's, not ours, not an import frame."""
    known = _is_foreign.get(code)
    if known is None:
        name = code.co_filename
        known = not name.startswith((_TORCH, *_OURS, "<frozen", "<string>"))
        _is_foreign[code] = known
    return known


def user_frame(depth: int = 1) -> FrameType | None:
    """Give the innermost frame of the user's own code."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None and not _users(frame.f_code):
        frame = frame.f_back
    return frame


def source_line(frame: FrameType | None) -> str:
    """Spell where ``frame`` is, as ``path/file.py:12 in forward``."""
    if frame is None:
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def tensors_of(frame: FrameType) -> Iterator[tuple[str, torch.Tensor]]:
    """Read the variables of ``frame`` that hold a tensor, local ones only.

    At module level the locals are the globals. Lists and dicts are not entered.
    """
    for name, value in list(frame.f_locals.items()):
        if isinstance(value, torch.Tensor):
            yield name, value


def variables_of(frame: FrameType | None) -> dict[str, Any]:
    """Give every variable that code in ``frame`` can reach, local ones before global ones."""
    if frame is None:
        return {}
    return {**frame.f_locals, **{k: v for k, v in frame.f_globals.items() if k not in frame.f_locals}}
