"""Recognize calls of torch's functions that are written in C."""

from __future__ import annotations

import builtins
import dataclasses
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any, Literal

import torch

#: Which events of a code are reported: none; calls of torch's C functions; also lines and returns;
#: also its own calls.
Hearing = Literal["", "calls", "lines", "all"]
#: Methods of tensors whose result needs no gradient.
TAKES_OFF = frozenset({"detach", "detach_", "argmax", "argmin"})
_OF_TENSORS = torch.Tensor.__base__


@dataclasses.dataclass(frozen=True, slots=True)
class TorchCall:
    """A call of a function or method of torch that is about to be made."""

    name: str
    receiver: torch.Tensor | None  # the tensor whose method it is
    takes_off: torch.Tensor | None  # the tensor, if a method in ``TAKES_OFF`` is called


def torch_call(function: Any, first: Any) -> TorchCall | None:
    """Describe a call; ``None`` if the callee is not torch's.

    Args:
        function: The callee: if it is torch's, a method written in C, bound or not, or a function.
        first: Its first argument, if that is known.
    """
    try:
        return _describe(function, first)
    except Exception:  # an unusual object may raise when its class or module is asked for
        return None


def _describe(function: Any, first: Any) -> TorchCall | None:
    if isinstance(function, MethodDescriptorType):
        if function.__objclass__ is not _OF_TENSORS or not isinstance(first, torch.Tensor):
            return None
        receiver: torch.Tensor | None = first
    elif isinstance(function, BuiltinFunctionType):
        owner = function.__self__
        if owner is builtins:  # most calls are of these
            return None
        receiver = owner if isinstance(owner, torch.Tensor) else None
        if receiver is None and not (function.__module__ or "").startswith("torch"):
            return None
    else:
        return None
    taken = receiver if isinstance(receiver, torch.Tensor) else first
    if function.__name__ not in TAKES_OFF or not isinstance(taken, torch.Tensor):
        taken = None
    return TorchCall(function.__name__, receiver, taken)
