"""Read the autograd graph behind tensors, without recursion."""

from __future__ import annotations

import dataclasses
import heapq
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.torch_internals.engine import (
    HAS_NUMBERS,
    accumulated_leaf,
    sequence_nr,
)
from tb_gradgraph.autograd.torch_internals.without_numbers import numbers_by_use


class AutogradEdge(NamedTuple):
    """Output ``source_slot`` of one autograd node used as an input of another."""

    source: AutogradNode
    source_slot: int
    target: AutogradNode
    target_input: int


@dataclasses.dataclass(frozen=True, slots=True)
class Walk:
    """Autograd nodes in forward order, the edges between them, and the roots.

    ``found`` has the same nodes in the order of the visit, and so have ``edges``. This order depends
    only on the structure.
    """

    nodes: tuple[AutogradNode, ...]
    edges: tuple[AutogradEdge, ...]
    roots: tuple[tuple[AutogradNode, int], ...]  # node and slot of each given tensor
    found: tuple[AutogradNode, ...]
    leaves: Mapping[AutogradNode, torch.Tensor]  # by the AccumulateGrad node


def walk(tensors: Sequence[torch.Tensor], further: Iterable[AutogradNode] = ()) -> Walk:
    """Visit every node that a backward from ``tensors``, or from ``further`` nodes, could reach.

    A leaf is placed just before the first operation that uses it. Takes about 1 us per node. There
    is no recursion, so only memory limits the length of a chain. A backward may also begin with
    torch's ``GradientEdge``, as in pipelines.
    """
    roots = tuple((edge.node, edge.output_nr) for edge in map(_edge_of, tensors))
    pending = list(dict.fromkeys([*(node for node, _ in roots), *further]))
    seen = dict.fromkeys(pending)
    numbers = None if HAS_NUMBERS else numbers_by_use(pending)
    edges = []
    ends = []
    while pending:
        target = pending.pop()
        sources = target.next_functions
        if not sources:
            ends.append(target)
        for position, (source, slot) in enumerate(sources):
            if source is None:
                continue
            edges.append(AutogradEdge(source, slot, target, position))
            if source not in seen:
                seen[source] = None
                pending.append(source)
    if numbers is None:
        numbers = {node: sequence_nr(node) for node in seen}
    leaves = {node: leaf for node in ends if (leaf := accumulated_leaf(node)) is not None}
    order = _forward_order(numbers, edges, ends)
    return Walk(order, tuple(edges), roots, tuple(seen), leaves)


def _edge_of(root: torch.Tensor | GradientEdge) -> GradientEdge:
    return root if isinstance(root, GradientEdge) else get_gradient_edge(root)


def _forward_order(
    numbers: Mapping[AutogradNode, int],
    edges: Sequence[AutogradEdge],
    ends: Iterable[AutogradNode],
) -> tuple[AutogradNode, ...]:
    """Sort by sequence number. A leaf has none and goes before its first user.

    Several leaves before one user are in the order of the uses that were found first.
    """
    first_use: dict[AutogradNode, int] = {}
    leaf_order: dict[AutogradNode, tuple[int, int]] = {}
    no_sources = set(ends)
    is_sorted = True
    for source, _, target, position in edges:
        number = numbers[target]
        if source not in no_sources:
            is_sorted = is_sorted and numbers[source] < number
        elif number <= first_use.setdefault(source, number):
            first_use[source] = number
            leaf_order.setdefault(source, (number, position))
    places = {node: 2 * number + 1 for node, number in numbers.items()}
    places.update((leaf, 2 * number) for leaf, number in first_use.items())
    others = (node for node in numbers if node not in first_use)
    order = sorted(
        [*sorted(leaf_order, key=leaf_order.__getitem__), *others], key=places.__getitem__
    )
    if is_sorted:
        return tuple(order)
    # Made on several threads, each of which counts for itself.
    return _topological_order({node: index for index, node in enumerate(order)}, edges)


def _topological_order(
    place: dict[AutogradNode, int], edges: Sequence[AutogradEdge]
) -> tuple[AutogradNode, ...]:
    """Sort sources before targets, and otherwise by ``place``."""
    waiting = dict.fromkeys(place, 0)
    users: dict[AutogradNode, list[AutogradNode]] = {node: [] for node in place}
    for edge in edges:
        waiting[edge.target] += 1
        users[edge.source].append(edge.target)
    nodes = list(place)
    free = [place[node] for node in nodes if not waiting[node]]
    heapq.heapify(free)
    order = []
    while free:
        node = nodes[heapq.heappop(free)]
        order.append(node)
        for user in users[node]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(free, place[user])
    return tuple(order)


def metadata_of(node: AutogradNode) -> dict[str, Any]:
    """Return a node's metadata, which lives as long as the node. Torch's type stubs declare it a method."""
    return cast("dict[str, Any]", node.metadata)


#: A graph of more nodes is freed in parts. Freeing takes about 130 bytes of stack per level.
PART = 500
_KEY = "tb_gradgraph"


def free_in_parts(walked: Walk) -> None:
    """Make sure that the graph is freed in parts, whoever holds it last.

    Once Python has accessed a chain of nodes, torch (2.13) frees it recursively. A chain of 100,000
    nodes then crashes the process, and it is we who access the nodes. Therefore the nodes are
    divided, in forward order, into parts of ``PART`` nodes. A node that uses nodes of another part
    gets an object that holds these and outlives it. They are freed afterwards, and not in the
    recursion.
    """
    if len(walked.nodes) <= PART:
        return
    part = {node: place // PART for place, node in enumerate(walked.nodes)}
    held: dict[AutogradNode, list[AutogradNode]] = {}
    for source, _, target, _ in walked.edges:
        if part[source] != part[target] and source not in walked.leaves:
            held.setdefault(target, []).append(source)
    for node, sources in held.items():
        metadata_of(node)[_KEY] = _Hold(sources)


class _Pending(threading.local):
    """Nodes waiting to be freed, and whether this thread is freeing them."""

    def __init__(self) -> None:
        self.nodes: list[list[AutogradNode]] = []
        self.freeing = False


_pending = _Pending()


class _Hold:
    """Holds nodes. When its own node is freed, passes them to the outermost node that is being freed."""

    __slots__ = ("_nodes",)

    def __init__(self, nodes: list[AutogradNode]) -> None:
        self._nodes = nodes

    def __del__(self) -> None:
        _pending.nodes.append(self._nodes)
        del self._nodes
        if _pending.freeing:
            return
        _pending.freeing = True
        while _pending.nodes:
            _pending.nodes.pop()
        _pending.freeing = False
