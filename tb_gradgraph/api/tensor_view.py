"""One tensor of a captured graph, as users get it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tb_gradgraph.errors import NOT_READ
from tb_gradgraph.graph import Node, Scope, Slot
from tb_gradgraph.statistics import Statistics


@dataclasses.dataclass(frozen=True, repr=False)
class TensorView:
    """One tensor of a graph, and its gradient in one backward pass."""

    node: Node
    slot: Slot
    scope: Scope | None
    statistics: Statistics | None  # of the gradient (``|g|`` if complex); None if none arrived
    gradient: np.ndarray | None  # if it is kept whole
    value: np.ndarray | None  # if it is kept whole
    ran: bool  # whether a backward ran
    why_none: str = ""  # the reason, if only this pass lacks the gradient
    value_statistics: Statistics | None = None  # of the value; None if it was not read
    #: Numbers of the user's own statistics, by name.
    own: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __repr__(self) -> str:
        norm = None if self.statistics is None else self.statistics.l2_norm
        found = self.status if norm is None else f"gradient's l2_norm {norm:.4g}"
        return f"<TensorView {self.name!r}: {list(self.shape)} {self.dtype}, {found}>"

    @property
    def name(self) -> str:
        """Name of the tensor, or of its node if the tensor has none."""
        return self.slot.name or self.node.name

    @property
    def status(self) -> str:
        """``"ok"``, ``"zero"``, ``"not finite"``, or why there is no gradient."""
        if self.statistics is not None:
            if self.statistics.nonfinite:
                return "not finite"
            return "zero" if self.statistics.abs_max == 0 else "ok"
        why_none = self.why_none if self.slot.requires_grad else ""
        if why_none or self.node.note.startswith(NOT_READ):
            return why_none or self.node.note
        if self.node.reason:
            return self.node.note
        if not self.slot.requires_grad:
            return "needs no gradient"
        return "not reached by the backward" if self.ran else "backward has not run yet"

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the tensor."""
        return self.slot.shape

    @property
    def dtype(self) -> str:
        """Torch's name of the element type."""
        return self.slot.dtype

    @property
    def is_leaf(self) -> bool:
        """Return the tensor's ``torch.Tensor.is_leaf``."""
        return self.node.is_leaf

    @property
    def requires_grad(self) -> bool:
        """Return the tensor's ``torch.Tensor.requires_grad``."""
        return self.slot.requires_grad

    @property
    def retains_grad(self) -> bool:
        """Return the tensor's ``torch.Tensor.retains_grad``."""
        return self.slot.retains_grad

    @property
    def placement(self) -> str:
        """How the gradient is split over processes, such as ``fsdp:S0``; "" if this process has all of it.

        If it is not "", the statistics cover only the part that this process has.
        """
        return self.slot.placement

    @property
    def source(self) -> str:
        """Line of the user's code that made the tensor, as ``file.py:12 in forward``."""
        return self.node.source

    @property
    def order(self) -> int:
        """1 for the forward graph, 2 for nodes that a backward with ``create_graph`` made."""
        return self.node.order
