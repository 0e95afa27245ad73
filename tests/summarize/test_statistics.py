"""Every statistic of every kind of tensor, against the slow oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tb_gradgraph.statistics import (
    HISTOGRAM_BINS,
    HISTOGRAM_LOW,
    HISTOGRAM_SAMPLE,
    HISTOGRAM_WIDTH,
    STATISTICS,
)
from tb_gradgraph.summarize import StatisticsBatch
from tb_gradgraph.summarize.accelerator import large_on_device, segments_on_device
from tb_gradgraph.summarize.batch import SMALL
from tb_gradgraph.summarize.large import large_on_host, moments_of_blocks
from tb_gradgraph.summarize.whole import whole_array
from tests.oracle import statistics_of

NAN, INF = math.nan, math.inf


def _random(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)


def _sprinkled(count: int) -> torch.Tensor:
    """Make a tensor in which NaN, both infinities and zero stand among numbers."""
    values = _random(count)
    values[::7], values[1::11], values[2::13], values[3::5] = NAN, INF, -INF, 0.0
    return values


def _sparse(indices: object, values: object, shape: tuple[int, ...]) -> torch.Tensor:
    places = torch.as_tensor(indices, dtype=torch.int64)
    numbers = torch.as_tensor(values)
    return torch.sparse_coo_tensor(places, numbers, shape, check_invariants=True)


TENSORS = {
    "0-d": torch.tensor(-3.5),
    "one element": torch.tensor([2.0]),
    "empty": torch.zeros(0, 3),
    "zeros": torch.zeros(5),
    "ones": torch.ones(3, 4),
    "random": _random(7, 5),
    "at the limit of small": _random(SMALL),
    "large": _random(100, 97),
    "large with a great mean": _random(9000, dtype=torch.float64) * 1e-6 + 1e4,
    "very large": _random(300, 301),
    "very large with some mean": _random(70_001) + 2,
    "very large, permuted": _random(30, 50, 60).permute(2, 0, 1),
    "very large bfloat16": _random(70_000, dtype=torch.bfloat16),
    "very large, out of float32's squares": _random(70_000) * 1e25,
    "strided": _random(200, 100)[:, ::2],
    "expanded in one dimension": _random(3, 1).expand(3, 4000),
    "large transposed": _random(90, 110).t(),
    "large expanded": torch.tensor([0.25]).expand(9000),
    "all nan": torch.full((4,), NAN),
    "large, all nan": torch.full((5000,), NAN),
    "nan, inf and numbers": torch.tensor([NAN, INF, -INF, 1.0, -2.0, 0.0]),
    "large with nan and inf": _sprinkled(6000),
    "only infinities": torch.tensor([INF, -INF]),
    "one finite": torch.tensor([NAN, 5.0, INF]),
    "float16": torch.tensor([60000.0, 60000.0, -300.0], dtype=torch.float16),
    "float16 large": (_random(5000) * 300).to(torch.float16),
    "bfloat16": _random(33, dtype=torch.bfloat16),
    "bfloat16 large": _random(5001, dtype=torch.bfloat16),
    "float64 huge": torch.tensor([1e200, -3e200, 2e180], dtype=torch.float64),
    "float64 huge, large": _random(5000, dtype=torch.float64) * 1e200,
    "float64 tiny": torch.tensor([1e-200, -3e-200], dtype=torch.float64),
    "float64 tiny, large": _random(5000, dtype=torch.float64) * 1e-200,
    "float32 near its end": torch.tensor([3e38, -3e38, 1e38]),
    "denormal": torch.tensor([1e-45, -2e-45]),
    "complex": torch.complex(_random(6), _random(6, seed=1)),
    "complex with nan": torch.tensor([complex(NAN, 1), complex(3, 4), complex(0, INF)]),
    "complex large": torch.complex(_random(5000), _random(5000, seed=1)),
    "sparse": _sparse([[0, 2, 2]], [1.0, -2.0, 5.0], (4,)),
    "sparse rows": _sparse([[1, 3]], _random(2, 3), (6, 3)),
    "sparse, nothing stored": _sparse(torch.zeros(1, 0), torch.zeros(0), (4,)),
    "sparse with nan": _sparse([[0, 1]], [NAN, -1.0], (3,)),
    "sparse large": _sparse([list(range(100))], _random(100, 60), (1000, 60)),
}  # fmt: skip


def _close(got: float | None, expected: float | int | None) -> bool:
    if got is None or expected is None:
        return got is None and expected is None
    return math.isclose(got, expected, rel_tol=2e-6, abs_tol=1e-300)


@pytest.mark.parametrize("tensor", TENSORS.values(), ids=TENSORS)
def test_statistics_equal_the_oracle(tensor: torch.Tensor) -> None:
    batch = StatisticsBatch(3)
    batch.add(1, tensor)
    table, _ = batch.finish()
    found, expected = table.row(1), statistics_of(tensor)
    assert found is not None
    wrong = {
        name: (getattr(found, name), expected.get(name))
        for name in STATISTICS
        if not _close(getattr(found, name), expected.get(name))
    }
    # A mean near zero is a difference of great numbers: exact to the numbers' own precision.
    if "mean" in wrong and found.abs_max and expected["mean"] is not None:
        if abs(found.mean - expected["mean"]) < 1e-7 * found.abs_max:
            del wrong["mean"]
    assert not wrong
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


@pytest.mark.parametrize("name", [name for name, t in TENSORS.items() if t.numel() > SMALL])
def test_path_that_never_waits_for_a_device_agrees(name: str) -> None:
    tensor = TENSORS[name].coalesce().values() if TENSORS[name].is_sparse else TENSORS[name]
    flat = tensor.reshape(-1)
    on_host = torch.from_numpy(moments_of_blocks([large_on_host(flat)])[0])
    segment = torch.zeros(len(flat), dtype=torch.int64)
    for on_device in (large_on_device(flat), segments_on_device(flat, segment, 1)):
        torch.testing.assert_close(on_host, on_device[0], rtol=1e-6, atol=1e-6)


def _histogram_of(values: list[float]) -> list[int]:
    counts = [0] * HISTOGRAM_BINS
    for value in values:
        if math.isfinite(value) and value != 0:
            exponent = math.frexp(value)[1] - 1
            place = (exponent - HISTOGRAM_LOW) // HISTOGRAM_WIDTH
            counts[min(max(place, 0), HISTOGRAM_BINS - 1)] += 1
    return counts


@pytest.mark.parametrize("count", [0, 1, 100, SMALL, SMALL + 1, 3 * HISTOGRAM_SAMPLE + 5])
def test_histogram_counts_a_strided_sample(count: int) -> None:
    scales = torch.logspace(-20, 20, max(count, 1), dtype=torch.float64)[:count]
    tensor = _random(count, dtype=torch.float64) * scales
    batch = StatisticsBatch(1)
    batch.add(0, tensor)
    stride = max(1, math.ceil(count / HISTOGRAM_SAMPLE))
    expected = _histogram_of(tensor[::stride].tolist())
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
        (_sparse([[1]], [2.0], (3,)), np.float32),
        (torch.tensor([1 + 2j]).conj(), np.complex64),
    ],
)
def test_whole_tensors_are_kept_exactly(tensor: torch.Tensor, dtype: type) -> None:
    array = whole_array(tensor)
    assert array.dtype == dtype
    np.testing.assert_array_equal(array, np.array(tensor.to_dense().tolist(), dtype))


def test_the_users_default_device_and_type_are_not_ours() -> None:
    tensor = _random(5000)
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
