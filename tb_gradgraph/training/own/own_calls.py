"""Run the statistics of the user's own on tensors, so that an error costs one number."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from tb_gradgraph.autograd import elements_of, undisturbed, warn_quietly
from tb_gradgraph.errors import NOT_READ, reason_of
from tb_gradgraph.own_statistics import MOST_LETTERS, MOST_PARTS, OwnMeasure, is_own_name
from tb_gradgraph.training.own.registry import Statistic

#: Types that numpy has. Others, such as bfloat16 and float8, are widened.
_KNOWN = frozenset(
    {torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.bool}
)
#: Devices on which nothing has to be waited for.
_AT_ONCE = frozenset({"cpu"})
#: A number, or a tensor of one element, of our own, on its device.
Found = float | torch.Tensor


class OwnCalls:
    """The statistics that one watch, or one capture, runs.

    Attributes:
        statistics: All of them.
    """

    def __init__(self, statistics: tuple[Statistic, ...]) -> None:
        self.statistics = statistics
        self._parts: dict[str, dict[str, None]] = {}  # the parts that each was seen to have
        self._reasons: dict[str, str] = {}  # the first error of each

    def of(self, of: str) -> tuple[Statistic, ...]:
        """Return those of gradients, of values or of weights."""
        return tuple(one for one in self.statistics if one.measure.of == of and one.is_registered)

    def run(self, statistic: Statistic, tensor: torch.Tensor) -> dict[str, Found]:
        """Return the numbers of a plain tensor, by name. It does not wait for a device.

        Raises:
            Exception: What the function raises, or TypeError if it returns no number.
        """
        with undisturbed(tensor.device):
            found = statistic.function(tensor.detach())
            return dict(self._named(statistic.name, found))

    def _named(self, name: str, found: Any) -> Iterator[tuple[str, Found]]:
        if not isinstance(found, Mapping):
            if found is not None:
                yield name, _number(found)
            return
        parts = self._parts.setdefault(name, {})
        for key, part in found.items():
            called = f"{name}/{key}"
            if not is_own_name(called) or len(str(key)) > MOST_LETTERS or not str(key):
                raise TypeError(f"expected keys that are short printable texts, got {key!r:.90}")
            if key not in parts and len(parts) == MOST_PARTS:
                raise TypeError(f"expected a dict of at most {MOST_PARTS} keys, got also {key!r}")
            parts[key] = None
            if part is not None:
                yield called, _number(part)

    def note(self, statistic: Statistic, node: str, error: Exception) -> None:
        """Note an error; the first one of a statistic is told."""
        if statistic.name in self._reasons:
            return
        reason = reason_of(error).removeprefix(NOT_READ)
        self._reasons[statistic.name] = f"at {node}: {reason}"
        warn_quietly(
            f"tb_gradgraph: the statistic {statistic.name!r} gave no number of {node!r} ({reason}). "
            "Such numbers are missing, which is not said again. Everything else is recorded, and the "
            "training is not affected.",
            RuntimeWarning,
        )

    def measure(self, statistic: Statistic) -> OwnMeasure:
        """Return what is known about the numbers of a statistic so far."""
        reason = self._reasons.get(statistic.name, "")
        return dataclasses.replace(statistic.measure, reason=reason)


def _number(found: Any) -> Found:
    """Return a number, or a copy of a tensor's only element on its device; TypeError if it is neither."""
    if isinstance(found, torch.Tensor):
        return _element(found)
    if isinstance(found, np.ndarray | np.generic):
        found = found.item()
    if not isinstance(found, numbers.Real):
        raise TypeError(f"expected a number, got {type(found).__name__}")
    return float(found)


def _element(found: torch.Tensor) -> Found:
    elements = elements_of(found)
    if elements is None or elements.numel() != 1 or elements.is_complex():
        of_shape = f"of shape {list(found.shape)} and type {str(found.dtype)[6:]}"
        raise TypeError(f"expected a number, got a tensor {of_shape}")
    if elements.device.type in _AT_ONCE:
        return float(elements.detach().item())
    dtype = elements.dtype if elements.dtype in _KNOWN else torch.float32
    return elements.detach().to(dtype, copy=True)
