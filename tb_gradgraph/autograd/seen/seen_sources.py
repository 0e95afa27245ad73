"""Where tensors without gradient came from, and what was cut off, as module calls and methods tell it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.origins import (
    Cut,
    Origin,
    Origins,
    TracedSource,
    TracedTensor,
    traced,
)
from tb_gradgraph.autograd.torch_internals.engine import dtype_name, sequence_nr, shape_of
from tb_gradgraph.graph import NO_SCOPE

#: Calls without gradient that are noted in one step: an evaluation may be long.
_MOST_SOURCES = 20_000


class SeenSources:
    """Notes calls of modules that need no gradient as one operation each, and tensors taken off.

    No tensor is kept: each is known as an object while it lives, or by its memory,
    whose identity is reserved.
    """

    def __init__(self, made_by: Callable[[torch.Tensor], AutogradNode | None]) -> None:
        """Prepare; ``made_by`` gives the node of a tensor where it is safe to ask."""
        self.cuts: list[Cut] = []
        self._made_by = made_by
        self._origins = Origins()

    @property
    def sources(self) -> list[TracedSource]:
        """What was noted, in order."""
        return self._origins.sources

    def known(self, tensor: torch.Tensor) -> Origin | None:
        """Give where a tensor without gradient came from, if that was seen."""
        return self._origins.known(tensor)

    def known_object(self, tensor: torch.Tensor) -> Origin | None:
        """Do the same for this very tensor alone, whatever has its memory."""
        return self._origins.known_object(tensor)

    def add_call(
        self,
        operation: str,
        scope: int,
        line: str,
        given: Sequence[torch.Tensor],
        made: Sequence[torch.Tensor],
    ) -> None:
        """Note a call that made tensors without gradient of those ``given``.

        What something within the call is known to have made, or it was given, is left out.
        """
        new = [
            tensor
            for tensor in made
            if not tensor.requires_grad
            and not any(tensor is each for each in given)
            and self.known(tensor) is None
        ]
        if not new or len(self.sources) >= _MOST_SOURCES:
            return
        inputs = self._origins_of(given)
        outputs = [traced(tensor, copies=False) for tensor in new]
        self._origins.add(TracedSource(operation, scope, line, outputs, inputs), new)

    def add_cut(self, operation: str, scope: int, line: str, tensor: torch.Tensor) -> Origin | None:
        """Note that ``operation`` is about to take ``tensor`` off from gradients; its memory stays.

        Give the origin of what it makes, if that is drawn.
        """
        made: Origin = ("source", len(self.sources), 0)
        node = self._made_by(tensor)
        if node is not None:
            self.cuts.append(Cut(sequence_nr(node), operation, line))
        if operation == "detach" and len(self.sources) < _MOST_SOURCES:
            shape, dtype = shape_of(tensor), dtype_name(tensor.dtype)
            inputs = self._origins_of([tensor])
            source = TracedSource(
                operation, scope, line, [TracedTensor(0, shape, dtype, None)], inputs
            )
            self._origins.add_memory(source, tensor)
        return made if len(self.sources) > made[1] else None

    def close(self) -> None:
        """Let go of every tensor's identity."""
        self._origins.close()

    def _origins_of(self, given: Sequence[torch.Tensor]) -> list[tuple[int, Origin]]:
        origins = map(self._origin_of, given)
        return [(nr, origin) for nr, origin in enumerate(origins) if origin is not None]

    def _origin_of(self, tensor: torch.Tensor) -> Origin | None:
        if tensor.requires_grad:
            node = self._made_by(tensor)
            if node is not None:
                return ("slot", sequence_nr(node), tensor.output_nr)
            return ("leaf", id(tensor), 0) if tensor.is_leaf and not tensor._is_view() else None
        known = self.known(tensor)
        if known is None:
            known = ("source", len(self.sources), 0)
            source = TracedSource("", NO_SCOPE, "", [traced(tensor, copies=False)], [])
            self._origins.add(source, [tensor])
        return known
