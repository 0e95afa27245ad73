"""Find where a gradient becomes zero, as in a dead ReLU, and the parameters that therefore get zero."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, tell
from tb_gradgraph.diagnose.structure.removed import uses_of
from tb_gradgraph.diagnose.structure.shift import short_name
from tb_gradgraph.diagnose.structure.zero_factor import MAY_BE_ZERO, ZeroFactors
from tb_gradgraph.graph import NO_SCOPE, Edge, Graph
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

#: How many of these parameters are named.
MAX_NAMED = 5

_NORM, _ABS_MAX = STATISTICS.index("l2_norm"), STATISTICS.index("abs_max")


@dataclasses.dataclass(frozen=True)
class ZeroRows:
    """Why gradients of parameters are zero.

    Attributes:
        origins: A finding for each operation that got a gradient and sent only zeros.
        by_weight: Rows of parameters that are multiplied by a weight that is zero, by the index of
            that weight's node.
        rest: Rows whose zeros are not explained.
    """

    origins: list[Finding]
    by_weight: dict[int, list[int]]
    rest: list[int]


def explain_zeros(graph: Graph, table: StatisticsTable, zero: Sequence[int]) -> ZeroRows:
    """Find what gives zero gradients to parameters.

    Args:
        graph: The graph.
        table: Its statistics.
        zero: Rows of parameters whose gradient is zero. Each is explained by what is nearest to
            it, if all of its gradient came through such places.
    """
    if not zero:
        return ZeroRows([], {}, [])
    edges = _differentiated(graph)
    origins = {
        node for node, sent in edges.by_target.items() if _becomes_zero(graph, table, node, sent)
    }
    factors = ZeroFactors(uses_of(graph), _sizes(table))
    causes = _follow(graph, table, edges.by_source, origins, factors)
    found = ZeroRows([], {}, [])
    of_origin: dict[int, list[int]] = {}
    nodes = {int(graph.slot_offsets[at]): at for at, node in enumerate(graph.nodes) if node.slots}
    for row in zero:
        cause = causes.get(nodes[row])
        if cause is None:
            found.rest.append(row)
        elif cause.weight is None:
            of_origin.setdefault(cause.node, []).append(row)
        else:
            found.by_weight.setdefault(cause.weight, []).append(row)
    for node in sorted(of_origin, reverse=True):
        names = [graph.nodes[nodes[row]].name for row in of_origin[node]]
        found.origins.append(_tell(graph, table, node, names))
    return found


def _sizes(table: StatisticsTable) -> np.ndarray:
    """Return the norm of each row; NaN where it is not known or not finite."""
    bad = ~table.present | (table.values[:, NONFINITE_COLUMNS] > 0).any(axis=1)
    return np.where(bad, np.nan, table.values[:, _ABS_MAX])


class _Cause(NamedTuple):
    """The operation where a gradient becomes zero, and the weight that is zero; None: it is none."""

    node: int
    weight: int | None


class _Edges:
    """Edges along which a gradient flows back, by sender and by receiver."""

    def __init__(self) -> None:
        self.by_target: dict[int, list[tuple[Edge, int]]] = {}
        self.by_source: dict[int, list[Edge]] = {}


def _differentiated(graph: Graph) -> _Edges:
    edges = _Edges()
    uses: dict[tuple[int, int], int] = {}
    for edge, row in zip(graph.edges, graph.edge_rows.tolist()):
        target, source = graph.nodes[edge.target], graph.nodes[edge.source]
        if target.requires_grad and source.slots[edge.source_slot].requires_grad:
            edges.by_target.setdefault(edge.target, []).append((edge, row))
            edges.by_source.setdefault(edge.source, []).append(edge)
            slot = (edge.source, edge.source_slot)
            uses[slot] = uses.get(slot, 0) + 1
    for found in edges.by_target.values():
        # If no other user of the slot sends a gradient, the slot's gradient is what this user sent.
        for at, (edge, _) in enumerate(found):
            slot = (edge.source, edge.source_slot)
            if uses[slot] == 1:
                found[at] = (edge, int(graph.slot_offsets[edge.source]) + edge.source_slot)
    return edges


def _becomes_zero(
    graph: Graph, table: StatisticsTable, node: int, sent: Sequence[tuple[Edge, int]]
) -> bool:
    """Return whether a node got a nonzero gradient, and everything that it sent is known and zero."""
    if graph.nodes[node].kind != "operation" or not _norm_at(graph, table, node) > 0:
        return False
    return all(_is_zero(table, row) for _, row in sent)


def _norm_at(graph: Graph, table: StatisticsTable, node: int) -> float:
    """Return the norm of the gradient that a node got, at its greatest slot; zero if it is unknown."""
    rows = range(*graph.slot_offsets[node : node + 2].tolist())
    return max((float(table.values[row, _NORM]) for row in rows if table.present[row]), default=0.0)


def _is_zero(table: StatisticsTable, row: int) -> bool:
    numbers = table.values[row]
    return bool(
        table.present[row] and numbers[_ABS_MAX] == 0 and not numbers[NONFINITE_COLUMNS].any()
    )


def _follow(
    graph: Graph,
    table: StatisticsTable,
    users: Mapping[int, Sequence[Edge]],
    origins: set[int],
    factors: ZeroFactors,
) -> dict[int, _Cause]:
    """Return, for each node, what makes its gradient zero, if every path to it has such a place."""
    causes: dict[int, _Cause] = {}
    for index in reversed(range(len(graph.nodes))):
        if _norm_at(graph, table, index) > 0:
            continue
        found = [
            _Cause(edge.target, None)
            if edge.target in origins
            else _of_factor(factors, edge) or causes.get(edge.target)
            for edge in users.get(index, ())
        ]
        known = [one for one in found if one is not None]
        if _may_be_cause(graph, table, index) and not _is_sure(factors, users, index):
            continue
        if known and len(known) == len(found):
            causes[index] = min(known, key=lambda one: one.node)  # the last one on the path
    return causes


def _may_be_cause(graph: Graph, table: StatisticsTable, index: int) -> bool:
    """Return whether an operation was not read and may have made zeros by itself."""
    name = short_name(graph.nodes[index].operation)
    return name in MAY_BE_ZERO and not table.present[graph.slot_offsets[index]]


def _is_sure(factors: ZeroFactors, users: Mapping[int, Sequence[Edge]], index: int) -> bool:
    """Return whether all that uses a node also gives zero to a parameter, so that zero came in."""
    return all(factors.gives_zero(edge.target) for edge in users.get(index, ()))


def _of_factor(factors: ZeroFactors, edge: Edge) -> _Cause | None:
    """Return the cause if a product got a gradient and sent zero along an edge, for a zero weight."""
    if not factors.got(edge.target) > 0 or not factors.is_zero(edge):
        return None
    weight = factors.weight(edge.target, edge.target_input)
    return None if weight is None else _Cause(edge.target, weight)


def _tell(graph: Graph, table: StatisticsTable, index: int, names: Sequence[str]) -> Finding:
    node = graph.nodes[index]
    scope = None if node.scope == NO_SCOPE else graph.scopes[node.scope]
    place = node.name
    if scope is not None and not node.name.startswith(scope.path or "/"):
        place += f" in {scope.path or scope.module}"
    details = [scope.module if scope is not None and scope.path else "", node.source]
    told = ", ".join(detail for detail in details if detail)
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    count = "1 parameter gets" if len(names) == 1 else f"{len(names)} parameters get"
    text = (
        f"The gradient becomes zero in {place}{f' ({told})' if told else ''}: "
        f"{_norm_at(graph, table, index):.2g} arrives, 0 leaves. Because of it {count} only zero: "
        f"{', '.join(names[:MAX_NAMED])}{more}."
    )
    row = int(graph.slot_offsets[index])
    return tell("zero_origin", row, node.name, text)
