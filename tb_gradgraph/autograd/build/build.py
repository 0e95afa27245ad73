"""Join autograd's graph and what was seen of the forward into one Graph."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Hashable, Iterator, Mapping, Sequence

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.build.draft import GraphDraft, slot_of
from tb_gradgraph.autograd.build.source_nodes import SourceNodes
from tb_gradgraph.autograd.forward.forward import (
    NOT_KNOWN,
    Forward,
    KnownTensor,
    NamedTensor,
    WhyNone,
)
from tb_gradgraph.autograd.torch_internals import engine
from tb_gradgraph.autograd.torch_internals.faults import NodeFaults
from tb_gradgraph.autograd.torch_internals.tensor_classes import elements_of
from tb_gradgraph.autograd.torch_internals.walk import Walk
from tb_gradgraph.autograd.user_code.functions import operation_of
from tb_gradgraph.errors import reason_of
from tb_gradgraph.graph import NO_SCOPE, UNKNOWN_DTYPE, Graph, Slot

#: Shape and type of each slot.
Described = Sequence[tuple[tuple[int, ...], str]]


@dataclasses.dataclass(frozen=True)
class BuiltGraph:
    """A graph, and the place of each live autograd node and leaf in it."""

    graph: Graph
    node_of: Mapping[AutogradNode, int]
    values: Mapping[int, torch.Tensor]  # by row: small tensors, copied
    leaves: tuple[tuple[int, torch.Tensor], ...]  # node index and leaf tensor
    drawn: Mapping[
        int, int
    ]  # node index of every leaf by ``id``, even of those that no gradient reaches
    #: Node index of every tensor without gradient that came from outside, by ``id``.
    given: Mapping[int, int] = dataclasses.field(default_factory=dict)
    by_number: Mapping[int, int] = dataclasses.field(default_factory=dict)  # node index
    by_source: Mapping[int, int] = dataclasses.field(default_factory=dict)  # the same by its place

    def rows_by_key(self) -> Iterator[tuple[Hashable, int]]:
        """Yield the key of each slot, as a trace passes it to a ``ValueSink``, with its row."""
        offsets = self.graph.slot_offsets.tolist()
        for number, index in self.by_number.items():
            for nr in range(len(self.graph.nodes[index].slots)):
                yield (number, nr), offsets[index] + nr
        for source, index in self.by_source.items():
            for nr in range(len(self.graph.nodes[index].slots)):
                yield ("source", source, nr), offsets[index] + nr
        for identity, index in self.drawn.items():
            yield ("leaf", identity, 0), offsets[index]


def build_graph(walked: Walk, forward: Forward, roots: Sequence[NamedTensor]) -> BuiltGraph:
    """Make the graph behind ``roots``, which are the walk's roots with names."""
    draft = GraphDraft(forward.scopes)
    sources = SourceNodes(forward, draft)
    added = _AutogradNodes(forward, draft, sources, walked)
    added.add_feeding()
    for node in walked.nodes:
        added.add(node)
    added.add_unused()
    for edge in walked.edges:  # these first, because only these need autograd's own positions
        source, target = added.node_of[edge.source], added.node_of[edge.target]
        draft.add_edge(source, edge.source_slot, target, edge.target_input)
    for leaf, user in added.hidden_uses:
        draft.add_edge(leaf, 0, user, 0)
    sources.connect(added.by_number, added.by_leaf)
    added.keep_values()
    for root, (node, slot) in zip(roots, walked.roots):
        _add_root(draft, root, added.node_of[node], slot, added.faults)
    graph, values = draft.freeze()
    added.faults.tell()
    return BuiltGraph(
        *(graph, added.node_of, values, tuple(added.leaves), added.drawn),
        *(sources.given(), added.by_number, sources.index_of),
    )


