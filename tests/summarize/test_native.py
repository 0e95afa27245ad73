"""The compiled reduction: what it takes, what it leaves to torch, and its hooks."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from tb_gradgraph.statistics import HISTOGRAM_SAMPLE, STATISTICS, StatisticsTable
from tb_gradgraph.summarize import StatisticsBatch
from tb_gradgraph.summarize.native import DTYPE, NativeReducer, NativeSnapshot
from tb_gradgraph.summarize.pending import PendingStatistics
from tests.summarize.exchange_tables import reduced_by  # noqa: F401
from tests.summarize.oracle import assert_equal_the_oracle, histogram_of
from tests.summarize.tensors import INF, NAN, TENSORS, random_tensor, sparse_tensor


class Subclass(torch.Tensor):
    pass


def _table_of(reducer: NativeReducer, rows: int) -> StatisticsTable:
    taken = reducer.take_out()
    assert taken is not None
    return PendingStatistics(rows, [taken[0]], []).collect()[0]


READ = {
    name: tensor
    for name, tensor in TENSORS.items()
    if tensor.dtype in (torch.float32, torch.float16, torch.bfloat16)
    and tensor.layout == torch.strided
    and not tensor.is_neg()
}
HALVES = torch.arange(65_536, dtype=torch.int32).to(torch.uint16)
MORE = {
    "every float16": HALVES.view(torch.float16),
    "every bfloat16": HALVES.view(torch.bfloat16),
    "float16 of four dimensions": random_tensor(3, 4, 5, 6, dtype=torch.float16).permute(2, 0, 3, 1),
    "every other row and column": random_tensor(90, 100, 3)[::2, 1::3],
    "columns with gaps, longer than a block": random_tensor(9000, 4).t()[::2],
    "windows that overlap": random_tensor(40).as_strided((20, 10), (1, 2)),
    "expanded between": random_tensor(50, 1, 30).expand(50, 8, 30),
    "part of a longer one": random_tensor(10_000)[77:8000],
    "subnormal and great": torch.tensor([1e-45, 3e38, -1e-40, 0.0]),
    "one nan in many": torch.cat([random_tensor(20_000), torch.tensor([NAN])]),
    "infinities of both signs in many": torch.cat([random_tensor(20_000), torch.tensor([INF, -INF])]),
    "equal numbers": torch.full((10_000,), 0.1),
    "channels last": random_tensor(4, 8, 6, 6).to(memory_format=torch.channels_last),
    "parameter": torch.nn.Parameter(random_tensor(12)),
}  # fmt: skip


@pytest.mark.parametrize("tensor", [*READ.values(), *MORE.values()], ids=[*READ, *MORE])
def test_takes_dense_floats_of_every_layout(tensor: torch.Tensor) -> None:
    reducer = NativeReducer(1, HISTOGRAM_SAMPLE)
    assert reducer.add(0, tensor)
    assert_equal_the_oracle(_table_of(reducer, 1).row(0), tensor)


@pytest.mark.parametrize("name", ["every float16", "every other row and column", "channels last"])
def test_the_sample_runs_in_the_order_of_memory(name: str) -> None:
    tensor = MORE[name]
    reducer = NativeReducer(1, 500)
    assert reducer.add(0, tensor)
    order = sorted(range(tensor.dim()), key=lambda dim: -tensor.stride(dim))
    flat = tensor.permute(order).reshape(-1).float()
    expected = histogram_of(flat[:: -(-len(flat) // 500)].tolist())
    assert _table_of(reducer, 1).histogram[0].tolist() == expected


LEFT = {
    "float64": random_tensor(5, dtype=torch.float64),
    "complex": torch.complex(random_tensor(5), random_tensor(5)),
    "integers": torch.arange(5),
    "booleans": torch.ones(5, dtype=torch.bool),
    "sparse": sparse_tensor([[0]], [1.0], (3,)),
    "on another device": torch.empty(3, device="meta"),
    "negated only when it is read": torch._neg_view(random_tensor(5)),
    "zeros without memory": torch._efficientzerotensor((3,)),
    "of a class of its own": random_tensor(3).as_subclass(Subclass),
    "between the places where floats lie": torch.frombuffer(
        bytearray(13), dtype=torch.float32, offset=1
    ),
    "of freed memory": torch.ones(5),
    "no tensor": [1.0],
}


LEFT["of freed memory"].untyped_storage().resize_(0)


@pytest.mark.parametrize("tensor", LEFT.values(), ids=LEFT)
def test_leaves_all_else_to_torch(tensor: Any) -> None:
    reducer = NativeReducer(1, HISTOGRAM_SAMPLE)
    assert not reducer.add(0, tensor)
    assert reducer.add_many([0, 0], [random_tensor(2), tensor]) == [1]
    assert_equal_the_oracle(_table_of(reducer, 1).row(0), random_tensor(2))


def test_leaves_what_vmap_runs_over_to_torch() -> None:
    taken = []

    def look(row: torch.Tensor) -> torch.Tensor:
        taken.append(NativeReducer(1, HISTOGRAM_SAMPLE).add(0, row))
        return row

    torch.vmap(look)(random_tensor(3, 4))
    assert taken == [False]


def test_leaves_large_ones_to_the_threads_of_torch() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        reducer = NativeReducer(2, HISTOGRAM_SAMPLE)
        left = NativeSnapshot().read([torch.ones(1_048_577), torch.ones(5)], 100, 10)
        assert not reducer.add(0, torch.ones(1_048_577))
        assert reducer.add(1, torch.ones(1_048_576))
    finally:
        torch.set_num_threads(before)
    assert left == [0]


def test_rows_that_are_none() -> None:
    reducer = NativeReducer(2, HISTOGRAM_SAMPLE)
    assert reducer.add(0, random_tensor(3))
    for row in (2, -1):
        with pytest.raises(IndexError, match=f"row {row} of 2"):
            reducer.add(row, random_tensor(3))
        with pytest.raises(IndexError):
            reducer.add_many([0, row], [random_tensor(3)] * 2)
    assert _table_of(reducer, 2).present.tolist() == [True, False]


def test_nothing_of_a_tensor_is_held() -> None:
    tensor = random_tensor(100)
    reducer = NativeReducer(1, HISTOGRAM_SAMPLE)
    reducer.add(0, tensor)
    expected = tensor.clone()
    tensor.zero_()
    assert_equal_the_oracle(_table_of(reducer, 1).row(0), expected)
    assert reducer.take_out() is None


def test_the_last_of_a_row_counts_whoever_reduces_it() -> None:
    wide = random_tensor(7, dtype=torch.float64)
    batch = StatisticsBatch(2)
    batch.add(0, wide)  # by torch
    batch.add(0, random_tensor(3))
    batch.add_many([1, 1], [random_tensor(3), random_tensor(4)])
    batch.add(1, wide)
    table, _ = batch.finish()
    assert table.values[:, STATISTICS.index("numel")].tolist() == [3, 7]


def test_threads_that_add_at_once_do_not_mix() -> None:
    sizes = [70_000, 10, 200_000, 3000] * 20  # large ones let the other thread run
    tensors = [torch.full((size,), float(row + 1)) for row, size in enumerate(sizes)]
    reducer = NativeReducer(len(tensors), 100)

    def add(first: int) -> None:
        for row in range(first, len(tensors), 4):
            assert reducer.add(row, tensors[row])

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    table = _table_of(reducer, len(tensors))
    means = [float(row + 1) for row in range(len(tensors))]
    assert table.values[:, STATISTICS.index("mean")].tolist() == means
    for row, size in enumerate(sizes):
        sampled = len(range(0, size, -(-size // 100)))
        assert table.histogram[row].tolist() == histogram_of([means[row]] * sampled)


def _hooked(
    net: torch.nn.Module, batch: StatisticsBatch, otherwise: Any, rows: Sequence[tuple[int, ...]]
) -> None:
    loss = net(random_tensor(6, 4)).square().sum()
    hook = batch.make_hook(tuple(rows), otherwise)
    assert hook is not None
    loss.grad_fn.register_prehook(hook)
    loss.backward()


def test_a_hook_takes_in_what_flows_into_its_node() -> None:
    batch = StatisticsBatch(3)
    _hooked(torch.nn.Linear(4, 2), batch, None, [(2,)])  # None: it would raise if called
    table, _ = batch.finish()
    assert table.present.tolist() == [False, False, True]
    assert_equal_the_oracle(table.row(2), torch.ones(()))


@pytest.mark.parametrize("kept", [frozenset(), {0}])
def test_a_hook_passes_on_what_is_not_for_it(kept: set[int]) -> None:
    seen = []
    batch = StatisticsBatch(1, kept=kept)
    dtype = torch.float32 if kept else torch.float64
    net = torch.nn.Linear(4, 3).to(dtype)
    out = net(random_tensor(6, 4, dtype=dtype))
    out.grad_fn.register_prehook(batch.make_hook(((0,),), lambda *given: seen.append(given)))
    out.backward(torch.ones_like(out))
    ((rows, gradients),) = seen
    assert rows == ((0,),) and torch.equal(gradients[0], torch.ones_like(out))


def test_a_hook_of_several_slots_skips_those_without_row_or_gradient() -> None:
    batch = StatisticsBatch(4)
    hook = batch.make_hook(((), (3,), (1, 2), (0,)), None)
    hook((random_tensor(2), random_tensor(3), random_tensor(4), None))
    table, _ = batch.finish()
    assert table.present.tolist() == [False, True, False, True]
    assert_equal_the_oracle(table.row(3), random_tensor(3))


def test_what_is_raised_where_it_passes_on_reaches_the_caller() -> None:
    def fail(*_given: object) -> None:
        raise ValueError("told")

    with pytest.raises(ValueError, match="told"):
        StatisticsBatch(1).make_hook(((7,),), fail)((random_tensor(2),))


@pytest.mark.parametrize("divisor", [1.0, 1024.0, 3.0])
def test_histograms_of_what_is_divided(divisor: float) -> None:
    tensor = random_tensor(3000) * torch.logspace(-60, 30, 3000)
    batch = StatisticsBatch(1)
    batch.add(0, tensor)
    table, _ = batch.reduce(torch.tensor(divisor)).collect()
    assert table.histogram[0].tolist() == histogram_of((tensor / divisor).tolist())


def test_the_table_of_entries_is_as_the_compiler_lays_it_out() -> None:
    reducer = NativeReducer(9, HISTOGRAM_SAMPLE)
    reducer.add(7, torch.tensor([3.0, -4.0]))
    content, samples, _ = reducer.reducer.take_out()
    (entry,) = np.frombuffer(content, DTYPE)
    assert entry.tolist()[:5] == (7, 1, 2, 2, -1)
    assert entry["moments"].tolist() == [2, 0, 0, 0, 0, -0.5, 24.5 / 16, 25 / 16, -4, 3]
    assert np.frombuffer(samples, np.float32).tolist() == [3.0, -4.0]
