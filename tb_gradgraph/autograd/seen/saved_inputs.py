"""Find inputs without gradient that operations saved for their backward."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Protocol

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.forward import KnownTensor
from tb_gradgraph.autograd.forward.origins import Origin, TracedSource, TracedTensor, traced
from tb_gradgraph.autograd.forward.schemas import schemas_of, word_of
from tb_gradgraph.autograd.forward.seen_tensors import SeenTensor
from tb_gradgraph.autograd.operands.noted_operands import NotedOperands
from tb_gradgraph.autograd.seen.packed_tensors import PackedTensors, packed_objects
from tb_gradgraph.autograd.seen.seen_sources import SeenSources
from tb_gradgraph.autograd.torch_internals.engine import (
    input_metadata,
    names_of_saved,
    saved_tensors,
    viewed,
)
from tb_gradgraph.autograd.torch_internals.walk import Walk
from tb_gradgraph.graph import NO_SCOPE

#: Inputs that an operation saves for its backward, by autograd's names. Other saved tensors
#: (results, batch statistics) were made by the operation itself.
SAVED_INPUTS = frozenset(
    (
        *(
            "self",
            "other",
            "input",
            "weight",
            "mat1",
            "mat2",
            "vec",
            "vec1",
            "vec2",
            "batch1",
            "batch2",
        ),
        *("tensor1", "tensor2", "target", "indices", "index", "mask", "condition", "exponent"),
        *("tensors", "query", "key", "value", "attn_mask", "attn_bias"),
        *("running_mean", "running_var", "src", "source", "values", "end", "start", "p"),
    )
)


#: The identity of a tensor that no longer exists.
_GONE = -1


def saved_places(
    order: Sequence[AutogradNode], wanted: Container[int]
) -> dict[int, tuple[int, str]]:
    """Return where tensors are saved, by ``id``: the place of a node in ``order``, and autograd's name."""
    found: dict[int, tuple[int, str]] = {}
    for at, node in enumerate(order):
        for name, tensor in saved_tensors(node, _saved_names(type(node))):
            if id(tensor) in wanted:
                found.setdefault(id(tensor), (at, name))
    return found


def saved_tensor(node: AutogradNode, name: str) -> torch.Tensor | None:
    """Return the first tensor that a node saved under a name; None if it cannot be had."""
    return next((tensor for _, tensor in saved_tensors(node, (name,))), None)


class SeenOfInputs(Protocol):
    """What was seen about tensors without gradient while the forward ran."""

    @property
    def sources(self) -> SeenSources:
        """Return where they came from."""

    @property
    def packed(self) -> PackedTensors:
        """Return the tensors that hooks packed."""

    @property
    def operands(self) -> NotedOperands:
        """Return the operands that lines and calls show."""


def saved_inputs(
    walked: Walk,
    known: Mapping[int, KnownTensor],
    number_of: Callable[[AutogradNode], int],
    copies: bool = True,
    notes: SeenOfInputs | None = None,
) -> tuple[list[TracedSource], dict[int, list[tuple[int, Origin]]]]:
    """Find the tensors without gradient that operations used, each once, by the node's ``number_of``.

    These are tensors that an operation saved. Packed tensors, and operands that are not saved, are
    included if ``notes`` knows them. Numbers (``2 * x``) are saved as 0-d tensors too; those
    without a name are left out. A view of a known tensor, such as a frozen weight, counts as that
    tensor. Small tensors are copied, unless ``copies`` is false. If ``notes`` knows what made a
    tensor, that is its source.
    """
    found = _Inputs(known, copies, None if notes is None else notes.sources)
    given = {} if notes is None else notes.operands.functions.given(walked.nodes)
    for node in walked.nodes:
        number = number_of(node)
        if number < 0:
            continue
        names, told = _saved_names(type(node)), set()
        for name, saved in saved_tensors(node, names):
            told.add(name)
            if not saved.requires_grad:
                found.add(number, saved)
        if notes is None:
            continue
        for name, packed in packed_objects(node, names):
            told.add(name)
            found.add_seen(number, notes.packed.given(number, packed))
        for _, operand in notes.operands.lines.found.get(number, ()):
            found.add_operand(number, operand)
        arguments = [each for each in given.get(number, ()) if each[0] not in told]
        for _, seen in arguments:
            found.add_operand(number, seen)
        if all(name != "self" for name, _ in arguments):
            found.add_destination(number, node)
    return found.sources, found.inputs


class _Inputs:
    """The inputs found so far, and the tensors from outside that are drawn for them."""

    def __init__(
        self, known: Mapping[int, KnownTensor], copies: bool, seen: SeenSources | None
    ) -> None:
        self.sources = [] if seen is None else list(seen.sources)
        self.inputs: dict[int, list[tuple[int, Origin]]] = {}
        self._known, self._copies, self._seen = known, copies, seen
        self._given: dict[int, tuple[Origin, object]] = {}  # by ``id`` of a kept object

    def add(self, number: int, saved: torch.Tensor, is_named: bool = False) -> None:
        """Add a tensor that is still alive."""
        base = viewed(saved)
        tensor = base if id(base) in self._known and id(saved) not in self._known else saved
        origin = None if self._seen is None else self._seen.known(tensor)
        if origin is None:
            if tensor.dim() == 0 and not is_named and id(tensor) not in self._known:
                return
            origin = self._outside(tensor, lambda: traced(tensor, self._copies))
        self._put(number, origin)

    def add_operand(self, number: int, operand: SeenTensor | Origin) -> None:
        """Add an operand that the user's code named."""
        if isinstance(operand, SeenTensor):
            self.add_seen(number, operand, is_named=True)
        else:
            self._put(number, operand)

    def add_seen(self, number: int, seen: SeenTensor | None, is_named: bool = False) -> None:
        """Add a tensor that was seen."""
        if seen is None:
            return
        tensor = seen.tensor()
        if seen.origin is not None:
            self._put(number, seen.origin)
        elif tensor is not None and (seen.is_there() or id(tensor) in self._known):
            self.add(number, tensor, is_named)
        elif seen.described.shape or is_named:
            described = dataclasses.replace(seen.described, identity=_GONE)
            self._put(number, self._outside(seen, lambda: described))

    def add_destination(self, number: int, node: AutogradNode) -> None:
        """Add the destination of a copy, if it had no gradient; it has the shape of the result."""
        if type(node).__name__ == "CopyBackwards" and node.next_functions[0][0] is None:
            described = TracedTensor(_GONE, *input_metadata(node)[0], None)
            self._put(number, self._outside(described, lambda: described))

    def _outside(self, holder: object, describe: Callable[[], TracedTensor]) -> Origin:
        if id(holder) not in self._given:
            self._given[id(holder)] = (("source", len(self.sources), 0), holder)
            self.sources.append(TracedSource("", NO_SCOPE, "", [describe()], []))
        return self._given[id(holder)][0]

    def _put(self, number: int, origin: Origin) -> None:
        found = self.inputs.setdefault(number, [])
        found.append((len(found), origin))


@functools.lru_cache(maxsize=4096)
def _saved_names(kind: type) -> frozenset[str]:
    """Return the names of inputs that nodes of a kind save. ``indices`` may be a result, as of ``max``."""
    saved = SAVED_INPUTS.intersection(names_of_saved(kind))
    if not saved:
        return saved
    schemas = schemas_of(word_of(kind.__name__))
    arguments = [argument for schema in schemas for argument in schema.arguments]
    given = {each.name for each in arguments if not (each.alias_info and each.alias_info.is_write)}
    made = {result.name for schema in schemas for result in schema.returns}
    return saved - (made - given)
