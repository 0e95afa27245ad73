"""Find the rows of a graph that each live autograd node and leaf fills."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.build.build import BuiltGraph

#: The rows that each slot of a node fills, or each edge into it.
SlotRows = tuple[tuple[int, ...], ...]
#: Rows by slot (with a root's row next to that of its slot), and by input for edges that share a slot.
NodeRows = tuple[SlotRows, SlotRows]


@dataclasses.dataclass(frozen=True, slots=True)
class NodeToRead:
    """One autograd node to hook, by its place in ``reach``."""

    place: int
    index: int  # among the graph's nodes
    rows: SlotRows
    number: int  # backward runs from the greatest number to the least


def rows_of_nodes(
    built: BuiltGraph, wanted: frozenset[int] | None
) -> Mapping[AutogradNode, NodeRows]:
    """Find the rows of each operation to hook, only ``wanted`` ones (None: all).

    Operations that use a wanted leaf are included even if they have no row. Only they show whether
    a gradient that reaches the leaf comes through this graph.
    """
    slots, edges = _slot_rows(built, wanted), _edge_rows(built, wanted)
    offsets = built.graph.slot_offsets.tolist()
    leaves = {index for index, _ in built.leaves}
    wanted_leaves = {index for index in leaves if offsets[index] in slots}
    users = {edge.target for edge in built.graph.edges if edge.source in wanted_leaves}
    found: dict[AutogradNode, NodeRows] = {}
    for node, index in built.node_of.items():
        if index in leaves:
            continue
        of_slots = tuple([slots.get(row, ()) for row in range(offsets[index], offsets[index + 1])])
        if any(of_slots) or index in edges or index in users:
            found[node] = (of_slots, _by_input(edges.get(index)))
    return found


def _by_input(rows: Mapping[int, int] | None) -> SlotRows:
    if not rows:
        return ()
    return tuple([(rows[nr],) if nr in rows else () for nr in range(max(rows) + 1)])


def rows_of_leaves(
    built: BuiltGraph, wanted: frozenset[int] | None
) -> Iterator[tuple[torch.Tensor, tuple[int, ...]]]:
    """Find the rows of each leaf tensor, only ``wanted`` ones (None: all)."""
    slots = _slot_rows(built, wanted)
    for index, leaf in built.leaves:
        rows = slots.get(int(built.graph.slot_offsets[index]), ())
        if rows:
            yield leaf, rows


def _slot_rows(built: BuiltGraph, wanted: frozenset[int] | None) -> Mapping[int, tuple[int, ...]]:
    """Return the rows that a slot's gradient fills: its own, and that of a root that it alone feeds."""
    graph = built.graph
    offsets = graph.slot_offsets.tolist()
    rows: dict[int, tuple[int, ...]] = {
        row: (row,) for row in range(graph.slot_count) if wanted is None or row in wanted
    }
    for edge, row in zip(graph.edges, graph.edge_rows.tolist()):
        root = offsets[edge.target]
        if graph.nodes[edge.target].kind == "root" and row < graph.slot_count:
            if wanted is None or root in wanted:
                rows[row] = (*rows.get(row, ()), root)
    return rows


def _edge_rows(built: BuiltGraph, wanted: frozenset[int] | None) -> Mapping[int, Mapping[int, int]]:
    """Return the rows of edges that have their own share, by target node and input."""
    graph = built.graph
    shared: dict[int, dict[int, int]] = {}
    for edge, row in zip(graph.edges, graph.edge_rows.tolist()):
        slot = graph.nodes[edge.source].slots[edge.source_slot]
        if row >= graph.slot_count and slot.requires_grad and (wanted is None or row in wanted):
            shared.setdefault(edge.target, {})[edge.target_input] = row
    return shared
