"""Find names of tensors in variables of running code. No tensor is kept alive, and no node is made."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.origins import Origin
from tb_gradgraph.autograd.forward.variables import FoundNames
from tb_gradgraph.autograd.torch_internals.engine import viewed


class SeenNames(FoundNames):
    """Names of tensors in variables. Tensors without gradient are identified as live objects."""

    def __init__(
        self,
        tell: Callable[[AutogradNode], None],
        origin_of: Callable[[torch.Tensor], Origin | None],
    ) -> None:
        """Prepare.

        Args:
            tell: Called with the node of each tensor, if asking for the node is safe.
            origin_of: Returns the origin of a tensor without gradient, if it was seen.
        """
        super().__init__(origin_of)
        self._tell = tell
        self._without: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}  # by id
        self._versions: dict[int, int] = {}  # of leaves whose views were seen, by id

    def offer_all(self, variables: Mapping[str, Any], code: CodeType) -> None:
        """Note the tensors in the variables of ``code``."""
        for name, value in variables.items():
            if isinstance(value, torch.Tensor):
                self.offer(name, value, code)

    def offer(self, name: str, tensor: torch.Tensor, code: CodeType) -> None:
        """Note that a variable of ``code`` holds ``tensor``."""
        super().offer(name, tensor, code)
        if not tensor.requires_grad:
            known = self._without.get(id(tensor))
            if known is None or known[0]() is not tensor:
                self._without[id(tensor)] = (weakref.ref(tensor), name)

    def found_without_gradient(self) -> dict[int, str]:
        """Return the first name of each tensor without gradient that is still alive, by ``id``."""
        return {key: name for key, (alive, name) in self._without.items() if alive() is not None}

    def made_by(self, tensor: torch.Tensor) -> AutogradNode | None:
        """Return the node that made ``tensor``; None if asking would make autograd create a node.

        This is the case for a view whose memory was written to. Autograd makes its node when it is
        asked for, and the node would get a number that it would not have without us.
        """
        base = viewed(tensor)
        if base is tensor or not tensor.requires_grad:
            return tensor.grad_fn
        unwritten = 0
        if base.is_leaf:
            unwritten = self._versions.setdefault(id(base), base._version)
        return tensor.grad_fn if tensor._version == unwritten else None

    def release(self) -> None:
        """Release the callbacks, which hold this object in a cycle."""
        self._tell, self._origin_of = _ignore, _unknown

    def _made_by(self, tensor: torch.Tensor) -> AutogradNode | None:
        node = self.made_by(tensor)
        if node is not None:
            self._tell(node)
        return node


def _ignore(_node: AutogradNode) -> None:
    """Do nothing."""


def _unknown(_tensor: torch.Tensor) -> Origin | None:
    return None
