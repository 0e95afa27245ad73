"""Autograd's graph and what the forward trace saw, put together as one Graph."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd import engine
from tb_gradgraph.autograd.forward import Forward, NamedTensor
from tb_gradgraph.autograd.trace import Origin, TracedSource
from tb_gradgraph.autograd.walk import Walk
from tb_gradgraph.graph import NO_SCOPE, Edge, Graph, Node, NodeKind, Scope, Slot


@dataclasses.dataclass(frozen=True)
class BuiltGraph:
    """A graph, and which of its rows each live autograd node fills.

    Holds no autograd node: the maps are by position in ``Walk.nodes``.
    """

    graph: Graph
    node_of: Mapping[AutogradNode, int]
    values: Mapping[int, torch.Tensor]  # by row: small tensors, copied
    leaves: tuple[tuple[int, torch.Tensor], ...]  # node index and leaf tensor


class GraphBuilder:
    """Collect nodes and edges in forward order, then freeze them."""

    def __init__(self, walked: Walk, forward: Forward) -> None:
        self._walk = walked
        self._forward = forward
        self._scopes: Sequence[Scope] = forward.scopes
        self._nodes: list[Node] = []
        self._edges: list[Edge] = []
        self._values: dict[tuple[int, int], torch.Tensor] = {}
        self._node_of: dict[AutogradNode, int] = {}
        self._leaf_of: dict[int, int] = {}  # id of a leaf tensor
        self._slot_of: dict[int, int] = {}  # sequence number
        self._source_of: dict[int, int] = {}  # index of a traced source
        self._leaves: list[tuple[int, torch.Tensor]] = []
        self._ordinals: dict[str, int] = {}
        self._names: set[str] = set()
        self._repeats: dict[str, int] = {}

    def build(self, roots: Sequence[NamedTensor]) -> BuiltGraph:
        """Make the graph behind ``roots``, which are the walk's roots with names."""
        needed = self._needed_sources()
        for node in self._walk.nodes:
            number = engine.sequence_nr(node)
            for index in needed.get(number, ()):
                self._add_source(index)
            self._add_autograd(node, number)
        self._connect()
        for root, (node, slot) in zip(roots, self._walk.roots):
            self._add_root(root, self._node_of[node], slot)
        graph = Graph(tuple(self._nodes), tuple(self._edges), tuple(self._scopes))
        offsets = graph.slot_offsets
        values = {int(offsets[node]) + slot: value for (node, slot), value in self._values.items()}
        return BuiltGraph(graph, self._node_of, values, tuple(self._leaves))

    def _needed_sources(self) -> dict[int, list[int]]:
        """Traced sources that reach a node, under the number of the node they come before.

        Sources are in forward order, so those that a source stands on come first.
        """
        sources = self._forward.sources
        first_use: dict[int, int] = {}
        for node in self._walk.nodes:
            number = engine.sequence_nr(node)
            pending = [origin for _, origin in self._forward.untracked_inputs.get(number, ())]
            while pending:
                kind, index, _ = pending.pop()
                if kind == "source" and index not in first_use:
                    first_use[index] = number
                    pending.extend(origin for _, origin in sources[index].inputs)
        needed: dict[int, list[int]] = {}
        for index in sorted(first_use):
            needed.setdefault(first_use[index], []).append(index)
        return needed

    def _add_autograd(self, node: AutogradNode, number: int) -> None:
        leaf = engine.accumulated_leaf(node)
        if leaf is not None:
            self._add_leaf(node, leaf)
            return
        scope = self._forward.scope_at(number)
        operation, note = _operation(node)
        name, key = self._operation_names(scope, operation)
        names = self._forward.names
        slots = tuple(
            Slot(
                names.get((number, nr), ""),
                shape,
                dtype,
                True,
                (number, nr) in self._forward.retaining,
            )
            for nr, (shape, dtype) in enumerate(engine.input_metadata(node))
        )
        index = len(self._nodes)
        line = self._forward.lines.get(number, "")
        self._nodes.append(
            Node(key, name, "operation", operation, scope, slots, False, line, note=note)
        )
        self._node_of[node] = self._slot_of[number] = index
        produced = () if engine.custom_function(node) else (self._forward.made,)
        for nr in range(len(slots)):
            for values in (*produced, self._forward.used):
                if (number, nr) in values:
                    self._values[index, nr] = values[number, nr]
                    break

    def _add_leaf(self, node: AutogradNode, leaf: torch.Tensor) -> None:
        known = self._forward.known.get(id(leaf))
        kind: NodeKind = known.kind if known else "leaf"
        names = known.names if known else ("leaf",)
        index = self._add_tensor(kind, names, leaf, known.scope if known else NO_SCOPE)
        self._node_of[node] = self._leaf_of[id(leaf)] = index
        self._leaves.append((index, leaf))

    def _add_tensor(
        self, kind: NodeKind, names: Sequence[str], tensor: torch.Tensor, scope: int
    ) -> int:
        name = self._unique(names[0])
        slot = Slot(
            name, tuple(tensor.shape), engine.dtype_name(tensor.dtype), tensor.requires_grad,
            tensor.retains_grad,
        )  # fmt: skip
        index = len(self._nodes)
        self._nodes.append(
            Node(
                f"{kind}:{name}",
                name,
                kind,
                "",
                scope,
                (slot,),
                tensor.is_leaf,
                aliases=tuple(names[1:]),
            )
        )
        if tensor.numel() <= self._forward.whole_limit:
            self._values[index, 0] = tensor.detach().clone()
        return index

    def _add_source(self, index: int) -> None:
        """Add what the trace saw without gradient: an operation, or a tensor from outside."""
        if index in self._source_of:
            return
        source = self._forward.sources[index]
        position = len(self._nodes)
        self._source_of[index] = position
        for nr, output in enumerate(source.outputs):
            if output.value is not None:
                self._values[position, nr] = output.value
        if source.operation:
            self._add_untracked_operation(source)
        else:
            self._add_given(source)

    def _add_untracked_operation(self, source: TracedSource) -> None:
        name, key = self._operation_names(source.scope, source.operation)
        slots = tuple(Slot("", out.shape, out.dtype, False) for out in source.outputs)
        self._nodes.append(
            Node(key, name, "operation", source.operation, source.scope, slots, True, source.source)
        )

    def _add_given(self, source: TracedSource) -> None:
        output = source.outputs[0]
        known = self._forward.known.get(output.identity)
        kind: NodeKind = known.kind if known else "constant"
        names = known.names if known else ("constant",)
        name = self._unique(names[0])
        slot = Slot(name, output.shape, output.dtype, False)
        scope = known.scope if known else source.scope
        self._nodes.append(
            Node(f"{kind}:{name}", name, kind, "", scope, (slot,), True, aliases=tuple(names[1:]))
        )

    def _add_root(self, root: NamedTensor, source: int, slot: int) -> None:
        name = self._unique(root.name)
        made = self._nodes[source].slots[slot]
        index = len(self._nodes)
        self._nodes.append(
            Node(
                f"root:{name}",
                name,
                "root",
                "",
                NO_SCOPE,
                (dataclasses.replace(made, name=name),),
                False,
            )
        )
        self._edges.append(Edge(source, slot, index, 0))
        if root.tensor.numel() <= self._forward.whole_limit:
            value = root.tensor.detach().clone()
            self._values[index, 0] = value
            self._values.setdefault((source, slot), value)

    def _connect(self) -> None:
        for edge in self._walk.edges:
            source, target = self._node_of[edge.source], self._node_of[edge.target]
            self._edges.append(Edge(source, edge.source_slot, target, edge.target_input))
        taken = {(edge.target, edge.target_input) for edge in self._edges}
        for number, inputs in self._forward.untracked_inputs.items():
            if number in self._slot_of:
                self._connect_sources(inputs, self._slot_of[number], taken)
        for index, target in self._source_of.items():
            self._connect_sources(self._forward.sources[index].inputs, target, taken)
        self._edges.sort(key=lambda edge: (edge.target, edge.target_input))

    def _connect_sources(
        self, inputs: Iterable[tuple[int, Origin]], target: int, taken: set[tuple[int, int]]
    ) -> None:
        for position, origin in inputs:
            found = self._origin(origin)
            if found is None or found[0] == target:
                continue
            while (target, position) in taken:
                position += 1
            taken.add((target, position))
            self._edges.append(Edge(*found, target, position))

    def _origin(self, origin: Origin) -> tuple[int, int] | None:
        kind, identity, slot = origin
        where = {"source": self._source_of, "leaf": self._leaf_of, "slot": self._slot_of}[kind]
        node = where.get(identity)
        return None if node is None or slot >= len(self._nodes[node].slots) else (node, slot)

    def _operation_names(self, scope: int, operation: str) -> tuple[str, str]:
        """Give name and key of the next ``operation`` in ``scope``."""
        path, call = "", 0
        if scope != NO_SCOPE:
            path, call = self._scopes[scope].path, self._scopes[scope].call
        place = f"{path}#{call}" if scope != NO_SCOPE else ""
        ordinal = self._ordinals.get(f"{place}/{operation}", 0)
        self._ordinals[f"{place}/{operation}"] = ordinal + 1
        shown = f"{path}#{call}" if call else path
        name = f"{shown}/{readable(operation)}" if shown else readable(operation)
        return (f"{name}.{ordinal}" if ordinal else name), f"{place}/{operation}.{ordinal}"

    def _unique(self, name: str) -> str:
        """Give ``name``, or where it is taken already the first free ``name_2``, ``name_3``."""
        candidate = name
        while candidate in self._names:
            self._repeats[name] = self._repeats.get(name, 1) + 1
            candidate = f"{name}_{self._repeats[name]}"
        self._names.add(candidate)
        return candidate


@functools.lru_cache(maxsize=1024)
def readable(operation: str) -> str:
    """Turn autograd's name of an operation into torch's: ``AddmmBackward0`` into ``addmm``."""
    stem = operation.rstrip("0123456789").removesuffix("Backward")
    if stem == operation:
        return operation  # a custom Function keeps its class's name
    letters = (f"_{letter.lower()}" if letter.isupper() else letter for letter in stem)
    return "".join(letters).lstrip("_")


def _operation(node: AutogradNode) -> tuple[str, str]:
    """Give the name of what ``node`` does, and a note for the reader."""
    cls = engine.custom_function(node)
    if cls is None:
        return node.name().rpartition("::")[2], ""
    place = engine.defined_at(cls)
    return cls.__name__, f"torch.autograd.Function {cls.__qualname__}" + (place and f", {place}")
