"""Follow NaN and infinity through a forward, from each value to the next known one."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping

from tb_gradgraph.diagnose.forward.known_values import Value
from tb_gradgraph.graph import Graph, Node

#: What reaches a node, or leaves it. ``MASK`` is infinity that was put there on purpose.
#: ``MASKING``: an operation that may put it there, and was not read, is on the way. ``UNREAD``: so is
#: a tensor that no operation made, and that was not read.
NAN, INF, MASK, MASKING, UNREAD = (1 << bit for bit in range(5))

#: Operations that write given elements into a tensor.
_MASKING = frozenset(
    ("maskedfill", "where", "swhere", "maskedscatter", "indexput", "indexputimpl", "copyslices")
    + ("fill", "indexfill", "scatter", "full", "fulllike", "newfull", "triu", "tril", "copy")
    + ("constantpadnd", "asstrided", "indexcopy", "slicescatter")
)
#: Operations that may add a mask.
_ADDING = frozenset(["add", "sub", "rsub", "addmm", "baddbmm", "addbmm"])
_SUFFIX = re.compile(r"Backward\d*$")


def plain_name(node: Node) -> str:
    """Return the name of an operation in small letters: "MaskedFillBackward0" is "maskedfill"."""
    return _SUFFIX.sub("", node.operation).replace("_", "").lower()


@dataclasses.dataclass(frozen=True)
class ValueFlow:
    """What each node got and gave.

    Attributes:
        came: What reached each node, by its index.
        gave: What each slot holds, by its row.
        sources: The rows that each node uses, by its index.
        places: As which of its inputs it uses them.
        owners: The node of each slot, by its row.
        live: The rows whose NaN or infinity reaches what was differentiated, or what reaches it
            with values that are not known.
    """

    came: list[int]
    gave: list[int]
    sources: list[list[int]]
    places: list[list[int]]
    owners: list[int]
    live: frozenset[int]


def follow(graph: Graph, values: Mapping[int, Value]) -> ValueFlow:
    """Follow values through the graph, in the order of the forward."""
    offsets = graph.slot_offsets.tolist()
    sources: list[list[int]] = [[] for _ in graph.nodes]
    places: list[list[int]] = [[] for _ in graph.nodes]
    for edge in sorted(graph.edges, key=lambda edge: (edge.target, edge.target_input)):
        sources[edge.target].append(offsets[edge.source] + edge.source_slot)
        places[edge.target].append(edge.target_input)
    came, gave = [0] * len(graph.nodes), [0] * graph.slot_count
    for index, node in enumerate(graph.nodes):
        for row in sources[index]:
            came[index] |= gave[row]
        for row in range(offsets[index], offsets[index + 1]):
            gave[row] = _leaves(node, came[index], bool(sources[index]), values.get(row))
    owners = [index for index, node in enumerate(graph.nodes) for _ in node.slots]
    live = frozenset(_live(graph, sources, gave, values))
    return ValueFlow(came, gave, sources, places, owners, live)


def is_given(node: Node) -> bool:
    """Return whether no operation made the node's tensor."""
    return node.kind not in ("operation", "root")


def _leaves(node: Node, came: int, has_sources: bool, value: Value | None) -> int:
    """Return what a slot holds."""
    if value is None:
        if is_given(node):
            return UNREAD
        return came | (MASKING if plain_name(node) in _MASKING else 0)
    if value.is_finite:
        return 0
    if value.nan:
        return NAN
    return MASK if _is_meant(node, came, has_sources, value) else INF


def _is_meant(node: Node, came: int, has_sources: bool, value: Value) -> bool:
    """Return whether infinity was put into a value on purpose."""
    if is_given(node):
        return not value.posinf and not (node.kind == "parameter" and node.requires_grad)
    if came & (NAN | INF):
        return False
    name = plain_name(node)
    if name in _MASKING or not has_sources or came & (MASKING | MASK):
        return True
    return name in _ADDING and bool(came & UNREAD) and not value.posinf


def _live(
    graph: Graph, sources: list[list[int]], gave: list[int], values: Mapping[int, Value]
) -> Iterator[int]:
    """Yield the rows of ``ValueFlow.live``."""
    offsets, reached = graph.slot_offsets.tolist(), [False] * graph.slot_count
    if all(node.kind != "root" for node in graph.nodes):
        reached = [not graph.users.get(row) for row in range(graph.slot_count)]
    for index in reversed(range(len(graph.nodes))):
        rows = range(offsets[index], offsets[index + 1])
        bad = [row for row in rows if row not in values or gave[row] & (NAN | INF | MASK)]
        if graph.nodes[index].kind != "root":
            bad = [row for row in bad if reached[row]]
        yield from bad
        for row in sources[index] if bad else ():
            reached[row] = True
