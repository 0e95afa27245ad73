"""What programs add and subtract: constants that can be told apart, and operators of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Holder(nn.Module):
    """Constants of three shapes, of which each shows which it is."""

    def __init__(self, program: Callable[[Holder, torch.Tensor], Any]) -> None:
        super().__init__()
        self.lin, self.frozen = nn.Linear(3, 3), nn.Linear(3, 3).requires_grad_(False)
        self.register_buffer("row", torch.randn(3))
        self.register_buffer("full", torch.randn(2, 3))
        self.column = torch.randn(2, 1)
        self.flag, self.program = True, program

    @property
    def changing(self) -> torch.Tensor:
        self.row, self.full = self.full, self.row
        return self.row

    def swap(self, x: torch.Tensor) -> torch.Tensor:
        self.row, self.full = self.full, self.row
        return self.lin(x)

    def forward(self, x: torch.Tensor) -> Any:
        return self.program(self, x)


class Offset:
    """Its ``+`` adds something else than what stands beside it."""

    def __init__(self, tensor: torch.Tensor, other: torch.Tensor) -> None:
        self.tensor, self.other = tensor, other

    def __add__(self, _given: object) -> torch.Tensor:
        return self.tensor + self.other

    __radd__ = __add__
    __sub__ = __add__

    def sum(self) -> torch.Tensor:
        return (self.tensor + self.other).sum()


class Shifted(torch.Tensor):
    """A subclass by which an addition adds something else."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Shifted) else a for a in args]
        if function in (torch.Tensor.add, torch.Tensor.__add__):
            return torch.add(plain[0], torch.ones(1, 3))
        return function(*plain, **(kwargs or {}))


def frozen_module(m, x):
    h = m.lin(x) + m.frozen(x)
    return h.sum() + (m.frozen(x) - m.lin(x)).sum()


def frozen_by_name(m, x):
    frozen = m.frozen
    return frozen(x) + m.lin(x)


def frozen_through_others(m, x):
    total = m.lin(x) + sum(map(m.frozen, [x, x]))
    largest = m.lin(x) + max(map(m.frozen, [x]), key=len)
    return total.sum() + (largest + functools.reduce(torch.add, map(m.frozen, [x]))).sum()


def frozen_in_function(m, x):
    def twice(y):
        return m.frozen(y) * m.column

    return m.lin(x) + twice(x)


def frozen_with_hook(m, x):
    handle = m.frozen.register_forward_hook(lambda module, given, made: made * m.column + 1)
    h = m.lin(x) + m.frozen(x)
    handle.remove()
    return h


def detached(m, x):
    y = m.lin(x)
    h = y + y.detach() - m.lin(y).detach()
    return h.sum() + (y.detach() - y).sum()
