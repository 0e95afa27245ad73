"""Tensors among the variables of the frame in which a backward is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.engine import small_copy
from tb_gradgraph.autograd.forward import KnownTensor
from tb_gradgraph.autograd.frames import variables_of
from tb_gradgraph.autograd.origins import SlotKey


def variables_without_history(
    frame: FrameType | None, owned: Mapping[int, KnownTensor]
) -> dict[int, KnownTensor]:
    """Name the tensors without history that ``frame`` holds, by ``id``."""
    return {
        id(value): KnownTensor("leaf" if value.requires_grad else "input", (name,))
        for name, value in reversed(variables_of(frame).items())
        if isinstance(value, torch.Tensor)
        and not name.startswith("_")
        and value.grad_fn is None
        and id(value) not in owned
    }


def variables_with_history(
    frame: FrameType | None, number_of: Callable[[AutogradNode], int]
) -> tuple[dict[SlotKey, str], dict[SlotKey, torch.Tensor]]:
    """Name the slots whose tensor ``frame`` holds; copy those that are small."""
    names: dict[SlotKey, str] = {}
    values: dict[SlotKey, torch.Tensor] = {}
    for name, value in reversed(variables_of(frame).items()):
        if not isinstance(value, torch.Tensor) or value.grad_fn is None or name.startswith("_"):
            continue
        key = (number_of(value.grad_fn), value.output_nr)
        if key[0] >= 0:
            names[key] = name
            if (copy := small_copy(value)) is not None:
                values[key] = copy
    return names, values
