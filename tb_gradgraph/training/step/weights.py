"""Read the norms of weights, and how far a step of an optimizer moved them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from tb_gradgraph.autograd import local_part
from tb_gradgraph.memory import has_memory
from tb_gradgraph.statistics import StatisticsTable, columns_of
from tb_gradgraph.summarize import (
    NativeSnapshot,
    Transfer,
    computable,
    is_available,
    is_readable,
    norms,
    wide_dtype,
)
from tb_gradgraph.training.step.estimates import SAMPLE, EstimatedUpdate
from tb_gradgraph.training.step.room import UPDATE_MEMORY, Room

_COLUMNS = columns_of(("weight_norm", "update_norm", "update_ratio", "update_spread"))
_EVERY = 2**62
_WIDTH = 4  # bytes of an element of a copy, which is float32 in compiled code
_AT_ONCE = 2**22  # how many elements of a 16-bit weight are subtracted at a time


class Copies:
    """The memory of copies of weights on the CPU, lent to one reading at a time.

    A training of which every step is recorded keeps it from step to step.
    """

    def __init__(self) -> None:
        """Begin without memory."""
        self._spare: NativeSnapshot | None = None

    def lend(self) -> NativeSnapshot:
        """Return the memory that was given back, or new memory."""
        spare, self._spare = self._spare, None
        return NativeSnapshot() if spare is None else spare

    def give_back(self, snapshot: NativeSnapshot) -> None:
        """Take memory that is no longer used."""
        self._spare = snapshot

    def free(self) -> None:
        """Free the memory."""
        self._spare = None


class WeightReading:
    """Reads weights before a step, and in ``finish`` after it.

    The update of a weight is exact if there is room for a copy; small weights are copied first.
    Otherwise it is estimated (``EstimatedUpdate``).
    """

    def __init__(
        self,
        weights: Sequence[torch.Tensor],
        memory: int = UPDATE_MEMORY,
        copies: Copies | None = None,
    ) -> None:
        """Read the weights before the step.

        Args:
            weights: They are held until ``finish``.
            memory: How many bytes copies of them may take.
            copies: Memory for the copies; None: it is freed after the step.
        """
        self._count = len(weights)
        local = [local_part(weight) for weight in weights]
        exact, large = _divide(local, Room(memory))
        self._copies = Copies() if copies is None else copies
        self._native, self._snapshot, left = _snapshot(local, exact, self._copies)
        self._left = [place for place in left if _can_be_read(local[place])]
        large = [place for place in large if _can_be_read(local[place])]
        self._others = _CopiedWeights(_at(self._left, local))
        gradients = [_gradient_of(weights[place]) for place in large]
        self._large_places = large
        self._large = _LargeWeights(_at(large, local), gradients)

    def finish(self, rows: Sequence[int | None]) -> None:
        """Read them after the step; ``rows`` are the weights' rows, None for those without a row."""
        self._rows = rows
        self._others.finish()
        self._large.finish()
        self._found = np.full((self._count, 3), np.nan)
        if self._snapshot is not None:
            self._found[self._native, :2] = self._snapshot.compare()
            self._copies.give_back(self._snapshot)
            self._snapshot = None
        self._copies = Copies()

    def write_to(self, table: StatisticsTable) -> None:
        """Fill in the columns of weights and updates; waits for the copy to the host."""
        self._found[self._left, :2] = self._others.collect()
        self._found[self._large_places] = self._large.collect()
        places = [index for index, row in enumerate(self._rows) if row is not None]
        rows = [row for row in self._rows if row is not None]
        weight, moved, spread = self._found[places].T
        with np.errstate(all="ignore"):
            ratio = np.where(weight > 0, moved / weight, np.nan)
        table.values[np.ix_(rows, _COLUMNS)] = np.stack([weight, moved, ratio, spread], 1)