class _AutogradNodes:
    """Adds autograd's nodes, operations and leaves, and remembers the index of each."""

    def __init__(
        self, forward: Forward, draft: GraphDraft, sources: SourceNodes, walked: Walk
    ) -> None:
        self.node_of: dict[AutogradNode, int] = {}
        self.by_number: dict[int, int] = {}
        self.by_leaf: dict[int, int] = {}  # by the tensor's id
        self.drawn: dict[int, int] = {}  # the same, including leaves that nothing uses
        self.hidden_uses: list[tuple[int, int]] = []  # leaf, and the operation that uses it
        self.leaves: list[tuple[int, torch.Tensor]] = []
        self.faults = NodeFaults()
        self._forward = forward
        self._draft = draft
        self._sources = sources
        self._walked = walked

    def add(self, node: AutogradNode) -> None:
        try:
            leaf = self._walked.leaves.get(node)
            if leaf is None:
                self.node_of[node] = self._add_operation(node, self._forward.number_of(node))
            else:
                self.node_of[node] = self._add_leaf(leaf)
        except Exception as error:
            self.node_of[node] = self._add_unread(node, error)

    def _add_unread(self, node: AutogradNode, error: Exception) -> int:
        """Add a node that could not be read, with the slots that its users need."""
        name = type(node).__name__
        self.faults.note(name, error)
        slots = tuple(_slot("", *described, False) for described in self._unknown_slots(node))
        return self._draft.add_operation(NO_SCOPE, name, slots, note=reason_of(error))

    def _unknown_slots(self, node: AutogradNode) -> Described:
        used = [edge.source_slot for edge in self._walked.edges if edge.source is node]
        used += [slot for root, slot in self._walked.roots if root is node]
        return [((), UNKNOWN_DTYPE)] * (max(used, default=0) + 1)

    def add_feeding(self) -> None:
        """Add the parameters that feed the graph only through operations without gradient."""
        for parameter, how in self._forward.feeding:
            self.by_leaf[id(parameter)] = self._draw_leaf(parameter, how)

    def add_unused(self) -> None:
        """Add the parameters outside the graph, unless they feed it without gradient."""
        given = self._sources.given()
        for parameter, reason in self._forward.unused:
            if parameter.requires_grad or id(parameter) not in given:
                self._draw_leaf(parameter, reason)

    def _add_operation(self, node: AutogradNode, number: int) -> int:
        forward, names, retaining = self._forward, self._forward.names, self._forward.retaining
        hidden = [self._add_leaf(leaf) for leaf in forward.hidden_leaves.get(number, {}).values()]
        self._sources.add_for_operation(number)
        operation, note, described = self._read(node)
        slots = tuple(
            [
                _slot(names.get((number, nr), ""), *of_slot, (number, nr) in retaining)
                for nr, of_slot in enumerate(described or self._unknown_slots(node))
            ]
        )
        index = self._draft.add_operation(
            NO_SCOPE if number < 0 else forward.scope_at(number),
            forward.operations.get(number, operation),
            slots,
            source=forward.lines.get(number, ""),
            note=note,
            order=2 if number in forward.second_order else 1,
            inside=forward.inside.get(number, ""),
        )
        self.by_number[number] = index
        self.hidden_uses += [(leaf, index) for leaf in hidden]
        return index

    def _read(self, node: AutogradNode) -> tuple[str, str, Described]:
        """Return the operation, a note, and shape and type of each slot; note what cannot be read."""
        try:
            return *operation_of(node), engine.input_metadata(node)
        except Exception:  # one of the two may still be known
            faults = NodeFaults()
            operation, note = faults.instead((type(node).__name__, ""), operation_of, node)
            described: Described = faults.instead((), engine.input_metadata, node)
            return operation, self.faults.take(operation, faults) or note, described

    def keep_values(self) -> None:
        """Keep the values of operations: as they returned them, or else as others received them."""
        for values in (self._forward.made, self._forward.used):
            for (number, slot), value in values.items():
                index = self.by_number.get(number)
                if index is not None and slot < len(self._draft.nodes[index].slots):
                    self._draft.keep_value(index, slot, value)

    def _add_leaf(self, leaf: torch.Tensor) -> int:
        if id(leaf) not in self.by_leaf:
            self._sources.add_for_leaf(id(leaf))
            kept = self.faults.instead(NOT_KNOWN, _kept, leaf)
            index = self._draw_leaf(leaf, self._forward.cut_leaves.get(id(leaf)) or kept)
            self.by_leaf[id(leaf)] = index
            self.leaves.append((index, leaf))
        return self.by_leaf[id(leaf)]

    def _draw_leaf(self, leaf: torch.Tensor, why_none: WhyNone) -> int:
        name = self._forward.leaf_names.get(id(leaf), "leaf")
        known = self._forward.known.get(id(leaf)) or KnownTensor("leaf", (name,))
        faults = NodeFaults()
        drawn = leaf if known.stands_for is None else known.stands_for
        slot = faults.instead(Slot("", (), UNKNOWN_DTYPE), slot_of, drawn)
        value = faults.instead(None, self._draft.copy_small, drawn)
        if note := self.faults.take(known.names[0], faults):
            why_none = WhyNone(why_none.reason, why_none.note or note)
        index = self._draft.add_tensor(
            known.kind, known.names, slot, known.scope, leaf.is_leaf, why_none
        )
        self._draft.keep_value(index, 0, value)
        self.drawn[id(leaf)] = self.drawn[id(drawn)] = index
        return index


def _kept(leaf: torch.Tensor) -> WhyNone:
    """Say why a leaf's gradient cannot be read, if its class does not give access to elements."""
    if elements_of(leaf.detach()) is not None:
        return NOT_KNOWN
    return WhyNone("", f"{type(leaf).__name__} does not give its elements to be read.")


@functools.lru_cache(maxsize=4096)
def _slot(name: str, shape: tuple[int, ...], dtype: str, retains_grad: bool) -> Slot:
    """Return the slot of an operation with gradient; cached, because most slots are equal."""
    return Slot(name, shape, dtype, True, retains_grad)


def _add_root(
    draft: GraphDraft, root: NamedTensor, source: int, slot: int, faults: NodeFaults
) -> None:
    made = draft.nodes[source].slots[slot]
    index = draft.add_tensor("root", (root.name,), made, NO_SCOPE, False)
    draft.add_edge(source, slot, index, 0)
    if not isinstance(root.tensor, torch.Tensor):
        return  # a GradientEdge of torch has no value
    value = faults.instead(None, draft.copy_small, root.tensor, name=root.name)
    draft.keep_value(index, 0, value)
    draft.keep_value(source, slot, value)
