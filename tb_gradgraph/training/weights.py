"""How large weights are, and how far a step of an optimizer moved them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from tb_gradgraph.autograd.engine import elements_of
from tb_gradgraph.memory import has_memory
from tb_gradgraph.statistics import STATISTICS, StatisticsTable
from tb_gradgraph.summarize import norms
from tb_gradgraph.summarize.elements import computable, is_readable
from tb_gradgraph.summarize.native import NativeSnapshot, is_available
from tb_gradgraph.summarize.transfer import Transfer

#: Of a weight of more elements the update's norm is estimated from a sample of at least so many
#: as SAMPLE: to copy all weights at every recorded step would cost more than all else.
#: The estimate errs by sqrt((k - 1) / 4n), k the kurtosis of the update's elements and n the sample:
#: 0.6 % where they are normal; where only a hundredth of the rows moves, 7 %.
EXACT_UPDATE = 65_536
SAMPLE = 16_384

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_COLUMNS = [STATISTICS.index(name) for name in ("weight_norm", "update_norm", "update_ratio")]


class WeightReading:
    """Weights as they are before a step, and what ``finish`` finds of them after it."""

    def __init__(self, weights: Sequence[torch.Tensor]) -> None:
        """Read the weights before the step."""
        self._count = len(weights)
        local = [w if type(w) in _PLAIN else elements_of(w) for w in weights]
        self._snapshot = NativeSnapshot(local, EXACT_UPDATE, SAMPLE) if is_available() else None
        left = range(len(local)) if self._snapshot is None else self._snapshot.left
        others = {
            place: found
            for place in left
            if (found := local[place]) is not None
            and has_memory(found)
            and is_readable(found.dtype)
        }
        self._left = list(others)
        self._others = _SampledWeights(list(others.values()))

    def finish(self, rows: Sequence[int | None]) -> None:
        """Read them after it; ``rows`` are theirs, None where there is none."""
        self._rows = rows
        self._others.finish()
        self._found = np.full((self._count, 2), np.nan)
        if self._snapshot is not None:
            self._found = self._snapshot.compare().copy()
            self._snapshot = None

    def write_to(self, table: StatisticsTable) -> None:
        """Fill in the columns of weights and updates; waits for the copy to the host."""
        self._found[self._left] = self._others.collect()
        places = [index for index, row in enumerate(self._rows) if row is not None]
        rows = [row for row in self._rows if row is not None]
        weight, moved = self._found[places].T
        with np.errstate(all="ignore"):
            ratio = np.where(weight > 0, moved / weight, np.nan)
        table.values[np.ix_(rows, _COLUMNS)] = np.stack([weight, moved, ratio], 1)


class _SampledWeights:
    """The same by torch's kernels, on whatever device they are."""

    @torch.no_grad()
    def __init__(self, weights: Sequence[torch.Tensor]) -> None:
        self._weights = weights
        self._transfer: Transfer | None = None
        if not weights:
            return
        self._norms = norms(weights)
        self._shapes = [weight.shape for weight in weights]
        self._before = [_sample(weight).clone() for weight in weights]
        self._factors = [
            math.sqrt(weight.numel() / max(sample.numel(), 1))
            for weight, sample in zip(weights, self._before)
        ]

    @torch.no_grad()
    def finish(self) -> None:
        """Read them after the step."""
        if not self._weights:
            return
        for weight, shape, before in zip(self._weights, self._shapes, self._before):
            if weight.shape == shape and has_memory(weight):
                before.sub_(_sample(weight))
            else:
                before.fill_(math.nan)
        self._transfer = Transfer(self._norms.device, [self._norms, norms(self._before)])
        self._weights, self._before = [], []

    def collect(self) -> np.ndarray:
        """Give a row a weight: its norm, and that of its update; waits for the copy to the host."""
        if self._transfer is None:
            return np.zeros((0, 2))
        weight, moved = (array.astype(np.float64) for array in self._transfer.wait())
        return np.stack([weight, moved * np.array(self._factors)], 1)


def _sample(weight: torch.Tensor) -> torch.Tensor:
    """Give the weight, or of a large one elements spread over all of its rows and columns."""
    if weight.numel() <= EXACT_UPDATE or not weight.is_contiguous():
        return computable(weight)
    stride = weight.numel() // SAMPLE
    while math.gcd(stride, weight.shape[-1]) > 1:  # else it would always hit the same columns
        stride -= 1
    return computable(weight.view(-1)[::stride])
