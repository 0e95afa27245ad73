"""Every statistic of every kind of tensor, against the slow oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tb_gradgraph.statistics import HISTOGRAM_SAMPLE
from tb_gradgraph.summarize import StatisticsBatch
from tb_gradgraph.summarize.arithmetic.end_to_end import whole_arrays
from tb_gradgraph.summarize.batch import SMALL
from tests.summarize.oracle import assert_equal_the_oracle, histogram_of
from tests.summarize.tensors import NAN, TENSORS, random_tensor, sparse_tensor


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
def test_statistics_equal_the_oracle(tensor: torch.Tensor) -> None:
    batch = StatisticsBatch(3)
    batch.add(1, tensor)
    table, _ = batch.finish()
    assert_equal_the_oracle(table.row(1), tensor)
    assert table.row(0) is None and table.row(2) is None


def test_all_at_once_give_the_same_as_one_by_one() -> None:
    together = StatisticsBatch(len(TENSORS))
    for row, tensor in enumerate(TENSORS.values()):
        together.add(row, tensor)
    table, _ = together.finish()
    for row, tensor in enumerate(TENSORS.values()):
        alone = StatisticsBatch(1)
        alone.add(0, tensor)
        expected, _ = alone.finish()
        np.testing.assert_allclose(table.values[row], expected.values[0], rtol=1e-12)
        np.testing.assert_array_equal(table.histogram[row], expected.histogram[0])


@pytest.mark.parametrize("count", [0, 1, 100, SMALL, SMALL + 1, 3 * HISTOGRAM_SAMPLE + 5])
def test_histogram_counts_a_strided_sample(count: int) -> None:
    scales = torch.logspace(-20, 20, max(count, 1), dtype=torch.float64)[:count]
    tensor = random_tensor(count, dtype=torch.float64) * scales
    batch = StatisticsBatch(1)
    batch.add(0, tensor)
    stride = max(1, math.ceil(count / HISTOGRAM_SAMPLE))
    expected = histogram_of(tensor[::stride].tolist())
    assert batch.finish()[0].histogram[0].tolist() == expected
    assert sum(expected) <= HISTOGRAM_SAMPLE


def test_a_row_added_again_replaces_the_first() -> None:
    batch = StatisticsBatch(1)
    batch.add(0, torch.ones(3))
    batch.add(0, torch.full((2,), 5.0))
    row = batch.finish()[0].row(0)
    assert row is not None and (row.numel, row.mean) == (2, 5.0)


def test_a_tensor_changed_after_it_was_added_counts_as_it_was() -> None:
    tensor = torch.ones(4)
    batch = StatisticsBatch(1)
    batch.add(0, tensor)
    tensor.zero_()
    row = batch.finish()[0].row(0)
    assert row is not None and row.l2_norm == 2.0


def test_no_gradient_and_zero_gradient_differ() -> None:
    batch = StatisticsBatch(2)
    batch.add(0, torch.zeros(3))
    table, _ = batch.finish()
    assert table.row(0) is not None and table.row(0).l2_norm == 0.0
    assert table.row(1) is None


@pytest.mark.parametrize(
    ("tensor", "dtype"),
    [
        (torch.tensor([1.5, NAN], dtype=torch.float16), np.float32),
        (torch.tensor([1.5], dtype=torch.bfloat16), np.float32),
        (torch.tensor([0.1]), np.float32),
        (torch.tensor([0.1], dtype=torch.float64), np.float64),
        (torch.tensor([1 + 2j]), np.complex64),
        (torch.tensor([3], dtype=torch.int64), np.float64),
        (sparse_tensor([[1]], [2.0], (3,)), np.float32),
        (torch.tensor([1 + 2j]).conj(), np.complex64),
    ],
)
def test_whole_tensors_are_kept_exactly(tensor: torch.Tensor, dtype: type) -> None:
    array = whole_arrays({0: tensor})[0]
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, np.array(tensor.to_dense().tolist(), dtype))


def test_the_users_default_device_and_type_are_not_ours() -> None:
    tensor = random_tensor(5000)
    expected = StatisticsBatch(1)
    expected.add(0, tensor)
    batch = StatisticsBatch(1)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):
            batch.add(0, tensor)
            table, _ = batch.finish()
    finally:
        torch.set_default_dtype(torch.float32)
    np.testing.assert_array_equal(table.values, expected.finish()[0].values)
