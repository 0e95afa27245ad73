"""Which functions pack the tensors that operations save, as checkpoints make them."""

from __future__ import annotations

import types
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

_ENTER: CodeType | None = getattr(
    torch.autograd.graph.saved_tensors_hooks.__enter__, "__code__", None
)
#: Returns the pair of hooks that pack and unpack now, if any.
_hooks_now: Callable[[bool], Any] = getattr(
    getattr(torch._C, "_autograd", None), "_top_saved_tensors_default_hooks", lambda _: None
)
#: Code of functions that pack saved tensors, and of torch's that begin packing, by ``id``.
packing_code: dict[int, CodeType] = {} if _ENTER is None else {id(_ENTER): _ENTER}


def look_for_packing(frame: FrameType | None = None) -> bool:
    """Note what packs now, or from the ``__enter__`` that ``frame`` is in.

    Returns:
        Whether ``frame`` belongs to a function that packs.
    """
    if frame is None:
        hooks = _hooks_now(True)
        hook = hooks[0] if isinstance(hooks, tuple) and hooks else None
    elif frame.f_code is _ENTER:
        entered = frame.f_locals.get("self")
        hook = object.__getattribute__(entered, "__dict__").get("pack_hook")
    else:
        return True
    # A function that hands its arguments on, such as a decorated one, shares its code with others.
    if isinstance(hook, types.FunctionType) and hook.__code__.co_argcount > 0:
        packing_code[id(hook.__code__)] = hook.__code__
    return False
