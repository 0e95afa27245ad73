"""Compute moments on an accelerator, with a fixed number of kernels and without reading back."""

from __future__ import annotations

import torch

from tb_gradgraph.summarize.arithmetic.elements import real_floats, wide_dtype
from tb_gradgraph.summarize.arithmetic.moments import exact_moments

#: How many elements are reduced at a time. This limits each temporary float64 copy to 32 MiB.
BLOCK = 4_194_304


class _Block:
    """Reduces a flat tensor to one number."""

    xp = torch

    def __init__(self, dtype: torch.dtype) -> None:
        self._dtype = dtype

    def total(self, terms: torch.Tensor) -> torch.Tensor:
        return terms.sum(dtype=self._dtype).reshape(1)

    def least(self, terms: torch.Tensor) -> torch.Tensor:
        return terms.amin().reshape(1)

    def greatest(self, terms: torch.Tensor) -> torch.Tensor:
        return terms.amax().reshape(1)

    def spread_out(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers


class _Segments:
    """Reduces a flat tensor by segment. An empty segment has least +inf and greatest -inf."""

    xp = torch

    def __init__(self, segment: torch.Tensor, count: int, dtype: torch.dtype) -> None:
        self._segment = segment
        self._count = count
        self._dtype = dtype

    def total(self, terms: torch.Tensor) -> torch.Tensor:
        return self._filled(0.0).index_add_(0, self._segment, terms.to(self._dtype))

    def least(self, terms: torch.Tensor) -> torch.Tensor:
        return self._filled(float("inf")).scatter_reduce_(0, self._segment, terms, "amin")

    def greatest(self, terms: torch.Tensor) -> torch.Tensor:
        return self._filled(float("-inf")).scatter_reduce_(0, self._segment, terms, "amax")

    def spread_out(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers[self._segment]

    def _filled(self, value: float) -> torch.Tensor:
        return torch.full((self._count,), value, dtype=self._dtype, device=self._segment.device)


def large_on_device(flat: torch.Tensor) -> torch.Tensor:
    """Reduce a flat tensor of any type to rows of ``COLUMNS``, one for each ``BLOCK`` elements."""
    wide = wide_dtype(flat.device)
    blocks = (real_floats(block).to(wide) for block in flat.split(BLOCK))
    return torch.cat([exact_moments(block, _Block(wide)) for block in blocks])


def segments_on_device(flat: torch.Tensor, segment: torch.Tensor, count: int) -> torch.Tensor:
    """Reduce a flat tensor by ``segment``, the row of each element, to ``count`` rows of ``COLUMNS``."""
    wide = wide_dtype(flat.device)
    return exact_moments(real_floats(flat).to(wide), _Segments(segment, count, wide))
