"""Tensors of middle size on the CPU, reduced together: those of one size side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import torch

from tb_gradgraph.summarize.elements import in_memory_order, real_floats
from tb_gradgraph.summarize.moments import are_sound, limits_of, moments_of_sums
from tb_gradgraph.summarize.pending import Entries, Part
from tb_gradgraph.summarize.sample import histograms_of
from tb_gradgraph.summarize.segments import careful_segments

#: Elements of a tensor for which this pays: smaller ones cost less all together,
#: of larger ones the few kernels that each needs cost less than a copy.
LEAST, MOST = 1024, 131_072
#: Elements reduced at a time: 512 KiB of float32, which all passes but the first find in
#: the second-level cache. torch and Python, thrown out of the caches by the training's
#: own kernels, take three times as long for a call as in a loop like this.
BLOCK = 131_072
_ROW = 1024  # elements squared and summed in float32 at a time: errs by less than 1e-6

_TYPES = frozenset({torch.float32, torch.float64, torch.float16, torch.bfloat16})


def is_middle(values: torch.Tensor) -> bool:
    """Whether a tensor is one to be reduced beside others of its size."""
    return values.is_cpu and LEAST <= values.numel() <= MOST and values.dtype in _TYPES


@dataclasses.dataclass(slots=True)
class Stack:
    """Tensors of one size and type: some held, the others reduced."""

    numel: int
    entries: Entries = dataclasses.field(default_factory=Entries)
    held: list[torch.Tensor] = dataclasses.field(default_factory=list)
    sums: list[np.ndarray] = dataclasses.field(default_factory=list)
    exact: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)  # by place
    samples: list[np.ndarray] = dataclasses.field(default_factory=list)

    def reduce(self, sample_limit: int) -> None:
        """Reduce the tensors that are held, and let go of them."""
        if not self.held:
            return
        stride = -(-self.numel // sample_limit)
        sums = np.empty((len(self.held), 5))
        scratch = _Scratch(self.held[0].dtype)
        many = BLOCK // self.numel
        for first in range(0, len(sums), many):
            block = scratch.side_by_side(self.held[first : first + many], self.numel)
            scratch.sum(block, sums[first : first + many])
            self.samples.append(block.numpy()[:, ::stride].copy())
        self._redo(sums)
        self.sums.append(sums)
        self.held.clear()

    def _redo(self, sums: np.ndarray) -> None:
        """Reduce again the tensors for which plain sums do not do."""
        before = sum(map(len, self.sums))
        limits = limits_of(self.samples[-1])
        with np.errstate(all="ignore"):
            sound = are_sound(*sums.T[:4], self.numel, limits)
        for place in np.flatnonzero(~sound).tolist():
            flat = real_floats(_flat(self.held[place])).numpy()
            self.exact[before + place] = careful_segments(flat, np.array([self.numel]))[0]

    def part(self) -> Part:
        """Give what all were reduced to."""
        samples, sums = np.concatenate(self.samples), np.concatenate(self.sums)
        counts = np.full(len(sums), self.numel)
        sizes = np.full(len(samples), samples.shape[1])

        def read(_: object, divisor: float | None) -> tuple[np.ndarray, np.ndarray]:
            moments = moments_of_sums(sums, counts)
            for place, row in self.exact.items():
                moments[place] = row
            return moments, histograms_of(samples.reshape(-1), sizes, divisor=divisor)

        return Part(self.entries.in_order(np.arange(len(samples))), [], read)


class _Scratch:
    """Memory for one block: fresh memory for each would cost as much as the sums."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._elements = torch.empty(BLOCK, dtype=dtype, device="cpu")
        self._is_nonzero = np.empty(BLOCK, bool)

    def side_by_side(self, tensors: Sequence[torch.Tensor], numel: int) -> torch.Tensor:
        """Copy tensors to the rows of a block of real floats."""
        block = self._elements[: len(tensors) * numel].view(-1, numel)
        return real_floats(torch.stack(list(map(_flat, tensors)), out=block))

    def sum(self, block: torch.Tensor, sums: np.ndarray) -> None:
        """Put sum, sum of squares, least, greatest, count of nonzero elements of each row."""
        sums[:, 0] = block.sum(1).numpy()
        sums[:, 1] = _squares(block)
        sums[:, 2] = block.amin(1).numpy()
        sums[:, 3] = block.amax(1).numpy()
        is_nonzero = self._is_nonzero[: block.numel()].reshape(block.shape)
        sums[:, 4] = list(map(np.count_nonzero, np.not_equal(block.numpy(), 0, out=is_nonzero)))


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    return tensor.view(-1) if tensor.is_contiguous() else in_memory_order(tensor)


def _squares(stack: torch.Tensor) -> np.ndarray:
    """Sum the squares of each row."""
    rest = stack.shape[1] % _ROW
    parts = stack[:, : stack.shape[1] - rest].unflatten(1, (-1, _ROW))
    squares = _norms(parts, 2).sum(1)
    return squares + _norms(stack[:, -rest:], 1) if rest else squares


def _norms(values: torch.Tensor, dim: int) -> np.ndarray:
    return np.square(torch.linalg.vector_norm(values, dim=dim).numpy().astype(np.float64))
