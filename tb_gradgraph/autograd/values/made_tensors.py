"""Pass on tensors that a forward makes, without changing what torch runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from tb_gradgraph.autograd.forward.made_by import MadeBy
from tb_gradgraph.autograd.forward.origins import SlotKey
from tb_gradgraph.autograd.torch_internals.engine import (
    autocast_paused,
    functions_not_overridden,
    modes_paused,
    peek_interpreters,
    sequence_nr,
)
from tb_gradgraph.autograd.torch_internals.tensor_classes import elements_of, placement_of


class MadeTensors:
    """Finds the key of each tensor, and passes on its elements, each key once.

    Attributes:
        placements: The placement of tensors of which this process has only a part, by key.
    """

    def __init__(
        self,
        take: Callable[[SlotKey, torch.Tensor], None],
        refuse: Callable[[SlotKey, Exception], None],
    ) -> None:
        """Prepare. ``take`` gets each key with a plain tensor, ``refuse`` what cannot be read."""
        self._take = take
        self._refuse = refuse
        self._made_by = MadeBy()
        self._last: SlotKey = (-1, 0)  # an outer module often returns what an inner one returned
        self.placements: dict[SlotKey, str] = {}

    def see(self, tensor: torch.Tensor) -> None:
        """Read a tensor that an operation with gradient has just made. The user's modes do not notice."""
        with functions_not_overridden():
            node = self._made_by(tensor)
            if node is None or peek_interpreters() is not None:
                return
            key = (sequence_nr(node), tensor.output_nr)
            if key == self._last:
                return
            self._last = key
            try:
                self._read(key, tensor)
            except Exception as error:
                self._refuse(key, error)

    def see_all(self, tensors: Iterable[torch.Tensor]) -> None:
        """Read several tensors, which an operation has made together."""
        for tensor in tensors:
            self.see(tensor)

    def _read(self, key: SlotKey, tensor: torch.Tensor) -> None:
        elements = elements_of(tensor)
        if elements is None:
            return
        if elements is not tensor and (place := placement_of(tensor)):
            self.placements[key] = place
        with torch.no_grad(), modes_paused(), autocast_paused():
            self._take(key, elements)
