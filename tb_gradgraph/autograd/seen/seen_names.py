"""Find names of tensors in variables of running code. No tensor is kept alive, and no node is made."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.made_by import MadeBy
from tb_gradgraph.autograd.forward.origins import Origin
from tb_gradgraph.autograd.forward.variables import FoundNames


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
        self.made_by = MadeBy()

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
