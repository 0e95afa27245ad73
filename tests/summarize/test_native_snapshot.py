"""How far weights moved, by compiled code: whole copies, samples, and memory that is used again."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import torch

from tb_gradgraph.summarize.native import NativeSnapshot
from tests.summarize.tensors import NAN, random_tensor

WEIGHTS = {
    "small": random_tensor(30, 7),
    "0-d": torch.tensor(2.0),
    "empty": torch.zeros(0, 4),
    "half": random_tensor(300, dtype=torch.bfloat16),
    "with gaps": random_tensor(80, 90)[:, ::3],
    "with nan": torch.tensor([1.0, NAN]),
}


@pytest.mark.parametrize("before", WEIGHTS.values(), ids=WEIGHTS)
def test_how_far_a_weight_moved(before: torch.Tensor) -> None:
    weight = before.clone()
    snapshot = NativeSnapshot()
    snapshot.read([weight], 10_000, 100)
    weight.add_(random_tensor(*before.shape, seed=5).to(weight.dtype) * 0.25)
    ((norm, moved),) = snapshot.compare()
    move = weight.double() - before.double()
    assert norm == pytest.approx(before.double().norm().item(), rel=1e-12, nan_ok=True)
    assert moved == pytest.approx(move.norm().item(), rel=1e-12, nan_ok=True)


def test_how_far_a_large_weight_moved_is_estimated_from_all_its_columns() -> None:
    weight = random_tensor(1000, 64)
    before = weight.clone()
    snapshot = NativeSnapshot()
    snapshot.read([weight], 20_000, 4000)  # each 16th: always the same four columns
    weight[:, ::16] += 1
    ((norm, moved),) = snapshot.compare()
    assert norm == pytest.approx(before.double().norm().item(), rel=1e-12)
    assert moved == pytest.approx((4 * 1000) ** 0.5, rel=0.05)


def test_a_weight_that_is_another_by_now_has_not_moved_by_any_number() -> None:
    weight = torch.nn.Parameter(random_tensor(5))
    snapshot = NativeSnapshot()
    left = snapshot.read([weight, random_tensor(3, dtype=torch.float64)], 100, 10)
    weight.data = random_tensor(6)
    assert left == [1]
    assert np.isnan(snapshot.compare()).tolist() == [[False, True], [True, True]]


def test_memory_of_copies_is_used_again_for_other_tensors() -> None:
    snapshot = NativeSnapshot()
    for count in (5, 300_000, 7, 40_000):
        weights = [random_tensor(count, seed=seed) for seed in range(3)]
        norms = [weight.double().norm().item() for weight in weights]
        assert snapshot.read(weights, 10_000_000, 100, 4 * sum(map(len, weights))) == []
        for weight in weights:
            weight.mul_(3)
        found = snapshot.compare()
        assert found[:, 0] == pytest.approx(norms, rel=1e-12)
        assert found[:, 1] == pytest.approx([2 * norm for norm in norms], rel=1e-6)
    assert snapshot.compare().shape == (0, 2)


def test_a_comparison_lets_go_of_the_tensors() -> None:
    snapshot, weight = NativeSnapshot(), random_tensor(5)
    alive = weakref.ref(weight)
    snapshot.read([weight], 100, 10)
    snapshot.read([weight], 100, 10)  # the first ones are let go by a second reading, too
    snapshot.compare()
    del weight
    assert alive() is None
