"""Describe tensors without gradient while a forward runs, before they are freed."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable

import torch

from tb_gradgraph.autograd.forward.origins import Origin, TracedTensor, traced
from tb_gradgraph.autograd.torch_internals.engine import viewed


@dataclasses.dataclass(frozen=True, slots=True)
class SeenTensor:
    """What is known about a tensor without gradient, which is not kept alive."""

    described: TracedTensor
    origin: Origin | None  # what made it, if that was seen
    itself: weakref.ref[torch.Tensor]
    viewed: weakref.ref[torch.Tensor]

    def tensor(self) -> torch.Tensor | None:
        """Return the tensor if it is alive and still needs no gradient, or else the base of the view."""
        for place in (self.itself, self.viewed):
            found = place()
            if found is not None and not found.requires_grad:
                return found
        return None

    def is_there(self) -> bool:
        """Return whether ``tensor`` refers to the tensor itself."""
        return self.itself() is not None and self.tensor() is self.itself()


class SeenTensors:
    """Describes each tensor once."""

    def __init__(self, origin_of: Callable[[torch.Tensor], Origin | None]) -> None:
        """Prepare; ``origin_of`` returns what made a tensor, if that was seen."""
        self._origin_of = origin_of
        self._seen: dict[int, SeenTensor] = {}  # by id

    def note(self, tensor: torch.Tensor) -> SeenTensor:
        """Describe ``tensor``, which needs no gradient."""
        known = self._seen.get(id(tensor))
        if known is None or known.itself() is not tensor:
            base = weakref.ref(viewed(tensor))
            described = traced(tensor, copies=False)
            known = SeenTensor(described, self._origin_of(tensor), weakref.ref(tensor), base)
            self._seen[id(tensor)] = known
        return known

    def forget(self) -> None:
        """Reset: from now on, tensors are made by operations with other numbers."""
        self._seen.clear()

    def release(self) -> None:
        """Release the callback, which holds this object."""
        self.forget()
        self._origin_of = _unknown


def _unknown(_tensor: torch.Tensor) -> Origin | None:
    return None
