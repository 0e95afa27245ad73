"""What the compiled reduction once got wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tb_gradgraph.summarize import StatisticsBatch
from tb_gradgraph.summarize.native import NativeReducer, NativeSnapshot
from tests.compiled import require_compiled_code
from tests.summarize.oracle import assert_equal_the_oracle
from tests.summarize.tensors import random_tensor


@pytest.fixture(autouse=True)
def reduced_by() -> None:
    """Stands in for the one that has every test run twice."""
    require_compiled_code()


def test_small_halves_are_read_where_subnormal_floats_are_flushed() -> None:
    tensor = torch.tensor([1, 2, 1023, 1024, 0x8001], dtype=torch.int32).to(torch.uint16)
    batch = StatisticsBatch(1)
    assert torch.set_flush_denormal(True)
    try:
        batch.add(0, tensor.view(torch.float16))
    finally:
        torch.set_flush_denormal(False)
    assert_equal_the_oracle(batch.finish()[0].row(0), tensor.view(torch.float16))


def test_how_far_a_weight_moved_is_not_known_once_it_lies_otherwise() -> None:
    weights = [torch.nn.Parameter(random_tensor(6, 4)) for _ in range(3)]
    snapshot = NativeSnapshot(weights, 100, 10)
    weights[1].data = weights[1].data.t().contiguous().t()
    weights[2].data = weights[2].data.clone()
    moved = snapshot.compare()[:, 1]
    assert moved[0] == moved[2] == 0 and np.isnan(moved[1])


def test_a_hook_is_made_by_a_reducer_alone() -> None:
    hook = NativeReducer(1, 1).hook(((0,),), print)
    with pytest.raises(TypeError, match="cannot create"):
        type(hook)()
