"""A number that may still be on its way from a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from tb_gradgraph.autograd import elements_of
from tb_gradgraph.summarize import Transfer

#: Types that numpy has. Others, such as bfloat16 and float8, are widened.
_KNOWN = frozenset(
    {torch.float64, torch.float32, torch.float16, torch.int64, torch.int32, torch.bool}
)


class LateNumber:
    """A number on its way to the host: a Python number, or the only element of a tensor."""

    def __init__(self, given: Any) -> None:
        """Begin the copy of a tensor. What is no real number is unknown; nothing is raised."""
        self._transfer: Transfer | None = None
        self._value: float | None = None
        try:
            if isinstance(given, torch.Tensor):
                self._begin(given)
            elif isinstance(given, np.ndarray):
                self._value = float(given.item())
            else:
                self._value = float(given)
        except Exception:  # an integer of 400 digits, a text, a tensor of an unusual class
            return

    def _begin(self, given: torch.Tensor) -> None:
        elements = elements_of(given)
        if elements is None or elements.numel() != 1 or elements.is_complex():
            return
        dtype = elements.dtype if elements.dtype in _KNOWN else torch.float32
        # On the CPU it is a copy too: the training may write to it before it is read.
        self._transfer = Transfer(elements.device, [elements.detach().to(dtype, copy=True)])

    def read(self) -> float | None:
        """Return the number, or None if it is unknown; waits for the copy."""
        transfer, self._transfer = self._transfer, None
        if transfer is not None:
            try:
                self._value = float(transfer.wait()[0][0])
            except Exception:  # a tensor of an unusual class
                return None
        return self._value


def read_known(numbers: Mapping[str, LateNumber]) -> dict[str, float]:
    """Return the numbers that are known, by name; waits for copies."""
    read = {name: number.read() for name, number in numbers.items()}
    return {name: number for name, number in read.items() if number is not None}
