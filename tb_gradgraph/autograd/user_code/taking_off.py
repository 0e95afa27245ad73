"""Recognize calls of tensor methods whose result needs no gradient."""

from __future__ import annotations

from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any

import torch

#: Their names.
TAKES_OFF = frozenset({"detach", "detach_", "argmax", "argmin"})


def taken_off(function: Any, first: Any) -> torch.Tensor | None:
    """Return the tensor with gradient that a call is about to detach; ``None`` if it is no such call.

    Args:
        function: The callee: a method written in C, bound or not, or a function of torch.
        first: Its first argument, if that is known.
    """
    if not isinstance(function, (BuiltinFunctionType, MethodDescriptorType)):
        return None
    if function.__name__ not in TAKES_OFF:
        return None
    given = function.__self__ if isinstance(function, BuiltinFunctionType) else first
    given = given if isinstance(given, torch.Tensor) else first
    return given if isinstance(given, torch.Tensor) else None
