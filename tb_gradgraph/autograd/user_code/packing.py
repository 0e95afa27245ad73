"""Which functions pack the tensors that operations save, as a checkpoint has them packed."""

from __future__ import annotations

import types
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

_ENTER: CodeType | None = getattr(
    torch.autograd.graph.saved_tensors_hooks.__enter__, "__code__", None
)
#: Gives the pair of hooks that pack and unpack now, if any.
_hooks_now: Callable[[bool], Any] = getattr(
    getattr(torch._C, "_autograd", None), "_top_saved_tensors_default_hooks", lambda _: None
)
#: Code of functions that pack saved tensors, and torch's that has them begin to, by ``id``.
packing_code: dict[int, CodeType] = {} if _ENTER is None else {id(_ENTER): _ENTER}


def look_for_packing(frame: FrameType | None = None) -> bool:
    """Take in what packs now, or from the ``__enter__`` that ``frame`` is on.

    Returns:
        Whether ``frame`` is of a function that packs.
    """
    if frame is None:
        hooks = _hooks_now(True)
        hook = hooks[0] if isinstance(hooks, tuple) and hooks else None
    elif frame.f_code is _ENTER:
        entered = frame.f_locals.get("self")
        hook = object.__getattribute__(entered, "__dict__").get("pack_hook")
    else:
        return True
    # What hands its arguments on, as a decorated function, shares its code with others.
    if isinstance(hook, types.FunctionType) and hook.__code__.co_argcount > 0:
        packing_code[id(hook.__code__)] = hook.__code__
    return False
