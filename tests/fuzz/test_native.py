"""Compiled code over tensors of any shape, stride and type: the numbers of exact sums, or left to torch."""

from __future__ import annotations

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from tb_gradgraph.summarize.native import NativeReducer, NativeSnapshot
from tb_gradgraph.summarize.pending import PendingStatistics
from tests.compiled import require_compiled_code
from tests.fuzz.records import FUZZ
from tests.summarize.oracle import assert_equal_the_oracle

TYPES = (torch.float32, torch.float16, torch.bfloat16)
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-45, 3e38, 6e-5)


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    """A view of random numbers with some special ones among them."""
    dims = draw(st.integers(0, 4))
    shape = [draw(st.integers(0, 5)) for _ in range(dims)]
    strides = [draw(st.integers(0, 7)) for _ in range(dims)]
    size = 1 + sum((length - 1) * stride for length, stride in zip(shape, strides) if length)
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
    start = draw(st.integers(0, 3))
    flat = torch.randn(max(size, 1) + start, generator=generator)
    for special in draw(st.lists(st.sampled_from(SPECIAL), max_size=3)):
        flat[draw(st.integers(0, len(flat) - 1))] = special
    flat = flat.to(draw(st.sampled_from(TYPES)))
    return flat.as_strided(shape, strides, start)


@FUZZ
@given(st.lists(tensors(), min_size=1, max_size=4), st.integers(1, 40))
def test_numbers_are_those_of_exact_sums(made: list[torch.Tensor], limit: int) -> None:
    require_compiled_code()
    reducer = NativeReducer(len(made), limit)
    assert reducer.add_many(list(range(len(made))), made) == []
    part, _ = reducer.take_out()
    table, _ = PendingStatistics(len(made), [part], []).collect()
    for row, tensor in enumerate(made):
        assert_equal_the_oracle(table.row(row), tensor)


@FUZZ
@given(st.lists(tensors(), max_size=4), st.integers(1, 5))
def test_moves_of_weights_are_finite_or_unknown(made: list[torch.Tensor], sample: int) -> None:
    require_compiled_code()
    snapshot = NativeSnapshot()
    left = snapshot.read(made, 2 * sample, sample)
    for tensor in made:
        tensor.untyped_storage().fill_(0)
    found = snapshot.compare()
    assert found.shape == (len(made), 2) and left == []
