"""Track where tensors without gradient came from, while a forward runs."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Hashable
from typing import Any, NamedTuple, Protocol

import torch
from torch.autograd.graph import Node as AutogradNode
from torch.nn.parameter import is_lazy

from tb_gradgraph.autograd.torch_internals.engine import (
    StorageRef,
    dtype_name,
    sequence_nr,
    shape_of,
    storage_ref,
)
from tb_gradgraph.autograd.torch_internals.tensor_classes import small_copy

#: A tensor with gradient, identified by its node: (sequence number, output number).
SlotKey = tuple[int, int]
#: Where a tensor came from: a slot of the autograd graph, a leaf by id, or a traced source.
Origin = tuple[str, int, int]


@dataclasses.dataclass(slots=True)
class TracedTensor:
    """One output of a traced operation without gradient, or a tensor from outside."""

    identity: int
    shape: tuple[int, ...]
    dtype: str
    value: torch.Tensor | None


@dataclasses.dataclass(slots=True)
class TracedSource:
    """A forward operation whose outputs need no gradient, or a tensor from outside (operation "")."""

    operation: str
    scope: int
    source: str
    outputs: list[TracedTensor]
    inputs: list[tuple[int, Origin]]  # position among the tensor arguments, and origin


class Cut(NamedTuple):
    """A tensor that was cut off from gradients and then used."""

    number: int  # the number of the node that made it
    operation: str
    line: str


class ValueSink(Protocol):
    """Reads tensors. Must not raise."""

    def see(
        self,
        key: Hashable,
        tensor: torch.Tensor,
        again: bool = False,
        call: tuple[str, Any] | None = None,
    ) -> None:
        """Read a tensor, unless one was read for its key and this is not ``again``.

        The key is the numbers of a slot, or an ``Origin``; ``call`` is the name of the operation
        that made the tensor, and its arguments.
        """


class Origins:
    """Stores the origin of every tensor that an operation got or made.

    A tensor is recognized as the same object, or by its memory (autograd returns views as separate
    objects). Tensors are not kept alive, but the identity of their memory is reserved, so that
    reused memory is not mistaken for the old one.
    """

    def __init__(self) -> None:
        self.sources: list[TracedSource] = []
        self.of_leaves: dict[int, Origin] = {}  # by the leaf's id
        self.cuts: dict[int, AutogradNode] = {}  # nodes whose output was cut off and then used
        self.seen: dict[int, str] = {}  # where each leaf and given tensor was first used, by id
        self.line = ""  # where the running operation is
        self._by_id: dict[int, tuple[weakref.ref[torch.Tensor], Origin]] = {}
        self._by_storage: dict[int, tuple[StorageRef, Origin]] = {}

    def of(self, tensor: torch.Tensor, scope: int) -> Origin:
        """Return an argument's origin. A tensor not seen before is noted as an input of ``scope``."""
        if tensor.requires_grad:
            node = tensor.grad_fn
            if node is not None:
                number = sequence_nr(node)
                self.cuts[number] = node
                return ("slot", number, tensor.output_nr)
            if not tensor._is_view():
                self.seen.setdefault(id(tensor), self.line)
                return ("leaf", id(tensor), 0)
            # A view of a leaf that was made under no_grad claims to require grad but gets no gradient.
        return self.known(tensor) or self._given(tensor, scope)

    def known_object(self, tensor: torch.Tensor) -> Origin | None:
        """Return the origin of exactly this tensor object; ``None`` if it was not seen yet."""
        found = self._by_id.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def known(self, tensor: torch.Tensor) -> Origin | None:
        """Return the origin of a tensor without gradient; ``None`` if it was not seen."""
        found = self.known_object(tensor)
        if found is not None:
            return found
        storage = storage_ref(tensor)
        held = None if storage is None else self._by_storage.get(storage.cdata)
        return None if held is None else held[1]

    def add(self, source: TracedSource, outputs: list[torch.Tensor]) -> None:
        """Note an operation and the tensors that it made."""
        for nr, tensor in enumerate(outputs):
            self.put(tensor, ("source", len(self.sources), nr))
        self.sources.append(source)

    def add_memory(self, source: TracedSource, tensor: torch.Tensor) -> None:
        """Note an operation whose one output will have the memory of ``tensor``."""
        storage = storage_ref(tensor)
        if storage is not None:
            self._by_storage[storage.cdata] = (storage, ("source", len(self.sources), 0))
            self.sources.append(source)

    def put(self, tensor: torch.Tensor, origin: Origin) -> None:
        """Note where ``tensor``, and any view of it, comes from."""
        self._by_id[id(tensor)] = (weakref.ref(tensor), origin)
        storage = storage_ref(tensor)
        if storage is not None:
            self._by_storage[storage.cdata] = (storage, origin)

    def close(self) -> None:
        """Release the identities of all tensors; the sources stay."""
        self._by_id.clear()
        self._by_storage.clear()

    def note_leaf(self, leaf: torch.Tensor) -> None:
        """Note the origin of a tensor that was made to require grad afterwards."""
        self.seen.setdefault(id(leaf), self.line)
        found = self._by_id.get(id(leaf))
        if found is not None and found[0]() is leaf and not self._is_given(found[1]):
            self.of_leaves.setdefault(id(leaf), found[1])

    def _is_given(self, origin: Origin) -> bool:
        """Return whether a tensor is from outside, such as a parameter that was temporarily frozen."""
        kind, index, _ = origin
        return kind == "source" and not self.sources[index].operation

    def _given(self, tensor: torch.Tensor, scope: int) -> Origin:
        origin: Origin = ("source", len(self.sources), 0)
        self.seen.setdefault(id(tensor), self.line)
        self.sources.append(TracedSource("", scope, "", [traced(tensor)], []))
        self.put(tensor, origin)
        return origin


def traced(tensor: torch.Tensor, copies: bool = True) -> TracedTensor:
    """Describe a tensor without gradient, with a copy if it is small and copies are allowed."""
    dtype = dtype_name(tensor.dtype)
    if is_lazy(tensor):  # it has no shape, and reading one raises
        return TracedTensor(id(tensor), (), dtype, None)
    value = small_copy(tensor) if copies else None
    return TracedTensor(id(tensor), shape_of(tensor), dtype, value)
