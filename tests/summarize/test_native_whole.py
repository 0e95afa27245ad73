"""Small tensors that compiled code keeps whole."""

from __future__ import annotations

import numpy as np
import torch

from tb_gradgraph.summarize import StatisticsBatch
from tests.summarize.exchange_tables import reduced_by  # noqa: F401
from tests.summarize.oracle import assert_equal_the_oracle
from tests.summarize.tensors import INF, NAN, random_tensor

WHOLE = {
    "0-d": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
    "two dimensions, one of length one": random_tensor(3, 1, 2),
    "nan and infinities": torch.tensor([NAN, INF, -INF, 0.0]),
    "float16": torch.tensor([1.5, NAN, -65504.0], dtype=torch.float16),
    "bfloat16": torch.tensor([[1.5, -3e38], [INF, 0.0]], dtype=torch.bfloat16),
    "every other": random_tensor(32)[::2],
    "as many as there may be": random_tensor(4, 4),
}
NOT_WHOLE = {
    "one more": random_tensor(17),
    "columns first": random_tensor(2, 3).t(),
    "repeated": torch.ones(1).expand(5),
}


def test_small_tensors_are_kept_whole() -> None:
    tensors = [*WHOLE.values(), *NOT_WHOLE.values(), random_tensor(2)]
    batch = StatisticsBatch(len(tensors), 1, kept=range(len(tensors) - 1))
    left = batch.add_plain(range(len(tensors)), tensors)
    assert left == [len(WHOLE) + place for place in range(len(NOT_WHOLE))]
    table, whole = batch.finish()
    assert list(whole) == list(range(len(WHOLE)))
    for row, tensor in enumerate(WHOLE.values()):
        np.testing.assert_array_equal(whole[row], tensor.float().numpy())
        assert_equal_the_oracle(table.row(row), tensor)


def test_small_tensors_that_are_added_again_are_the_later_ones() -> None:
    batch = StatisticsBatch(2, kept={0, 1})
    batch.add_plain([0, 1, 0], [torch.zeros(2), torch.ones(3), torch.tensor([4.0])])
    batch.add(1, torch.full((20,), 5.0), keep=True)
    assert {row: found.tolist() for row, found in batch.finish()[1].items()} == {
        0: [4.0],
        1: [5.0] * 20,
    }


def test_a_hook_takes_in_what_its_node_sends() -> None:
    batch = StatisticsBatch(2, kept={1})
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.tensor([3.0, 5.0], requires_grad=True)
    out = w * x
    out.grad_fn.register_hook(batch.make_hook(((0,), (1,)), None))
    out.backward(torch.ones(2))
    table, whole = batch.finish()
    assert_equal_the_oracle(table.row(0), x.detach())
    assert {row: sent.tolist() for row, sent in whole.items()} == {1: [1.0, 2.0]}
