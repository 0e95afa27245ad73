"""Compiled hooks on single slots: what they take, and which nodes refuse them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tb_gradgraph.autograd.torch_internals.tensor_hooks import CARRIERS
from tb_gradgraph.summarize import StatisticsBatch, native_grad_states
from tb_gradgraph.summarize.native import compiled
from tests.summarize.exchange_tables import reduced_by  # noqa: F401
from tests.summarize.oracle import assert_equal_the_oracle
from tests.summarize.tensors import random_tensor

#: Place of a node, slot, row.
Slots = list[tuple[int, int, int]]


def _put(
    batch: StatisticsBatch, nodes: list[Any], slots: Slots, otherwise: Any = None
) -> tuple[list[dict[int, Any]], list[int]]:
    content = np.array(slots, np.int64).tobytes()
    found = batch.hook_slots(nodes, content, CARRIERS, otherwise)
    assert found is not None
    assert all(carrier._backward_hooks is None for carrier in CARRIERS)
    return found


def test_each_slot_fills_its_row() -> None:
    parts = random_tensor(6, 4).requires_grad_().split(2)
    factors = [random_tensor(2, 4, seed=seed) for seed in (1, 2)]
    batch = StatisticsBatch(5)
    tables, refused = _put(batch, [parts[0].grad_fn], [(0, 0, 4), (0, 2, 1), (0, 1, 2)])
    assert len(tables) == 3 and refused == []
    loss = (parts[0] * factors[0]).sum() + (parts[2] * factors[1]).sum()
    loss.backward()
    table, _ = batch.finish()
    assert table.present.tolist() == [False, True, False, False, True]  # slot 1 has no gradient
    assert_equal_the_oracle(table.row(4), factors[0])
    assert_equal_the_oracle(table.row(1), factors[1])


@pytest.mark.parametrize("kept", [frozenset(), {3}])
def test_what_compiled_code_cannot_read_is_passed_on(kept: set[int]) -> None:
    seen = []
    batch = StatisticsBatch(4, kept=kept)
    dtype = torch.float32 if kept else torch.float64
    out = torch.nn.Linear(4, 3).to(dtype)(random_tensor(6, 4, dtype=dtype))
    _put(batch, [out.grad_fn], [(0, 0, 3)], lambda *given: seen.append(given))
    out.backward(torch.ones(3, 6, dtype=dtype).t() if kept else torch.ones_like(out))
    ((rows, (gradient,)),) = seen
    assert rows == ((3,),) and torch.equal(gradient, torch.ones_like(out))


def test_nodes_that_refuse_are_named() -> None:
    class Refuses:
        def _register_hook_dict(self, _carrier: Any) -> None:
            raise RuntimeError("no")

    node = random_tensor(3).requires_grad_().sin().grad_fn
    batch = StatisticsBatch(2)
    slots = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (1, 99, 0), (1, 0, 1)]
    tables, refused = _put(batch, [object(), node, Refuses()], slots)
    assert (len(tables), refused) == (2, [0, 2, 3, 4])


def test_emptied_tables_take_nothing() -> None:
    x = random_tensor(3).requires_grad_()
    loss = x.sin().sum()
    batch = StatisticsBatch(1)
    tables, _ = _put(batch, [loss.grad_fn], [(0, 0, 0)])
    for table in tables:
        table.clear()
    loss.backward()
    assert not batch.finish()[0].present.any()
    assert torch.equal(x.grad, x.detach().cos())


@pytest.mark.parametrize("given", [(), (None,), ([], b"", (), None, 1)])
def test_wrong_arguments_raise(given: tuple[Any, ...]) -> None:
    batch = StatisticsBatch(1)
    with pytest.raises(TypeError):
        compiled.hook_slots(batch._native.reducer, *given)


def test_a_hook_gets_one_gradient() -> None:
    batch = StatisticsBatch(1)
    ((table,), _) = _put(batch, [random_tensor(3).requires_grad_().sin().grad_fn], [(0, 0, 0)])
    table[0](None)  # a Function gave none
    for wrong in ((), (1, 2)):
        with pytest.raises(TypeError, match="one gradient"):
            table[0](*wrong)


def test_states_of_gradients() -> None:
    first, second, third = (torch.ones(2, requires_grad=True) for _ in range(3))
    (first * second).sum().backward()
    first.grad.add_(1)
    states = native_grad_states([first, second, third])
    assert states == [(id(first.grad), 1), (id(second.grad), 0), None]
    with torch.inference_mode():
        first.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="version"):
        native_grad_states([first])
    with pytest.raises(AttributeError):
        native_grad_states([object()])
