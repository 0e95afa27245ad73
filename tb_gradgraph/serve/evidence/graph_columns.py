"""Convert a graph's structure to columns in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tb_gradgraph.graph import Graph, Slot
from tb_gradgraph.record import Process, dashboard_names, tell_part


def graph_columns(graph: Graph, graph_hash: str, process: Process | None = None) -> dict[str, Any]:
    """Return the answer of the ``graph`` route; ``process`` wrote the graph."""
    slots = [slot for node in graph.nodes for slot in node.slots]
    return {
        "hash": graph_hash,
        "rows": graph.row_count,
        "scopes": {
            name: [getattr(scope, name) for scope in graph.scopes]
            for name in ("path", "call", "module", "parent")
        },
        "nodes": _node_columns(graph),
        "slots": {
            "name": [slot.name for slot in slots],
            "shape": [list(slot.shape) for slot in slots],
            "dtype": [slot.dtype for slot in slots],
            "requires_grad": [slot.requires_grad for slot in slots],
            "retains_grad": [slot.retains_grad for slot in slots],
            **_part_columns(slots, process),
        },
        "edges": {
            "source": [edge.source for edge in graph.edges],
            "source_slot": [edge.source_slot for edge in graph.edges],
            "target": [edge.target for edge in graph.edges],
            "target_input": [edge.target_input for edge in graph.edges],
            "row": graph.edge_rows.tolist(),
        },
    }


def _part_columns(slots: Sequence[Slot], process: Process | None) -> dict[str, list[str]]:
    """Return the slots of which only a part is recorded; nothing if all are complete."""
    if not any(slot.placement for slot in slots):
        return {}
    return {
        "placement": [slot.placement for slot in slots],
        "part": [tell_part(slot.placement, process) for slot in slots],
    }


def _node_columns(graph: Graph) -> dict[str, list[Any]]:
    plain = ("key", "name", "kind", "operation", "scope", "source", "is_leaf", "order")
    columns = {
        name: [getattr(node, name) for node in graph.nodes] for name in (*plain, "note", "reason")
    }
    columns["aliases"] = [list(node.aliases) for node in graph.nodes]
    columns["slot_count"] = [len(node.slots) for node in graph.nodes]
    columns["dashboard_name"] = dashboard_names(graph)
    return columns
