"""Norms of the moments that Adam and its kin keep, read after a step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from tb_gradgraph.autograd import local_part
from tb_gradgraph.memory import has_memory
from tb_gradgraph.quantities import total_of
from tb_gradgraph.statistics import StatisticsTable, columns_of
from tb_gradgraph.summarize import Transfer, is_readable, native_norms, norms

#: The names in an optimizer's state, and those of their norms.
MOMENTS = {"exp_avg": "exp_avg_norm", "exp_avg_sq": "exp_avg_sq_norm"}

_COLUMNS = columns_of(MOMENTS.values())
_NAMES = tuple(MOMENTS)


class MomentReading:
    """The norms of one optimizer's moments. Those on an accelerator are copied without waiting."""

    def __init__(
        self, optimizer: Any, parameters: Sequence[torch.Tensor], rows: Sequence[int | None]
    ) -> None:
        """Read them now; ``rows`` are the parameters' rows, None for those without a row."""
        self._rows = rows
        self._places, tensors = _moments_of(optimizer, parameters)
        self._norms, left = native_norms(tensors)
        # Compiled code refuses what cannot be read, so only the others are asked.
        self._left = [place for place in left if _can_be_read(tensors[place])]
        self._there = np.ones(len(tensors), bool)
        self._there[left] = False
        self._there[self._left] = True
        self._transfer: Transfer | None = None
        if self._left:
            others = norms([tensors[place].detach() for place in self._left])
            self._transfer = Transfer(others.device, [others])

    def write_to(self, table: StatisticsTable) -> dict[str, np.ndarray]:
        """Fill in the columns of moments; return all norms of each moment. Waits for the copy."""
        if self._transfer is not None:
            self._norms[self._left] = self._transfer.wait()[0]
            self._transfer = None
        there = self._there
        parameters, moments = np.divmod(np.array(self._places, np.int64)[there], len(_NAMES))
        norms_of = self._norms[there]
        found = np.full((len(self._rows), len(_NAMES)), np.nan)
        found[parameters, moments] = norms_of
        places = [index for index, row in enumerate(self._rows) if row is not None]
        rows = [row for row in self._rows if row is not None]
        table.values[np.ix_(rows, _COLUMNS)] = found[places]
        return {MOMENTS[name]: norms_of[moments == nr] for nr, name in enumerate(_NAMES)}


def total_moments(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, float]:
    """Return the norm of each moment over all parameters together; NaN if one of them holds NaN."""
    whole = {name: np.concatenate([part[name] for part in parts]) for name in MOMENTS.values()}
    return {
        name: math.nan if np.isnan(found).any() else total_of(found)
        for name, found in whole.items()
        if len(found)
    }


def _moments_of(
    optimizer: Any, parameters: Sequence[torch.Tensor]
) -> tuple[list[int], list[torch.Tensor]]:
    """Return the moments, and the place of each: that of its parameter times two, plus its own.

    It makes no tuples: thousands of them would set off the garbage collector.
    """
    places: list[int] = []
    tensors: list[torch.Tensor] = []
    plain, count = torch.Tensor, len(_NAMES)
    try:
        state = optimizer.state
        for place, parameter in enumerate(parameters):
            if of_state := state.get(parameter):
                for nr, name in enumerate(_NAMES):
                    one = of_state.get(name)
                    one = one if type(one) is plain else _local(one)
                    if one is not None:
                        places.append(place * count + nr)
                        tensors.append(one)
    except Exception:  # an optimizer of another library, with a state of another kind
        return [], []
    return places, tensors


def _local(moment: Any) -> torch.Tensor | None:
    return local_part(moment) if isinstance(moment, torch.Tensor) else None


def _can_be_read(tensor: torch.Tensor) -> bool:
    return has_memory(tensor) and is_readable(tensor.dtype)
