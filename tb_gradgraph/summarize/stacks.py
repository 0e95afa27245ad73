"""Tensors of middle size on the CPU, copied side by side and reduced while they are in cache."""

from __future__ import annotations

import numpy as np
import torch

from tb_gradgraph.summarize.elements import in_memory_order
from tb_gradgraph.summarize.moments import COLUMNS, LIMITS, are_sound, moments_of_sums
from tb_gradgraph.summarize.pending import Entries, Part
from tb_gradgraph.summarize.sample import histograms_of
from tb_gradgraph.summarize.segments import exact_segments

#: Elements of a tensor for which this pays: smaller ones cost less all together at the end,
#: of larger ones the few kernels that each needs cost less than a copy.
LEAST, MOST = 1024, 32_768
FULL = 131_072  # elements of a stack: 512 KiB of float32, which a second-level cache holds
MANY = 64  # sizes that get a stack of their own

#: What is stacked, and as what.
_DTYPES = {
    torch.float32: torch.float32,
    torch.float64: torch.float64,
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
}


class Stacks:
    """A stack for each size and type, as long as there are not too many."""

    def __init__(self, sample_limit: int) -> None:
        self._limit = sample_limit
        self._stacks: dict[tuple[int, torch.dtype], _Stack] = {}

    def take(self, row: int, values: torch.Tensor, size: int, ticket: int) -> bool:
        """Copy a tensor, if it is one for a stack; whether it was.

        Args:
            row: Its row.
            values: What it stores.
            size: All of its elements, those not stored too.
            ticket: Of several tensors of a row the one of the greatest counts.
        """
        numel, dtype = values.numel(), values.dtype
        if not (LEAST <= numel <= MOST and values.is_cpu and dtype in _DTYPES):
            return False
        stack = self._stacks.get((numel, dtype))
        if stack is None:
            if len(self._stacks) >= MANY:
                return False
            stack = self._stacks[numel, dtype] = _Stack(numel, dtype, self._limit)
        stack.take(row, values, size, ticket)
        return True

    def parts(self) -> list[Part]:
        """Give what they were reduced to, and be empty again."""
        parts = [stack.part() for stack in self._stacks.values()]
        self._stacks.clear()
        return parts


class _Stack:
    """Tensors of one size and type."""

    def __init__(self, numel: int, dtype: torch.dtype, sample_limit: int) -> None:
        self._stack = torch.empty(FULL // numel, numel, dtype=_DTYPES[dtype], device="cpu")
        self._places = self._stack.unbind()
        self._stride = -(-numel // sample_limit)
        self._filled = 0
        self._entries = Entries()
        self._sums: list[np.ndarray] = []
        self._exact: list[np.ndarray] = []
        self._samples: list[np.ndarray] = []

    def take(self, row: int, values: torch.Tensor, size: int, ticket: int) -> None:
        flat = values.view(-1) if values.is_contiguous() else in_memory_order(values)
        self._places[self._filled].copy_(flat)
        self._filled += 1
        entries = self._entries
        entries.rows.append(row)
        entries.numel.append(size)
        entries.tickets.append(ticket)
        if self._filled == len(self._places):
            self._reduce()

    def part(self) -> Part:
        if self._filled:
            self._reduce()
        samples = np.concatenate(self._samples)
        moments = self._moments()
        sizes = np.full(len(samples), samples.shape[1])

        def read(_: object, divisor: float | None) -> tuple[np.ndarray, np.ndarray]:
            return moments, histograms_of(samples.reshape(-1), sizes, divisor=divisor)

        return Part(self._entries.in_order(np.arange(len(samples))), [], read)

    def _moments(self) -> np.ndarray:
        sums, exact = np.concatenate(self._sums), np.concatenate(self._exact)
        moments = moments_of_sums(sums, np.full(len(sums), self._stack.shape[1]))
        is_exact = ~np.isnan(exact[:, 0])
        moments[is_exact] = exact[is_exact]
        return moments

    def _reduce(self) -> None:
        """Reduce the tensors that are there; those for which plain sums do not do in float64."""
        stack, count = self._stack[: self._filled], self._stack.shape[1]
        self._filled = 0
        norms = torch.linalg.vector_norm(stack, dim=1).numpy().astype(np.float64)
        array = stack.numpy()
        sums = np.stack(
            [
                stack.sum(1).numpy(),
                norms * norms,
                stack.amin(1).numpy(),
                stack.amax(1).numpy(),
                [np.count_nonzero(row) for row in np.not_equal(array, 0)],
            ],
            1,
            dtype=np.float64,
        )
        exact = np.full((len(sums), len(COLUMNS)), np.nan)
        with np.errstate(all="ignore"):
            doubtful = ~are_sound(*sums.T[:4], count, LIMITS[array.dtype])
        if doubtful.any():
            rows = array[doubtful]
            exact[doubtful] = exact_segments(rows.reshape(-1), np.full(len(rows), count))
        self._sums.append(sums)
        self._exact.append(exact)
        self._samples.append(array[:, :: self._stride].copy())