def _at(places: Sequence[int], local: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
    """Return the weights at ``places``, none of which may be missing."""
    return [weight for weight in map(local.__getitem__, places) if weight is not None]


def _divide(local: Sequence[torch.Tensor | None], room: Room) -> tuple[list[int], list[int]]:
    """Return the places of the weights copied whole, and of the others."""
    weights = {place: w for place, w in enumerate(local) if w is not None}
    sizes = {place: w.numel() for place, w in weights.items()}
    exact: list[int] = []
    large: list[int] = []
    for place in sorted(sizes, key=sizes.__getitem__):
        weight = weights[place]
        width = max(weight.element_size(), _WIDTH if weight.is_cpu else 1)
        is_sampled = sizes[place] > SAMPLE and weight.layout == torch.strided
        fits = not is_sampled or room.take(weight.device, sizes[place] * width)
        (exact if fits else large).append(place)
    return sorted(exact), sorted(large)


def _snapshot(
    local: Sequence[torch.Tensor | None], exact: Sequence[int], copies: Copies
) -> tuple[list[int], NativeSnapshot | None, list[int]]:
    """Let compiled code read what it can; return the places of those weights, and of the others."""
    if not exact or not is_available():
        return [], None, list(exact)
    weights = _at(exact, local)
    snapshot = copies.lend()
    room = _WIDTH * sum(weight.numel() for weight in weights)
    left = set(snapshot.read(weights, _EVERY, SAMPLE, room))
    return list(exact), snapshot, [place for at, place in enumerate(exact) if at in left]


def _can_be_read(weight: torch.Tensor | None) -> bool:
    return weight is not None and has_memory(weight) and is_readable(weight.dtype)


def _gradient_of(weight: torch.Tensor) -> torch.Tensor | None:
    gradient = weight.grad
    return None if gradient is None else local_part(gradient)


class _CopiedWeights:
    """Weights that torch's kernels read, on any device."""

    @torch.no_grad()
    def __init__(self, weights: Sequence[torch.Tensor]) -> None:
        self._weights = weights
        self._transfer: Transfer | None = None
        if not weights:
            return
        self._norms = norms(weights)
        self._shapes = [weight.shape for weight in weights]
        self._before = [_copied(weight) for weight in weights]

    @torch.no_grad()
    def finish(self) -> None:
        """Read them after the step."""
        if not self._weights:
            return
        moved = [
            _moved(weight, before)
            if before is not None and weight.shape == shape and has_memory(weight)
            else [torch.full((), math.nan, device=weight.device)]
            for weight, shape, before in zip(self._weights, self._shapes, self._before)
        ]
        self._sizes = [len(parts) for parts in moved]
        parts = norms([part for parts in moved for part in parts])
        self._transfer = Transfer(self._norms.device, [self._norms, parts])
        self._weights, self._before = [], []

    def collect(self) -> np.ndarray:
        """Return norm and update norm of each weight, as rows. Waits for the copy to the host."""
        if self._transfer is None:
            return np.zeros((0, 2))
        weight, parts = (array.astype(np.float64) for array in self._transfer.wait())
        starts = np.cumsum([0, *self._sizes[:-1]])
        return np.stack([weight, np.hypot.reduceat(parts, starts)], 1)


def _copied(weight: torch.Tensor) -> torch.Tensor | None:
    """Copy a weight; return None if the allocation fails."""
    try:
        return weight.detach().clone()
    except (MemoryError, RuntimeError):
        return None


def _moved(weight: torch.Tensor, before: torch.Tensor) -> list[torch.Tensor]:
    """Return the update of a weight, in at least float32. Works in parts, and overwrites ``before``."""
    if weight.dtype not in (torch.half, torch.bfloat16) or weight.layout != torch.strided:
        return [computable(before).sub_(computable(weight.detach()))]
    pairs = zip(before.reshape(-1).split(_AT_ONCE), weight.detach().reshape(-1).split(_AT_ONCE))
    return [old.float().sub_(new) for old, new in pairs] or [before.float()]


class _LargeWeights:
    """Weights that are too large to copy."""

    @torch.no_grad()
    def __init__(
        self, weights: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor | None]
    ) -> None:
        self._weights = weights
        self._transfer: Transfer | None = None
        if weights:
            self._norms = norms(weights)
            pairs = zip(weights, gradients)
            self._before = [EstimatedUpdate(w.detach(), gradient) for w, gradient in pairs]

    @torch.no_grad()
    def finish(self) -> None:
        """Read them after the step."""
        if not self._weights:
            return
        device = self._norms.device
        found = [
            before.finish(weight.detach())
            if has_memory(weight)
            else torch.full((2,), math.nan, dtype=wide_dtype(device), device=device)
            for weight, before in zip(self._weights, self._before)
        ]
        stacked = torch.stack([one.to(device, found[0].dtype, non_blocking=True) for one in found])
        self._transfer = Transfer(device, [self._norms, stacked])
        self._weights, self._before = [], []

    def collect(self) -> np.ndarray:
        """Return norm, update norm and standard error of the update norm of each weight, as rows."""
        if self._transfer is None:
            return np.zeros((0, 3))
        weight, moved = (array.astype(np.float64) for array in self._transfer.wait())
        return np.column_stack([weight, moved.reshape(-1, 2)])
