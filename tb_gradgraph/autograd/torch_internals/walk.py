"""The autograd graph behind tensors, read without recursion."""

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
    """Autograd nodes in forward order, the edges between them, and where they end."""

    nodes: tuple[AutogradNode, ...]
    edges: tuple[AutogradEdge, ...]
    roots: tuple[tuple[AutogradNode, int], ...]  # node and slot of each given tensor


def walk(tensors: Sequence[torch.Tensor], further: Iterable[AutogradNode] = ()) -> Walk:
    """Visit every node that a backward from ``tensors``, or from ``further`` nodes, could reach.

    A leaf is placed just before the first operation that uses it. About 1 us a node; no
    recursion, so only memory bounds the length of a chain. A backward may also begin with
    torch's ``GradientEdge``, as in pipelines.
    """
    roots = tuple((edge.node, edge.output_nr) for edge in map(_edge_of, tensors))
    pending = list(dict.fromkeys([*(node for node, _ in roots), *further]))
    seen = dict.fromkeys(pending)  # in the order found, because threads share numbers
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
    """Sort by sequence number; a leaf, which has none, goes before its first user."""
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
        )  # made on several threads, each of which counts alone
    return tuple(order)


def _topological_order(
    place: dict[AutogradNode, int], edges: Sequence[AutogradEdge]
) -> tuple[AutogradNode, ...]:
    """Sort sources before targets, and by ``place`` where the order is free."""
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
    """Return what is kept with a node as long as it lives; torch's types take it for a method."""
    return cast("dict[str, Any]", node.metadata)


#: A path this long is cut into parts when it is freed. A level takes about 130 bytes of stack.
PART = 500
_KEY = "tb_gradgraph"


def free_in_parts(walked: Walk) -> None:
    """Make sure that the graph is freed part by part, whoever holds it last.

    torch (2.13) frees a chain of nodes one inside the other once Python has looked at them:
    a chain of 100,000 then crashes the process, and we made Python look. So in every path
    some nodes get a hold on the nodes before them that outlasts them: those are freed
    afterwards, not inside.
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
    """Holds nodes, and when its own node goes, hands them to the outermost node that is going."""

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
