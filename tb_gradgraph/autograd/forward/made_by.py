"""Ask which node made a tensor, only if this changes nothing."""

from __future__ import annotations

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.torch_internals.engine import viewed


class MadeBy:
    """Returns the node that made a tensor; None if asking would make autograd create a node.

    This is the case for a view whose memory was written to. Autograd makes its node when it is
    asked for, and the node would get a number that it would not have without us.
    """

    def __init__(self) -> None:
        self._versions: dict[int, int] = {}  # of leaves whose views were seen, by id

    def __call__(self, tensor: torch.Tensor) -> AutogradNode | None:
        """Return the node, if asking for it is safe."""
        base = viewed(tensor)
        if base is tensor or not tensor.requires_grad:
            return tensor.grad_fn
        unwritten = 0
        if base.is_leaf:
            unwritten = self._versions.setdefault(id(base), base._version)
        return tensor.grad_fn if tensor._version == unwritten else None
