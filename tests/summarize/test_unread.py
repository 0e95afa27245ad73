"""Gradients of types that torch stores but does not compute in cost themselves alone."""

from __future__ import annotations

import warnings

import pytest
import torch

from tb_gradgraph.summarize import StatisticsBatch, norms
from tb_gradgraph.summarize.arithmetic.end_to_end import whole_arrays
from tests.summarize.oracle import assert_equal_the_oracle
from tests.summarize.tensors import random_tensor


def _bits(count: int) -> torch.Tensor:
    return torch.zeros(count, dtype=torch.uint8).view(torch.bits8)


@pytest.mark.parametrize("at_once", [False, True], ids=["one by one", "at once"])
@pytest.mark.parametrize("count", [5, 5000])
def test_an_unreadable_one_is_said_to_be_so(at_once: bool, count: int) -> None:
    bits = [_bits(count), _bits(count)]
    tensors = [random_tensor(4), bits[0], random_tensor(70_000), bits[1], random_tensor(300)]
    batch = StatisticsBatch(6)
    with torch.no_grad():
        if at_once:
            batch.add_many(list(range(5)), tensors, keep=count == 5)
        else:
            for row, tensor in enumerate(tensors):
                batch.add(row, tensor, keep=count == 5)
    pending = batch.reduce()
    table, whole = pending.collect()
    assert table.present.tolist() == [True, False, True, False, True, False]
    for row in (0, 2, 4):
        assert_equal_the_oracle(table.row(row), tensors[row])
    assert list(pending.unread) == [1, 3] and "Bits8" in pending.unread[1]
    assert list(whole) == ([0, 2, 4] if count == 5 else [])


def test_a_quantized_one_counts_as_what_it_stands_for() -> None:
    with warnings.catch_warnings():  # deprecated
        warnings.simplefilter("ignore")
        tensor = torch.quantize_per_tensor(random_tensor(5000), 0.1, 0, torch.qint8)
    found = StatisticsBatch(1)
    found.add(0, tensor, keep=True)
    table, whole = found.finish()
    assert_equal_the_oracle(table.row(0), tensor.dequantize())
    assert whole[0].tolist() == tensor.dequantize().tolist()


def test_values_and_norms_of_an_unreadable_one_are_missing() -> None:
    tensors = {3: torch.ones(2), 7: _bits(4)}
    assert {row: array.tolist() for row, array in whole_arrays(tensors).items()} == {3: [1.0, 1.0]}
    assert whole_arrays({7: _bits(4)}) == {}
    assert norms([_bits(4), torch.ones(4)]).tolist() == pytest.approx(
        [float("nan"), 2.0], nan_ok=True
    )
    assert norms([_bits(4)]).isnan().all()
