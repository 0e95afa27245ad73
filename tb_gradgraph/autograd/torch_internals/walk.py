"""Read the autograd graph behind tensors, without recursion."""

from __future__ import annotations

import dataclasses
import heapq
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.torch_internals.engine import HAS_NUMBERS, sequence_nr
from tb_gradgraph.autograd.torch_internals.without_numbers import numbers_by_use


@dataclasses.dataclass(frozen=True, slots=True)
class AutogradEdge:
    """Output ``source_slot`` of one autograd node used as an input of another."""

    source: AutogradNode
    source_slot: int
    target: AutogradNode
    target_input: int


@dataclasses.dataclass(frozen=True, slots=True)
class Walk:
    """Autograd nodes in forward order, the edges between them, and the roots."""

    nodes: tuple[AutogradNode, ...]
    edges: tuple[AutogradEdge, ...]
    roots: tuple[tuple[AutogradNode, int], ...]  # node and slot of each given tensor


def walk(tensors: Sequence[torch.Tensor], further: Iterable[AutogradNode] = ()) -> Walk:
    """Visit every node that a backward from ``tensors``, or from ``further`` nodes, could reach.

    A leaf is placed just before the first operation that uses it. Takes about 1 us per node. There
    is no recursion, so only memory limits the length of a chain. A backward may also begin with
    torch's ``GradientEdge``, as in pipelines.
    """
    roots = tuple((edge.node, edge.output_nr) for edge in map(_edge_of, tensors))
    pending = list(dict.fromkeys([*(node for node, _ in roots), *further]))
    seen = dict.fromkeys(pending)  # in the order found, because threads may share numbers
    numbers = None if HAS_NUMBERS else numbers_by_use(pending)
    edges = []
    while pending:
        target = pending.pop()
        for position, (source, slot) in enumerate(target.next_functions):
            if source is None:
                continue
            edges.append(AutogradEdge(source, slot, target, position))
            if source not in seen:
                seen[source] = None
                pending.append(source)
    if numbers is None:
        numbers = {node: sequence_nr(node) for node in seen}
    return Walk(_forward_order(numbers, edges), tuple(edges), roots)


def _edge_of(root: torch.Tensor | GradientEdge) -> GradientEdge:
    return root if isinstance(root, GradientEdge) else get_gradient_edge(root)


def _forward_order(
    numbers: Mapping[AutogradNode, int], edges: Sequence[AutogradEdge]
) -> tuple[AutogradNode, ...]:
    """Sort by sequence number. A leaf has none and goes before its first user."""
    first_use: dict[AutogradNode, int] = {}
    for edge in edges:
        if not edge.source.next_functions:
            used = numbers[edge.target]
            first_use[edge.source] = min(used, first_use.get(edge.source, used))

    def position(node: AutogradNode) -> tuple[int, int]:
        return (first_use[node], 0) if node in first_use else (numbers[node], 1)

    leaf_order = {edge.source: (numbers[edge.target], edge.target_input) for edge in edges[::-1]}
    order = sorted(numbers, key=lambda node: (position(node), leaf_order.get(node, (0, 0))))
    place = {node: index for index, node in enumerate(order)}
    if any(place[edge.source] > place[edge.target] for edge in edges):
        return _topological_order(
            place, edges
        )  # made on several threads, each of which counts for itself
    return tuple(order)


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


#: A path of this length is freed in parts. Freeing takes about 130 bytes of stack per level.
PART = 500
_KEY = "tb_gradgraph"


def free_in_parts(walked: Walk) -> None:
    """Make sure that the graph is freed in parts, whoever holds it last.

    Once Python has accessed a chain of nodes, torch (2.13) frees it recursively. A chain of 100,000
    nodes then crashes the process, and it is we who access the nodes. Therefore, on every path,
    some nodes get an object that holds the nodes before them and outlives them. Those are freed
    afterwards, and not in the recursion.
    """
    depths = dict.fromkeys(walked.nodes, 0)
    incoming: dict[AutogradNode, list[AutogradNode]] = {}
    for edge in walked.edges:
        incoming.setdefault(edge.target, []).append(edge.source)
    for node in walked.nodes:
        sources = incoming.get(node, [])
        depths[node] = depth = 1 + max((depths[source] for source in sources), default=0)
        if any(depths[source] // PART != depth // PART for source in sources):
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
