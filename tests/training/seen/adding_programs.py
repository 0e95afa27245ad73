"""Programs by which a naive reading of their lines would tell a wrong operand."""

# ruff: noqa: RET504, E702  how lines are written is what is tested

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from tests.training.seen.adding_modules import (
    Offset,
    Shifted,
    detached,
    frozen_by_name,
    frozen_in_function,
    frozen_module,
    frozen_through_others,
    frozen_with_hook,
)


def buffer(m, x):
    h = m.lin(x) + m.row
    return h


def two_additions(m, x):
    y = m.lin(x)
    h = (y + y) + m.row
    g = y - m.full
    return h * g


def nested(m, x):
    h = ((m.lin(x) + m.row) * 2 - m.full) / 3 + m.column
    return h


def over_lines(m, x):
    return (
        m.lin(x)
        + m.row
        - m.full
    )  # fmt: skip


def conditional(m, x):
    h = m.lin(x) + (m.row if m.flag else m.full)
    return h


def conditional_whole(m, x):
    h = m.lin(x) + m.row if not m.flag else m.lin(x) - m.full
    return h


def boolean(m, x):
    flag = not m.flag
    h = (flag and m.lin(x) + m.row) or m.lin(x) + m.full
    return h


def loop_on_one_line(m, x):
    y = m.lin(x)
    for c in (m.row, m.full):
        y = y + c  # noqa: E701
    return y


def loop(m, x):
    for c in (m.row, m.full, m.column):
        x = m.lin(x) + c
    return x


def rebound_in_loop(m, x):
    c = m.row
    for _ in range(2):
        x, c = m.lin(x) + c, m.full
    return x


def comprehension(m, x):
    y = m.lin(x)
    return sum([y + c for c in (m.row, m.full)])


def generator(m, x):
    def parts() -> Iterator[torch.Tensor]:
        y = m.lin(x)
        c = m.row
        yield y + c
        c = m.full
        yield y - c

    return sum(part.sum() for part in parts())


def thrown_into(m, x):
    def parts() -> Iterator[torch.Tensor]:
        y = m.lin(x)
        with contextlib.suppress(KeyError):
            yield y + m.row
        yield y + m.full

    given = parts()
    return next(given).sum() + given.throw(KeyError()).sum()


def walrus(m, x):
    y = m.lin(x)
    c = m.row
    h = y + c + (c := m.full)
    return h.sum() + (y - c).sum()


def rebound(m, x):
    x = x + m.lin(x)
    return x


def rebound_twice(m, x):
    y = m.lin(x); c = m.row; y = y + c; c = m.full; y = y - c  # fmt: skip
    return y


def in_place(m, x):
    y = m.lin(x)
    y += m.row
    y -= m.full
    return y


def in_place_on_constant(m, x):
    c = m.full.clone()
    c += m.lin(x)
    return c


def written_after(m, x):
    def write(y):
        y.add_(m.column)

    y = m.lin(x) + m.row; write(y)  # fmt: skip
    return y


def swapped_before(m, x):
    h = m.swap(x) + m.row
    return h


def swapped_after(m, x):
    h = (m.row + m.lin(x)) + m.swap(x)
    return h


def swapped_around(m, x):
    h = m.swap(x) + m.row + m.swap(x)
    return h


def a_property(m, x):
    h = m.lin(x) + m.changing + m.row
    return h


def overloaded(m, x):
    y = m.lin(x)
    h = Offset(y, m.full) + m.row
    g = m.row + Offset(y, m.column)
    return (h * g).sum() + (Offset(y, m.full) - m.column).sum()


def overloaded_method(m, x):
    total = Offset(m.lin(x), m.full).sum() + m.row
    return total


def a_subclass(m, x):
    odd = m.row.as_subclass(Shifted)
    h = m.lin(x) + odd
    return h


def function_mode(m, x):
    class Other(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function in (torch.Tensor.add, torch.Tensor.__add__):
                return torch.add(args[0], torch.ones(1, 3))
            return function(*args, **(kwargs or {}))

    y = m.lin(x)
    with Other():
        y = y + m.row
    return y


def closure(m, x):
    c = m.row

    def change(y):
        nonlocal c
        c = m.full
        return y

    y = m.lin(x)
    h = change(y) + c
    return h - c


def closure_changed_after(m, x):
    c = m.row

    def change(y):
        nonlocal c
        c = m.full
        return y

    y = m.lin(x)
    h = (c + y) * change(y)
    return h


def numbers_and_tensors(m, x):
    y = m.lin(x)
    i = 2
    h = (i + 1) + (y + m.row)
    g = 1 - (m.full + y) + i
    return h * g


def caught(m, x):
    y = m.lin(x)
    try:
        y = y + m.row; y = y + torch.ones(7)  # fmt: skip
    except RuntimeError:
        pass
    return y


def suppressed_on_one_line(m, x):
    y = m.lin(x)
    with contextlib.suppress(RuntimeError): y = y + m.row; y = y + torch.ones(7)  # noqa: E701  # fmt: skip
    return y


def made_to_require(m, x):
    y = m.lin(x)
    c = m.row.clone()
    h = y + c; c.requires_grad_()  # fmt: skip
    return h.sum() + (y - c).sum()


def parameter_left_out(m, x):
    h = m.lin(x) + m.frozen.bias
    return h


def chained_comparison(m, x):
    y = m.lin(x)
    h = y + (m.row if 0 < x.shape[0] < 3 else m.column) + m.full
    return h


def unpacked(m, x):
    y, c = m.lin(x), m.row
    y, c = y + c, m.full
    return y - c


def matrix(m, x):
    h = (m.lin(x) @ m.frozen.weight + m.row).tanh().sum() + m.full
    return h


PROGRAMS = [
    buffer, two_additions, nested, over_lines, conditional, conditional_whole, boolean,
    loop_on_one_line, loop, rebound_in_loop, comprehension, generator, thrown_into, walrus,
    rebound, rebound_twice, in_place, in_place_on_constant, written_after, swapped_before,
    swapped_after, swapped_around, a_property, overloaded, overloaded_method, a_subclass,
    function_mode, closure, closure_changed_after, frozen_module, frozen_by_name,
    frozen_through_others, frozen_in_function, frozen_with_hook, detached, numbers_and_tensors,
    caught, suppressed_on_one_line, made_to_require, parameter_left_out, chained_comparison,
    unpacked, matrix,
]  # fmt: skip
#: Of these all is known.
WHOLLY = [
    buffer, two_additions, nested, over_lines, loop, rebound, in_place, swapped_before,
    closure_changed_after, frozen_module, frozen_by_name, detached,
    parameter_left_out,
]  # fmt: skip
