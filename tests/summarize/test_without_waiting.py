"""Nothing waits for a device until the numbers are collected."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tb_gradgraph.summarize import StatisticsBatch, norms
from tb_gradgraph.summarize.arithmetic.accelerator import large_on_device, segments_on_device
from tb_gradgraph.summarize.arithmetic.elements import real_floats
from tb_gradgraph.summarize.arithmetic.end_to_end import laid_end_to_end
from tb_gradgraph.summarize.arithmetic.large import large_on_host, moments_of_blocks
from tb_gradgraph.summarize.arithmetic.sample import HISTOGRAM_SAMPLE
from tb_gradgraph.summarize.arithmetic.transfer import packed, unpacked
from tb_gradgraph.summarize.parts import Reduced, part_of_reduced, part_on_device, reduce_large
from tb_gradgraph.summarize.pending import Entries, Part, PendingStatistics
from tests.summarize.forbid import ForbidWaiting
from tests.summarize.tensors import LARGE, TENSORS, random_tensor

DENSE = [tensor for tensor in TENSORS.values() if tensor.layout == torch.strided]


def _fill(batch: StatisticsBatch, tensors: list[torch.Tensor]) -> None:
    for row, tensor in enumerate(tensors):
        batch.add(row, tensor, keep=True)
    batch.add_many(range(len(tensors)), tensors)
    batch.add_many(range(len(tensors)), [random_tensor(30)] * len(tensors))


def test_nothing_is_read_of_tensors_on_the_cpu() -> None:
    tensors = list(TENSORS.values())  # with NaN, infinity, sparse ones
    batch = StatisticsBatch(len(tensors), sample_budget=1000)
    with torch.no_grad(), ForbidWaiting():  # which cannot see a copy from CPU to CPU
        _fill(batch, tensors)
        norms(tensors)
        pending = batch.reduce(torch.tensor(2.0))
    assert pending.collect()[0].present.all()


def test_all_that_is_read_of_another_device_is_one_copy() -> None:
    # The meta device has nothing to read: each attempt raises.
    tensors = [torch.empty_like(tensor, device="meta") for tensor in DENSE]
    batch = StatisticsBatch(len(tensors), sample_budget=1000)
    with ForbidWaiting():
        _fill(batch, tensors)
        assert norms(tensors).device.type == "meta"
        pending = batch.reduce(torch.empty((), device="meta"))
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta"):
        pending.collect()


@pytest.mark.parametrize(
    "wait",
    [
        lambda t: t[0].item(),
        lambda t: float(t[0]),
        lambda t: bool(t[0]),
        lambda t: t[t > 0],
        lambda t: t.masked_select(t > 0),
        lambda t: t.nonzero(),
        lambda t: torch.equal(t, t),
        lambda t: torch.bincount(t.to(torch.int64)),
    ],
)
def test_the_mode_knows_what_waits(wait: Callable[[torch.Tensor], object]) -> None:
    with pytest.raises(AssertionError, match="waits for the device"), ForbidWaiting():
        wait(torch.ones(3))


@pytest.mark.parametrize("name", LARGE)
def test_moments_on_a_device_agree_with_those_on_the_cpu(name: str) -> None:
    tensor = TENSORS[name].coalesce().values() if TENSORS[name].is_sparse else TENSORS[name]
    flat = tensor.reshape(-1)
    on_host = torch.from_numpy(moments_of_blocks([large_on_host(flat)])[0])
    segment = torch.zeros(len(flat), dtype=torch.int64)
    for on_device in (large_on_device(flat), segments_on_device(flat, segment, 1)):
        torch.testing.assert_close(on_host, on_device[0], rtol=1e-6, atol=1e-6)


def _device_parts(tensors: list[torch.Tensor], limit: int) -> list[Part]:
    """Reduce float32 tensors as those of an accelerator, here on the CPU."""
    small = {row: t for row, t in enumerate(tensors) if t.numel() <= 4096}
    large = {row: t for row, t in enumerate(tensors) if t.numel() > 4096}
    flat, order, counts = laid_end_to_end(list(small.values()))
    held = Entries(list(small), [0] * len(small), [t.numel() for t in small.values()])
    reduced = [
        Reduced(large_on_device(t), 1, reduce_large(t, limit).sample) for t in large.values()
    ]
    entries = Entries(list(large), [0] * len(large), [t.numel() for t in large.values()])
    return [
        part_on_device(held.in_order(order), real_floats(flat), counts, limit),
        part_of_reduced(entries, reduced),
    ]


@pytest.mark.parametrize("divide_by", [None, torch.tensor(1024.0)])
def test_tables_from_a_device_equal_those_from_the_cpu(divide_by: torch.Tensor | None) -> None:
    tensors = [t for t in DENSE if t.dtype == torch.float32 and 0 not in t.stride()]
    tensors = [t.reshape(-1) for t in tensors] + [random_tensor(5, 7, seed=s) for s in range(99)]
    pending = PendingStatistics(len(tensors), _device_parts(tensors, 50), [], divide_by)
    batch = StatisticsBatch(len(tensors), sample_budget=50 * len(tensors))
    batch.add_many(range(len(tensors)), tensors)
    found, expected = pending.collect()[0], batch.reduce(divide_by).collect()[0]
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(found.histogram, expected.histogram)
    assert expected.histogram.sum(1).max() <= 50 < HISTOGRAM_SAMPLE


def test_packed_tensors_are_unpacked_as_they_were() -> None:
    tensors = [
        torch.arange(3, dtype=torch.int8),
        random_tensor(5),
        torch.tensor(1.5),
        random_tensor(2, 2, dtype=torch.float64),
        torch.empty(0),
        torch.complex(random_tensor(3), random_tensor(3, seed=1)),
    ]
    for found, tensor in zip(unpacked(packed(tensors).numpy(), tensors), tensors):
        np.testing.assert_array_equal(found, tensor.reshape(-1).numpy(), strict=True)
        assert found.ctypes.data % found.dtype.itemsize == 0
