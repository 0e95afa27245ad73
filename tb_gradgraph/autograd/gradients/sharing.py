"""Rows whose gradient is another row's in a different shape: statistics are taken once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set

from tb_gradgraph.graph import Edge, Graph
from tb_gradgraph.statistics import WHOLE_LIMIT

#: Operations whose backward hands the gradient on with its elements unchanged.
_SHAPE_ONLY = (
    *("View", "UnsafeView", "ReshapeAlias", "T", "Transpose", "Permute", "Unsqueeze"),
    *("Squeeze", "Alias", "Clone", "Expand", "Movedim", "Unflatten", "Flatten"),
)
#: Those that hand it to each input of the same shape; Add hands ``alpha`` times it to its second.
_PASSING = {("Add", 0), ("Add", 1), ("Sub", 0)}

_BROADCASTING = {"Add", "Sub", "Expand"}


def shared_rows(graph: Graph, rows: Set[int]) -> dict[int, int]:
    """Return for each row of ``rows`` that repeats another the row to read instead.

    The elements must be the same in number and type, the operation must hand them on
    unchanged, and it must be the only user of what it was given. A parameter's row is
    preferred, because ``.grad`` is read anyway; then the one that backward reaches
    first. Rows kept whole are never shared, because the order of elements counts.
    """
    found: dict[int, int] = {}
    offsets = graph.slot_offsets.tolist()
    pairs = sorted(zip(graph.edges, graph.edge_rows.tolist()), key=lambda pair: -pair[0].target)
    for edge, given in pairs:  # from the loss down, so that a row's source is settled first
        made = offsets[edge.target]
        if made in rows and given in rows and _repeats(graph, edge, given):
            first = found.get(made, made)
            if graph.nodes[edge.source].is_leaf:
                found.update({row: given for row, to in found.items() if to == first})
                found[first] = given
            else:
                found[given] = first
    return found


def only_reshapes(operation: str) -> bool:
    """Return whether the backward of ``operation`` hands its gradient on with its elements unchanged."""
    return _plain(operation) in _SHAPE_ONLY


def sharing_additions(graph: Graph, same: Mapping[int, int]) -> list[int]:
    """Return the additions that hand on a gradient that is not read again: ``alpha`` must be 1."""
    pairs = zip(graph.edges, graph.edge_rows.tolist())
    found = {edge.target for edge, row in pairs if row in same and edge.target_input == 1}
    return [index for index in sorted(found) if _plain(graph.nodes[index].operation) == "Add"]


def sharing_broadcasts(graph: Graph) -> list[Edge]:
    """Return the edges, if rows rely on them, into operations that sum a gradient where shapes differ.

    Their shapes are equal in ``graph``, but need not be at another step.
    """
    pairs = zip(graph.edges, graph.edge_rows.tolist())
    relied = [edge for edge, row in pairs if _repeats(graph, edge, row)]
    return [edge for edge in relied if _plain(graph.nodes[edge.target].operation) in _BROADCASTING]


def _plain(operation: str) -> str:
    return operation.rstrip("0123456789").removesuffix("Backward")


def _repeats(graph: Graph, edge: Edge, row: int) -> bool:
    target = graph.nodes[edge.target]
    if row >= graph.slot_count or target.kind != "operation" or len(target.slots) != 1:
        return False
    given, made = graph.nodes[edge.source].slots[edge.source_slot], target.slots[0]
    passes = (_plain(target.operation), edge.target_input) in _PASSING
    if not only_reshapes(target.operation) and not (passes and given.shape == made.shape):
        return False
    numel = math.prod(made.shape)
    return (
        given.requires_grad
        and given.dtype == made.dtype
        and math.prod(given.shape) == numel > WHOLE_LIMIT
    )
