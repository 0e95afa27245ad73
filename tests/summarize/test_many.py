"""Many tensors at once: added, divided, sampled, replaced, kept."""

from __future__ import annotations

import concurrent.futures
import functools
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from tb_gradgraph.statistics import HISTOGRAM_SAMPLE, STATISTICS, StatisticsTable
from tb_gradgraph.summarize import StatisticsBatch, norms
from tb_gradgraph.summarize.arithmetic.large import BLOCK
from tests.summarize.oracle import assert_equal_the_oracle, histogram_of
from tests.summarize.tensors import INF, LARGE, NAN, TENSORS, random_tensor


def _table_of(tensors: list[torch.Tensor], **arguments: int) -> StatisticsTable:
    batch = StatisticsBatch(len(tensors), **arguments)
    batch.add_many(range(len(tensors)), tensors)
    return batch.reduce().collect()[0]


def test_many_at_once_give_the_same_as_one_by_one() -> None:
    tensors = list(TENSORS.values())
    batch = StatisticsBatch(len(tensors))
    for row, tensor in enumerate(tensors):
        batch.add(row, tensor)
    expected, _ = batch.finish()
    found = _table_of(tensors)
    np.testing.assert_allclose(found.values, expected.values, rtol=5e-6)  # of float32 sums
    repeats = [row for row, tensor in enumerate(tensors) if 0 in tensor.stride()]
    found.histogram[repeats] = expected.histogram[repeats]  # which may sample each element once
    np.testing.assert_array_equal(found.histogram, expected.histogram)
    assert found.present.all()


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 5), (8,), ()] * 50,  # stacked by shape
        [(nr,) for nr in range(80)],  # all of other sizes, one empty
        [(4096,)] * 40 + [(7, 11)] * 40,  # more than is summed at a time
    ],
)
def test_small_tensors_of_all_shapes(shapes: list[tuple[int, ...]]) -> None:
    tensors = [random_tensor(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    tensors[1] = tensors[1] * 1e-30
    tensors[10].view(-1)[-1:] = NAN
    tensors[20].view(-1)[:1] = INF
    table = _table_of(tensors, sample_budget=2**19)
    for row, tensor in enumerate(tensors):
        assert_equal_the_oracle(table.row(row), tensor)
        assert table.histogram[row].tolist() == histogram_of(tensor.reshape(-1).tolist())


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("threads", ["one_thread", "two_threads"])
@pytest.mark.parametrize("name", LARGE)
def test_large_tensors_on_one_thread_and_on_two(
    name: str, threads: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(threads)
    assert_equal_the_oracle(_table_of([TENSORS[name]]).row(0), TENSORS[name])


@functools.cache
def _blocks(change: str) -> torch.Tensor:
    tensor = random_tensor(5 * BLOCK + 1500)
    if change == "nan":
        tensor[BLOCK + 5] = NAN
    if change == "great mean":
        tensor[:BLOCK] = tensor[:BLOCK] * 1e-3 + 50
    if change == "zeros":
        tensor[BLOCK : 2 * BLOCK] = 0
    if change == "great":
        tensor[-3] = 1e38
    return tensor


@pytest.mark.parametrize("change", ["none", "nan", "great mean", "zeros", "great"])
@pytest.mark.parametrize("threads", ["one_thread", "two_threads"])
def test_one_block_of_a_large_tensor_differs(
    change: str, threads: str, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(threads)
    tensor = _blocks(change)
    assert_equal_the_oracle(_table_of([tensor]).row(0), tensor)


@pytest.mark.parametrize("count", [BLOCK - 1, BLOCK, BLOCK + 1])
def test_sizes_about_a_block(count: int, one_thread: None) -> None:
    tensor = random_tensor(count)
    assert_equal_the_oracle(_table_of([tensor]).row(0), tensor)


@pytest.mark.parametrize("scale", [1024.0, 3.0])
def test_divided_by_a_factor_all_numbers_are_those_of_the_divided(scale: float) -> None:
    tensors = [TENSORS[name] for name in ("random", "large", "nan, inf and numbers", "complex")]
    batch, expected = StatisticsBatch(4), StatisticsBatch(4)
    for row, tensor in enumerate(tensors):
        batch.add(row, tensor * scale, keep=True)
        expected.add(row, tensor * scale / scale, keep=True)
    factor = torch.tensor(scale)
    pending = batch.reduce(divide_by=factor)
    factor.zero_()  # a scaler updates it in place
    table, whole = pending.collect()
    expected_table, expected_whole = expected.finish()
    np.testing.assert_allclose(table.values, expected_table.values, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(table.histogram, expected_table.histogram)
    for row in range(4):
        np.testing.assert_array_equal(whole[row], expected_whole[row], strict=True)


def test_the_sample_budget_is_shared() -> None:
    tensors = [random_tensor(count, seed=count) for count in (10, 500, 3000, 6000, 20_000)]
    table = _table_of(tensors, sample_budget=1000)  # 200 each
    for row, tensor in enumerate(tensors):
        stride = -(-tensor.numel() // 200)
        assert table.histogram[row].tolist() == histogram_of(tensor[::stride].tolist())
    assert _table_of(tensors, sample_budget=1).histogram.sum(1).tolist() == [10, 16, 16, 16, 16]
    assert _table_of(tensors, sample_budget=10**9).histogram.sum(1).max() <= HISTOGRAM_SAMPLE


def test_the_later_of_two_tensors_of_a_row_counts_whatever_its_kind() -> None:
    kinds = [torch.ones(5000), torch.ones(3, dtype=torch.float64), torch.ones(2), torch.ones(6000)]
    for first in kinds:
        for second in kinds:
            batch = StatisticsBatch(1)
            batch.add(0, first, keep=True)
            batch.add_many([0], [second * 2])
            table, whole = batch.finish()
            row = table.row(0)
            assert row is not None and (row.numel, row.mean, whole) == (second.numel(), 2.0, {})


def test_held_tensors_may_change_once_reduced_and_any_thread_may_collect() -> None:
    for tensors in ([torch.ones(4)], [torch.ones(4) for _ in range(40)], [torch.ones(2)] * 2):
        batch = StatisticsBatch(len(tensors))
        batch.add_many(range(len(tensors)), tensors)
        pending = batch.reduce()
        for tensor in tensors:
            tensor.zero_()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            table, _ = pool.submit(pending.collect).result()
        assert table.values[:, STATISTICS.index("max")].tolist() == [1.0] * len(tensors)


def test_many_tensors_are_kept_whole() -> None:
    tensors = list(TENSORS.values())
    one_by_one, at_once = StatisticsBatch(len(tensors)), StatisticsBatch(len(tensors))
    for row, tensor in enumerate(tensors):
        one_by_one.add(row, tensor, keep=True)
    at_once.add_many(range(len(tensors)), tensors, keep=True)
    expected, found = one_by_one.finish()[1], at_once.finish()[1]
    for row, tensor in enumerate(tensors):
        np.testing.assert_array_equal(found[row], expected[row], strict=True)
        assert found[row].shape == tensor.shape


def test_a_batch_is_empty_again_once_reduced() -> None:
    batch = StatisticsBatch(1)
    batch.add(0, torch.ones(3), keep=True)
    batch.reduce()
    table, whole = batch.finish()
    assert (table.present.any(), whole) == (False, {})


@pytest.mark.parametrize("name", TENSORS)
def test_norms_are_those_of_float64(name: str) -> None:
    dense = TENSORS[name].to_dense()
    wide = dense.to(torch.complex128).abs() if dense.is_complex() else dense.to(torch.float64)
    expected = wide.norm()
    found = norms([torch.ones(4), TENSORS[name], torch.ones(9, dtype=torch.float64)])
    torch.testing.assert_close(found[1], expected, rtol=1e-6, atol=0, equal_nan=True)
    assert found[::2].tolist() == [2.0, 3.0]


def test_norms_of_nothing_and_with_gradients() -> None:
    assert norms([]).tolist() == []
    assert norms([torch.full((4,), 1e-30, requires_grad=True)]).tolist() == [
        pytest.approx(2e-30, rel=1e-6)
    ]
