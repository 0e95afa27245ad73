"""Reduce medium tensors on the CPU together: those of one shape are stacked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from tb_gradgraph.summarize.arithmetic.elements import as_array, in_memory_order, real_floats
from tb_gradgraph.summarize.arithmetic.moments import are_sound, limits_of, moments_of_sums
from tb_gradgraph.summarize.arithmetic.sample import histograms_of
from tb_gradgraph.summarize.arithmetic.segments import careful_segments
from tb_gradgraph.summarize.pending import Entries, Part

#: The sizes of tensors for which this is faster. Smaller ones are cheaper all together. For larger
#: ones, their few kernels are cheaper than a copy.
LEAST, MOST = 256, 131_072
#: How many elements are reduced at a time: 512 KiB of float32. All passes after the first find them
#: in the second-level cache. During a training, a call takes three times as long as in a loop like
#: this, because the training's kernels evict torch's and Python's code from the caches.
BLOCK = 131_072
_ROW = 1024  # elements squared and summed in float32 at a time; the error is below 1e-6

_LEAST_SQUARE = 1e-26

_TYPES = frozenset({torch.float32, torch.float64, torch.float16, torch.bfloat16})


def is_stackable(values: torch.Tensor) -> bool:
    """Return whether medium tensors of this type are stacked."""
    return values.is_cpu and values.dtype in _TYPES


class Stack:
    """Tensors of one type, shape and order in memory: some held, the others reduced."""

    def __init__(self, like: torch.Tensor) -> None:
        self.numel = like.numel()
        self.entries = Entries()
        self.held: list[torch.Tensor] = []
        self._reshape = _to_memory_order(like)
        self._shape = self._in_order([like])[0].shape
        self._sums: list[np.ndarray] = []
        self._exact: dict[int, np.ndarray] = {}  # by place
        self._samples: list[np.ndarray] = []
        self._reduced = 0

    def add(self, row: int, values: torch.Tensor, ticket: int, size: int) -> None:
        """Hold a tensor of ``size`` elements, stored or not."""
        self.held.append(values)
        entries = self.entries
        entries.rows.append(row)
        entries.tickets.append(ticket)
        entries.numel.append(size)

    def reduce(self, sample_limit: int) -> None:
        """Reduce the tensors that are held, and release them."""
        if not self.held:
            return
        stride, many = -(-self.numel // sample_limit), BLOCK // self.numel
        sums = np.empty((len(self.held), 5))
        is_wide = np.zeros(len(sums), bool)
        scratch = _Scratch(self.held[0].dtype)
        for first in range(0, len(sums), many):
            rows = slice(first, first + many)
            block = scratch.side_by_side(self._in_order(self.held[rows]), self._shape)
            scratch.sum(block, sums[rows])
            if _squares_are_lost(sums[rows]):
                scratch.sum_wide(block, sums[rows])
                is_wide[rows] = True
            self._samples.append(block.numpy()[:, ::stride].copy())
        self._redo(sums, is_wide, scratch)
        self._sums.append(sums)
        self.held.clear()

    def give_back(self) -> list[tuple[int, torch.Tensor, int]]:
        """Return and release the tensors that could not be reduced, as row, tensor and size."""
        entries, kept = self.entries, self._reduced
        given = list(zip(entries.rows[kept:], self.held, entries.numel[kept:]))
        del entries.rows[kept:], entries.tickets[kept:], entries.numel[kept:]
        while sum(map(len, self._samples)) > kept:
            self._samples.pop()
        self._exact = {place: row for place, row in self._exact.items() if place < kept}
        self.held.clear()
        return given

    def _redo(self, sums: np.ndarray, is_wide: np.ndarray, scratch: _Scratch) -> None:
        """Sum again in float64 if float32 is not accurate enough, and in several passes if needed."""
        many = BLOCK // self.numel
        narrow = np.flatnonzero(self._is_doubtful(sums, self._samples[-1]) & ~is_wide)
        for first in range(0, len(narrow), many):
            places = narrow[first : first + many]
            chosen = self._in_order([self.held[place] for place in places])
            block = scratch.side_by_side(chosen, self._shape)
            found = sums[places]
            scratch.sum_wide(block, found)
            sums[places] = found
            is_wide[places] = True
        for place in np.flatnonzero(self._is_doubtful(sums, sums) & is_wide).tolist():
            flat = as_array(real_floats(in_memory_order(self.held[place]).resolve_neg()))
            self._exact[self._reduced + place] = careful_segments(flat, np.array([self.numel]))[0]
        self._reduced += len(sums)

    def _is_doubtful(self, sums: np.ndarray, summed: np.ndarray) -> np.ndarray:
        """Return whether sums in the type of ``summed`` are not accurate enough."""
        with np.errstate(all="ignore"):
            total, square, low, high = sums.T[:4]
            return ~are_sound(total, square, low, high, self.numel, limits_of(summed))

    def _in_order(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        return tensors if self._reshape is None else list(map(self._reshape, tensors))

    def part(self) -> Part:
        """Return the results for all tensors."""
        samples, sums = np.concatenate(self._samples), np.concatenate(self._sums)
        counts = np.full(len(sums), self.numel)
        sizes = np.full(len(samples), samples.shape[1])

        def read(_: object, divisor: float | None) -> tuple[np.ndarray, np.ndarray]:
            moments = moments_of_sums(sums, counts)
            for place, row in self._exact.items():
                moments[place] = row
            return moments, histograms_of(samples.reshape(-1), sizes, divisor=divisor)

        return Part(self.entries.in_order(np.arange(len(samples))), [], read)


class _Scratch:
    """Memory for one block. It is reused, because new memory for each would cost as much as the sums."""

    def __init__(self, dtype: torch.dtype) -> None:
        self._elements = torch.empty(BLOCK, dtype=dtype, device="cpu")
        self._is_nonzero = np.empty(BLOCK, bool)
        self._wide = torch.empty(BLOCK, dtype=torch.float64, device="cpu")  # rarely used

    def side_by_side(self, tensors: list[torch.Tensor], shape: torch.Size) -> torch.Tensor:
        """Copy tensors to the rows of a block of real floats."""
        block = self._elements[: len(tensors) * shape.numel()].view(-1, *shape)
        return real_floats(torch.stack(tensors, out=block).view(len(tensors), -1))

    def sum(self, block: torch.Tensor, sums: np.ndarray) -> None:
        """Compute sum, sum of squares, least, greatest, and count of nonzero elements of each row."""
        sums[:, 0] = block.sum(1).numpy()
        sums[:, 1] = _squares(block)
        sums[:, 2] = block.amin(1).numpy()
        sums[:, 3] = block.amax(1).numpy()
        is_nonzero = self._is_nonzero[: block.numel()].reshape(block.shape)
        sums[:, 4] = list(map(np.count_nonzero, np.not_equal(block.numpy(), 0, out=is_nonzero)))

    def sum_wide(self, block: torch.Tensor, sums: np.ndarray) -> None:
        """Compute sum and sum of squares of each row, in float64."""
        wide = self._wide[: block.numel()].view(block.shape).copy_(block)
        sums[:, 0] = wide.sum(1).numpy()
        sums[:, 1] = np.square(torch.linalg.vector_norm(wide, dim=1).numpy())


def _to_memory_order(like: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """Return a function that views a tensor of this shape in the order of its memory, if there is one."""
    if like.is_contiguous():
        return None
    strides = like.stride()
    order = sorted(range(like.dim()), key=lambda dim: -strides[dim])
    if like.permute(order).is_contiguous():
        return lambda tensor: tensor.permute(order)
    return lambda tensor: tensor.reshape(-1)


def _squares_are_lost(sums: np.ndarray) -> bool:
    """Return whether nonzero rows have squares near the smallest numbers of float32."""
    is_zero = (sums[:, 2] == 0) & (sums[:, 3] == 0)
    return bool(((sums[:, 1] < _LEAST_SQUARE) & ~is_zero).any())


def _squares(stack: torch.Tensor) -> np.ndarray:
    """Sum the squares of each row."""
    rest = stack.shape[1] % _ROW
    parts = stack[:, : stack.shape[1] - rest].unflatten(1, (-1, _ROW))
    squares = _norms(parts, 2).sum(1)
    return squares + _norms(stack[:, -rest:], 1) if rest else squares


def _norms(values: torch.Tensor, dim: int) -> np.ndarray:
    return np.square(torch.linalg.vector_norm(values, dim=dim).numpy().astype(np.float64))
