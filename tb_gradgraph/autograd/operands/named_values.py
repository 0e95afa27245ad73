"""Look up the values of names in a line, without running the user's code."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from tb_gradgraph.autograd.bytecode.stack_values import Value
from tb_gradgraph.autograd.user_code.module_attributes import attribute_of

PLAIN = (torch.Tensor, torch.nn.Parameter, getattr(torch.nn, "Buffer", torch.Tensor))
_MODULE_FILE = torch_module.__file__
_MODULE_CALLS = ("inner", "_call_impl", "_wrapped_call_impl")


def plain_without_gradient(value: Any) -> torch.Tensor | None:
    """Return ``value`` if it is a plain tensor of torch that needs no gradient."""
    return value if type(value) in PLAIN and not value.requires_grad else None


def value_of(operand: Value, variables: Mapping[str, Any]) -> Any:
    """Return the value of a variable, or of its attribute; ``None`` if that would run code."""
    if operand.kind in ("variable", "cell"):
        return variables.get(operand.name)
    owner = operand.parts[0]
    return None if owner is None else attribute_of(value_of(owner, variables), operand.name)


def called_by(call: Value, variables: Mapping[str, Any]) -> Any:
    """Return the callee of a call, if it is known and no code has to run to get it."""
    owner = None if call.parts[0] is None else value_of(call.parts[0], variables)
    return attribute_of(owner, call.name) if call.name else owner


def direct_caller(frame: FrameType | None) -> FrameType | None:
    """Return the frame that itself called the module whose call ``frame`` is within."""
    inside = False
    while frame is not None:
        code = frame.f_code
        is_call = code.co_name in _MODULE_CALLS and code.co_filename == _MODULE_FILE
        if inside and not is_call:
            return frame
        inside = inside or is_call
        frame = frame.f_back
    return None
