"""Programs that call functions of torch, some so that a naive reading would tell a wrong operand."""

# ruff: noqa: RET504, E702  how lines are written is what is tested

from __future__ import annotations

import math
from typing import Any

import torch
from torch.nn import functional

from tests.training.seen.adding_modules import Offset


class Scaled(torch.autograd.Function):
    """A Function of any number of tensors."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, *factors: torch.Tensor) -> torch.Tensor:
        for factor in factors:
            x = x * factor
        factors = ()
        return x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient, None, None


class Twice(Scaled):
    """Hands its arguments on to another Function's forward, which is not called as one."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, *factors: torch.Tensor) -> torch.Tensor:
        return Scaled.forward(ctx, x, factors[0], factors[0])


class Number(torch.Tensor):
    """A subclass whose functions give numbers."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Number) else a for a in args]
        result = function(*plain, **(kwargs or {}))
        return 2.0 if function in (torch.Tensor.sum, torch.Tensor.exp) else result


class Numbers(torch.overrides.TorchFunctionMode):
    """A mode in which functions give numbers."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None):
        return 2.0 if function is torch.ones else function(*args, **(kwargs or {}))


class Fake:
    """Has functions called as torch's are."""

    @staticmethod
    def eye(size: int) -> float:
        return float(size)


def function_beside(m, x):
    h = m.lin(x) + torch.ones(3) - torch.zeros(2, 1)
    return h


def method_beside(m, x):
    c = m.row
    h = m.lin(x) + c.exp() + x.sum()
    return h


def functions_of_both(m, x):
    y, c = m.lin(x), m.column
    h = torch.add(y, c) * 2
    g = y.sub(other=c, alpha=2).add(m.row)
    return h * g


def in_a_list(m, x):
    y, c = m.lin(x), m.full
    h = torch.cat([y, c, y])
    return torch.stack((h, h)).sum()


def chosen(m, x):
    y, c, mask = m.lin(x), m.full, x > 0
    return torch.where(mask, y, c)


def written_to(m, x):
    y = m.lin(x)
    out = torch.zeros(2, 3)
    out.copy_(y)
    c = m.full.clone()
    c.add_(y)
    return out * c


def indexed(m, x):
    y, index = m.lin(x).clone(), torch.tensor([1, 0])
    y.index_add_(0, index, x)
    return y


def given_to_a_module(m, x):
    return m.lin(x + m.lin(x))


def reflected(m, x):
    c = m.full
    h = 2 * (c + m.lin(x)) + (m.lin(x) - c) ** 2
    return h


def a_function(m, x):
    factor = m.column
    h = Scaled.apply(m.lin(x), factor, m.row)
    return h * Twice.apply(m.lin(x), factor)


def attention(m, x):
    q, mask = m.lin(x)[None, None], torch.randn(2, 2)
    return functional.scaled_dot_product_attention(q, q, q, mask, dropout_p=0.5)


def attention_of_booleans(m, x):
    q, mask = m.lin(x)[None, None], torch.ones(2, 2) > 0
    return functional.scaled_dot_product_attention(q, q, q, attn_mask=mask, dropout_p=0.5)


def numbers(m, x):
    y, c = m.lin(x), m.column
    h = y + x.size(0) + x.dim() + len(x)
    g = y + c.sum().item() - torch.numel(x) + math.log(2)
    return h * g


def shadowed(m, x):
    torch = Fake()

    def log(value: object) -> float:
        return 2.0

    h = m.lin(x) + torch.eye(3) + log(x)
    return h


def shadowed_method(m, x):
    given = Offset(m.row, m.column)
    h = m.lin(x) + given.sum()
    return h


def branched(m, x):
    y, c, d = m.lin(x), m.full, m.column
    h = torch.add(y, c if m.flag else d)
    g = torch.add(c if not m.flag else y, y)
    return h * g


def several_results(m, x):
    c = m.full
    h = m.lin(x) + torch.max(c, 1)[0][:, None] + torch.max(c, 0).values
    return h


def a_subclass_with_numbers(m, x):
    odd = m.row.as_subclass(Number)
    h = m.lin(x) + odd.sum() - odd.exp()
    return h


def a_mode_with_numbers(m, x):
    y = m.lin(x)
    with Numbers():
        y = y + torch.ones(3)
    return y


def rebound_between(m, x):
    y, c = m.lin(x), m.full
    h = torch.add(c, y, alpha=len(c := m.row))
    return h * (y + c)


def swapped_between(m, x):
    h = torch.add(m.row, m.swap(x))
    return h


def swapped_by_property(m, x):
    h = torch.add(m.lin(x), m.changing)
    g = torch.sub(m.row, m.changing)
    return h * g


def within_a_callback(m, x):
    y = m.lin(x)
    odd = Offset(y, m.full)
    parts = list(map(odd.__add__, (m.row, m.column)))
    return sum(part.sum() for part in parts)


def caught_with_names(m, x):
    y, c, d = m.lin(x), m.row, torch.ones(7)
    try:
        y = y + c; y = y + d  # fmt: skip
    except RuntimeError:
        pass
    return y


def caught_in_a_call(m, x):
    y, c, d = m.lin(x), m.row, torch.ones(7)
    try:
        y.add(d)
    except RuntimeError:
        y = y.add(c)
    return y


def not_by_apply(m, x):
    c = m.column
    y = m.lin(x)
    with torch.no_grad():
        d = Scaled.forward(None, y, c)
    return y * d


def packed_by_a_function(m, x):
    given = (m.lin(x), m.full)
    h = torch.add(*given)
    return h * torch.add(*given, alpha=2)


def deleted(m, x):
    y, c = m.lin(x), m.full
    h = torch.add(y, c)
    del c
    return h


def over_a_loop(m, x):
    y, total = m.lin(x), torch.zeros(2, 3)
    for c in (m.row, m.column, m.full):
        total = torch.add(total, torch.sub(y, c))
    return total


PROGRAMS = [
    function_beside, method_beside, functions_of_both, in_a_list, chosen, written_to, indexed,
    given_to_a_module, reflected, a_function, attention, attention_of_booleans, numbers, shadowed,
    shadowed_method, branched, several_results, a_subclass_with_numbers, a_mode_with_numbers,
    rebound_between, swapped_between, swapped_by_property, within_a_callback, caught_with_names,
    caught_in_a_call, not_by_apply, packed_by_a_function, deleted, over_a_loop,
]  # fmt: skip
#: Of these all is known.
WHOLLY = [
    function_beside, method_beside, functions_of_both, in_a_list, chosen, written_to, indexed,
    given_to_a_module, reflected, a_function, attention, caught_in_a_call, deleted, over_a_loop,
]  # fmt: skip
#: What is added here is no tensor, or cannot be known: nothing feeds an operation but the input.
NOTHING = [
    numbers, shadowed, branched, several_results, a_subclass_with_numbers, a_mode_with_numbers,
    swapped_between, packed_by_a_function,
]  # fmt: skip
