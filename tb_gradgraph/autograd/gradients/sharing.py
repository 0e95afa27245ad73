"""Find rows with the same gradient in a different shape, so that statistics are computed once."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Set

from tb_gradgraph.graph import Edge, Graph
from tb_gradgraph.statistics import WHOLE_LIMIT

#: Operations whose backward passes on the gradient with its elements unchanged.
_SHAPE_ONLY = (
    *("View", "UnsafeView", "ReshapeAlias", "T", "Transpose", "Permute", "Unsqueeze"),
    *("Squeeze", "Alias", "Clone", "Expand", "Movedim", "Unflatten", "Flatten"),
)
#: Operations that pass it to each input of the same shape; Add passes ``alpha`` times it to its second.
_PASSING = {("Add", 0), ("Add", 1), ("Sub", 0)}

_BROADCASTING = {"Add", "Sub", "Expand"}


def shared_rows(graph: Graph, rows: Set[int]) -> dict[int, int]:
    """Return, for each row of ``rows`` that repeats another, the row to read instead.

    Three conditions must hold: the elements are the same in number and type, the operation passes
    them on unchanged, and it is the only user of its input. A parameter's row is preferred, because
    ``.grad`` is read anyway. Otherwise the row that backward reaches first is chosen. Rows kept
    whole are never shared, because the order of their elements matters.
    """
    found: dict[int, int] = {}
    groups: dict[int, list[int]] = {}  # the same, by the row to read
    offsets = graph.slot_offsets.tolist()
    pairs = sorted(zip(graph.edges, graph.edge_rows.tolist()), key=lambda pair: -pair[0].target)
    for edge, given in pairs:  # from the loss down, so that the row to read is known first
        made = offsets[edge.target]
        if made in rows and given in rows and _repeats(graph, edge, given):
            first = found.get(made, made)
            group = groups.setdefault(first, [])
            if graph.nodes[edge.source].is_leaf:
                groups[given] = [*groups.pop(first), first]
                found.update(dict.fromkeys(groups[given], given))
            else:
                group.append(given)
                found[given] = first
    return found


def groups_of_equal_values(graph: Graph) -> list[list[int]]:
    """Return the rows of slots whose tensors have the same elements in a different shape, by group."""
    first: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    offsets = graph.slot_offsets.tolist()
    for edge in graph.edges:  # in forward order, so that the group of the source is known first
        if _keeps_elements(graph, edge):
            given, made = offsets[edge.source] + edge.source_slot, offsets[edge.target]
            start = first.setdefault(given, given)
            first[made] = start
            groups.setdefault(start, [start]).append(made)
    return list(groups.values())


def _keeps_elements(graph: Graph, edge: Edge) -> bool:
    target = graph.nodes[edge.target]
    if target.kind != "operation" or len(target.slots) != 1:
        return False
    given, made = graph.nodes[edge.source].slots[edge.source_slot], target.slots[0]
    same_size = math.prod(given.shape) == math.prod(made.shape)
    return only_reshapes(target.operation) and same_size and given.dtype == made.dtype


@functools.lru_cache(maxsize=4096)
def only_reshapes(operation: str) -> bool:
    """Return whether the backward of ``operation`` passes on its gradient with its elements unchanged."""
    return _plain(operation) in _SHAPE_ONLY


def sharing_additions(graph: Graph, same: Mapping[int, int]) -> list[int]:
    """Return the additions that pass on a gradient that is not read again: ``alpha`` must be 1."""
    pairs = zip(graph.edges, graph.edge_rows.tolist())
    found = {edge.target for edge, row in pairs if row in same and edge.target_input == 1}
    return [index for index in sorted(found) if _plain(graph.nodes[index].operation) == "Add"]


def sharing_broadcasts(graph: Graph) -> list[Edge]:
    """Return the edges that ``same`` relies on, into operations that sum a gradient if shapes differ.

    Their shapes are equal in ``graph``, but may differ at another step.
    """
    pairs = zip(graph.edges, graph.edge_rows.tolist())
    relied = [edge for edge, row in pairs if _repeats(graph, edge, row)]
    return [edge for edge in relied if _plain(graph.nodes[edge.target].operation) in _BROADCASTING]


@functools.lru_cache(maxsize=4096)
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
