"""A captured case in plain values that two processes can compare."""

from __future__ import annotations

from typing import Any

import torch

import tb_gradgraph
from tb_gradgraph.api.grad_graph import GradGraph
from tb_gradgraph.summarize import StatisticsBatch
from tests.autograd.expected import made
from tests.autograd.models import CASES


def describe(name: str) -> dict[str, Any]:
    """Capture a case; give operations, edges and parameters with every number, in no order.

    Only what has a gradient is told, and no name that comes from a variable.
    """
    case = CASES[name]
    graph = tb_gradgraph.capture(made(case), case.input, loss_fn=case.loss_fn)
    (found,) = graph.backward_passes
    kept = [index for index, node in enumerate(graph.nodes) if node.requires_grad]
    offsets = graph.graph.slot_offsets.tolist()
    numbers = [
        found.table.values[row].tobytes().hex() if found.table.present[row] else None
        for row in range(graph.graph.slot_count)
    ]
    described = [
        [_place(graph, index), _word(graph, index), numbers[offsets[index] : offsets[index + 1]]]
        for index in kept
    ]
    edges = [
        [
            *(_place(graph, edge.source), _word(graph, edge.source), edge.source_slot),
            *(_place(graph, edge.target), _word(graph, edge.target), edge.target_input),
        ]
        for edge in graph.edges
        if edge.source in kept and edge.target in kept
    ]
    return {"nodes": sorted(described, key=str), "edges": sorted(edges, key=str)}


def numbers_of(gradient: torch.Tensor | None) -> str | None:
    """Return the statistics of a gradient in the form that ``describe`` has them in."""
    if gradient is None:
        return None
    batch = StatisticsBatch(1)
    batch.add(0, gradient)
    return batch.finish()[0].values[0].tobytes().hex()


def _place(graph: GradGraph, index: int) -> str:
    scope = graph.nodes[index].scope
    return "" if scope < 0 else f"{graph.scopes[scope].path}#{graph.scopes[scope].call}"


def _word(graph: GradGraph, index: int) -> str:
    node = graph.nodes[index]
    if node.kind == "leaf":
        return "leaf:"
    # Torch chooses by whether operations are watched: a view or an alias, this overload or that.
    return node.operation.replace("ReshapeAlias", "View").rstrip("0123456789") or node.key
