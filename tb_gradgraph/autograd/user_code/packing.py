"""Find the functions that pack saved tensors, such as those of checkpoints."""

from __future__ import annotations

import types
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

_ENTER: CodeType | None = getattr(
    torch.autograd.graph.saved_tensors_hooks.__enter__, "__code__", None
)
#: Returns the active pair of hooks (pack and unpack), if there is one.
_hooks_now: Callable[[bool], Any] = getattr(
    getattr(torch._C, "_autograd", None), "_top_saved_tensors_default_hooks", lambda _: None
)
#: Code of functions that pack saved tensors, and of torch's functions that start packing, by ``id``.
packing_code: dict[int, CodeType] = {} if _ENTER is None else {id(_ENTER): _ENTER}


def look_for_packing(frame: FrameType | None = None) -> bool:
    """Note the function that packs now, or that packs after the ``__enter__`` that ``frame`` is in.

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
    # A function that only forwards its arguments, such as a decorated one, shares its code with others.
    if isinstance(hook, types.FunctionType) and hook.__code__.co_argcount > 0:
        packing_code[id(hook.__code__)] = hook.__code__
    return False
