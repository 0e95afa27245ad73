"""A graph that is being built."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from tb_gradgraph.autograd.build.naming import NodeNames
from tb_gradgraph.autograd.forward.forward import NOT_KNOWN, WhyNone
from tb_gradgraph.autograd.torch_internals.engine import dtype_name, plain_shape
from tb_gradgraph.autograd.torch_internals.tensor_classes import placement_of, small_copy
from tb_gradgraph.graph import Edge, Graph, Node, NodeKind, Scope, Slot


class GraphDraft:
    """Nodes, edges and values so far. Nodes are added, and named, in forward order."""

    def __init__(self, scopes: Sequence[Scope]) -> None:
        self.nodes: list[Node] = []
        self._scopes = tuple(scopes)
        self._names = NodeNames(scopes)
        self._edges: dict[tuple[int, int], Edge] = {}  # by target and its input
        self._values: dict[tuple[int, int], torch.Tensor] = {}  # by node and slot

    def add_operation(
        self,
        scope: int,
        operation: str,
        slots: tuple[Slot, ...],
        *,
        source: str = "",
        note: str = "",
        order: int = 1,
        inside: str = "",
    ) -> int:
        """Add an operation, and return its index. It has no gradient if no slot requires one."""
        name, key = self._names.of_operation(scope, operation)
        leaf = not any([slot.requires_grad for slot in slots])
        node = Node(
            *(key, name, "operation", operation, scope, slots, leaf, source, order),
            note=note,
            inside=inside,
        )
        return self._append(node)

    def add_tensor(
        self,
        kind: NodeKind,
        names: Sequence[str],
        slot: Slot,
        scope: int,
        is_leaf: bool,
        why_none: WhyNone = NOT_KNOWN,
    ) -> int:
        """Add a node that is a tensor itself, named by the first of ``names``. Return its index."""
        name = self._names.of_tensor(names[0])
        slot = dataclasses.replace(slot, name=name)
        key = f"{kind}:{name}"
        node = Node(
            *(key, name, kind, "", scope, (slot,), is_leaf),
            aliases=tuple(names[1:]),
            note=why_none.note,
            reason=why_none.reason,
        )
        return self._append(node)

    def add_edge(self, source: int, slot: int, target: int, position: int) -> None:
        """Add an edge into input ``position`` of ``target``, or into the next free one."""
        while (target, position) in self._edges:
            position += 1
        self._edges[target, position] = Edge(source, slot, target, position)

    def keep_value(self, node: int, slot: int, value: torch.Tensor | None) -> None:
        """Keep the value of a slot, unless there is none or one is kept already."""
        if value is not None:
            self._values.setdefault((node, slot), value)

    def copy_small(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Return a copy of a tensor that is small enough to be kept whole."""
        return small_copy(tensor)

    def freeze(self) -> tuple[Graph, dict[int, torch.Tensor]]:
        """Return the graph, and its values by row."""
        edges = tuple(self._edges[place] for place in sorted(self._edges))
        graph = Graph(tuple(self.nodes), edges, self._scopes)
        offsets = graph.slot_offsets.tolist()
        return graph, {offsets[node] + slot: v for (node, slot), v in self._values.items()}

    def _append(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1


def slot_of(tensor: torch.Tensor) -> Slot:
    """Return the slot of a tensor. It gets its name when it is added."""
    dtype, shape = dtype_name(tensor.dtype), plain_shape(tensor.shape)
    placement = placement_of(tensor)
    return Slot("", shape, dtype, tensor.requires_grad, tensor.retains_grad, placement)
