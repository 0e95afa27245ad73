"""Find the first values of a forward that hold NaN or infinity, and what made them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tb_gradgraph.diagnose.forward.infinities import can_show
from tb_gradgraph.diagnose.forward.known_values import Value
from tb_gradgraph.diagnose.forward.likely_operation import (
    NAMED,
    is_normalizing,
    judge,
    takes_unread,
)
from tb_gradgraph.diagnose.forward.value_flow import (
    INF,
    MASK,
    NAN,
    ValueFlow,
    is_given,
    plain_name,
)
from tb_gradgraph.graph import Graph

#: weight: a parameter was not finite. given: neither was another tensor that no operation made.
#: made: an operation got finite values. masked: it got infinity that had been put there on purpose.
How = Literal["weight", "given", "made", "masked"]

#: How many operations are searched for the one that made it.
_MOST_BETWEEN = 2000
#: How many likely operations are followed to what was seen, and how likely one is that cannot show it.
_MOST_FOLLOWED, _CONTRADICTED = 30, 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class Cause:
    """One place where NaN or infinity began.

    Attributes:
        how: In which way.
        row: The first row that is known to hold it.
        node: The index of the node to look at.
        between: The operations that were not read and may have made it, with the one that shows it.
        is_named: Whether ``node`` alone may have made it, or is by far the likeliest to have.
        rivals: Others that are as likely, if ``node`` is named.
        got: The rows of values that were read last before it.
        unread: The indices of tensors that were not read, and that no operation made.
        is_live: Whether it reaches what was differentiated.
    """

    how: How
    row: int
    node: int
    between: tuple[int, ...]
    is_named: bool
    rivals: tuple[int, ...]
    got: tuple[int, ...]
    unread: tuple[int, ...]
    is_live: bool


def find_causes(graph: Graph, flow: ValueFlow, values: Mapping[int, Value]) -> Iterator[Cause]:
    """Yield the causes in the order of the forward."""
    for row in sorted(values):
        index = flow.owners[row]
        node, bits = graph.nodes[index], flow.gave[row]
        if is_given(node):
            if bits & (NAN | INF):
                how: How = "weight" if node.kind == "parameter" else "given"
                yield _cause(graph, flow, values, how, row, Behind((), (), ()))
        elif bits & (NAN | INF) or (bits & MASK and node.kind == "root"):
            if not flow.came[index] & (NAN | INF):
                yield _of_operation(graph, flow, values, row)


@dataclasses.dataclass(frozen=True, slots=True)
class Behind:
    """What lies between a value and the nearest ones that were read."""

    between: tuple[int, ...]
    got: tuple[int, ...]
    unread: tuple[int, ...]


def look_behind(graph: Graph, flow: ValueFlow, values: Mapping[int, Value], index: int) -> Behind:
    """Return what was not read behind a node, and what was."""
    between: set[int] = set()
    got: set[int] = set()
    unread: set[int] = set()
    pending = [index]
    while pending and len(between) < _MOST_BETWEEN:
        at = pending.pop()
        if at in between:
            continue
        between.add(at)
        for row in flow.sources[at]:
            owner = flow.owners[row]
            if row in values:
                got.add(row)
            elif is_given(graph.nodes[owner]):
                unread.add(owner)
            else:
                pending.append(owner)
    operations = (at for at in between if graph.nodes[at].kind == "operation")
    return Behind(tuple(sorted(operations)), tuple(sorted(got)), tuple(sorted(unread)))


def _of_operation(graph: Graph, flow: ValueFlow, values: Mapping[int, Value], row: int) -> Cause:
    behind = look_behind(graph, flow, values, flow.owners[row])
    if not flow.came[flow.owners[row]] & MASK:
        return _cause(graph, flow, values, "made", row, behind)
    if any(is_normalizing(plain_name(graph.nodes[at])) for at in behind.between):
        return _cause(graph, flow, values, "masked", row, behind)
    mask = _first_mask(graph, flow, values, behind.got)
    how: How = "given" if is_given(graph.nodes[flow.owners[mask]]) else "made"
    found = look_behind(graph, flow, values, flow.owners[mask])
    return _cause(graph, flow, values, how, mask, found)


def _first_mask(
    graph: Graph, flow: ValueFlow, values: Mapping[int, Value], got: Sequence[int]
) -> int:
    """Return where the infinity began that is among some values."""
    row = next(row for row in got if flow.gave[row] & MASK)
    while flow.came[flow.owners[row]] & MASK:
        before = look_behind(graph, flow, values, flow.owners[row]).got
        row = next(one for one in before if flow.gave[one] & MASK)
    return row


def _cause(
    graph: Graph, flow: ValueFlow, values: Mapping[int, Value], how: How, row: int, behind: Behind
) -> Cause:
    own = flow.owners[row]
    node, is_named, rivals = own, len(behind.between) <= 1, list[int]()
    if behind.between and behind.got:
        scores = _scores(graph, flow, values, behind, row)
        best = max(behind.between, key=lambda at: (scores[at], at == own, -at))
        is_named = len(behind.between) == 1 or scores[best] >= NAMED
        node = best if is_named else max(behind.between)
        rivals = [at for at in behind.between if scores[at] == scores[best] and at != best]
    return Cause(
        *(how, row, node, behind.between, is_named, tuple(rivals) if is_named else ()),
        *(behind.got, behind.unread),
        is_live=row in flow.live,
    )


def _scores(
    graph: Graph, flow: ValueFlow, values: Mapping[int, Value], behind: Behind, row: int
) -> dict[int, float]:
    """Return how likely each operation made what a row holds."""
    scores = {at: judge(graph, flow, values, at) for at in behind.between}
    if values[row].posinf or values[row].neginf:
        scores = {at: max(of, takes_unread(graph, flow, values, at)) for at, of in scores.items()}
    likely = [at for at in behind.between if scores[at] >= NAMED] if len(scores) > 1 else []
    for at in sorted(likely, key=lambda at: -scores[at])[:_MOST_FOLLOWED]:
        if not can_show(graph, flow, values, at, behind.between, row):
            scores[at] *= _CONTRADICTED
    return scores


def count_reached(graph: Graph, flow: ValueFlow, values: Mapping[int, Value], cause: Cause) -> int:
    """Return how many further values are known not to be finite, and may be so because of a cause."""
    reached, count, offsets = {cause.row}, 0, graph.slot_offsets.tolist()
    for index in range(flow.owners[cause.row] + 1, len(graph.nodes)):
        if reached.isdisjoint(flow.sources[index]):
            continue
        for row in range(offsets[index], offsets[index + 1]):
            if row not in values:
                reached.add(row)
            elif flow.gave[row] & (NAN | INF):
                reached.add(row)
                count += graph.nodes[index].kind != "root"
    return count
