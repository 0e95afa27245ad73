"""Note where tensors without gradient came from, and which were cut off, from calls."""

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
from tb_gradgraph.graph import NO_SCOPE, UNKNOWN_DTYPE

#: How many calls without gradient are noted in one step at most, because an evaluation may be long.
_MOST_SOURCES = 20_000


class SeenSources:
    """Notes each call of a module without gradient as one operation, and tensors that were cut off.

    No tensor is kept alive. Each is identified as an object while it is alive, or by its memory,
    whose identity is reserved.
    """

    def __init__(self, made_by: Callable[[torch.Tensor], AutogradNode | None]) -> None:
        """Prepare; ``made_by`` returns a tensor's node if asking is safe."""
        self.cuts: list[Cut] = []
        self._made_by = made_by
        self._origins = Origins()

    @property
    def sources(self) -> list[TracedSource]:
        """The notes, in order."""
        return self._origins.sources

    def known(self, tensor: torch.Tensor) -> Origin | None:
        """Return the origin of a tensor without gradient, if it was seen."""
        return self._origins.known(tensor)

    def known_object(self, tensor: torch.Tensor) -> Origin | None:
        """Do the same for exactly this tensor object, without its views."""
        return self._origins.known_object(tensor)

    def add_call(
        self,
        operation: str,
        scope: int,
        line: str,
        given: Sequence[torch.Tensor],
        made: Sequence[torch.Tensor],
    ) -> None:
        """Note a call that made tensors without gradient from the tensors ``given``.

        Tensors that something within the call made or got are left out.
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
        """Note that ``operation`` is about to detach ``tensor`` from gradients. The result shares its memory.

        Return the origin of the result, if it is drawn.
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

    def add_result(
        self, operation: str, scope: int, line: str, given: Sequence[torch.Tensor]
    ) -> Origin | None:
        """Note that ``operation`` is about to make a tensor about which nothing else is known."""
        if len(self.sources) >= _MOST_SOURCES:
            return None
        inputs = self._origins_of(given)
        made: Origin = ("source", len(self.sources), 0)
        outputs = [TracedTensor(0, (), UNKNOWN_DTYPE, None)]
        self._origins.add(TracedSource(operation, scope, line, outputs, inputs), [])
        return made

    def close(self) -> None:
        """Release the identities of all tensors."""
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
