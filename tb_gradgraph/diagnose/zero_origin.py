"""Find where a gradient becomes zero, as in a dead ReLU, and the parameters that therefore get zero."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tb_gradgraph.diagnose.finding import Finding, tell
from tb_gradgraph.graph import NO_SCOPE, Edge, Graph
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

#: How many of these parameters are named.
MAX_NAMED = 5

_NORM, _ABS_MAX = STATISTICS.index("l2_norm"), STATISTICS.index("abs_max")


def find_zero_origins(
    graph: Graph, table: StatisticsTable, zero: Sequence[int]
) -> Iterator[tuple[Finding, list[int]]]:
    """Find operations that get a nonzero gradient and send only zeros.

    Args:
        graph: The graph.
        table: Its statistics.
        zero: Rows of parameters whose gradient is zero.

    Yields:
        A finding for each operation, and the rows of ``zero`` that get their gradient only through
        such operations and are nearest to this one.
    """
    edges = _differentiated(graph)
    origins = {
        node for node, sent in edges.by_target.items() if _becomes_zero(graph, table, node, sent)
    }
    causes = _follow(graph, table, edges.by_source, origins)
    rows_of: dict[int, list[int]] = {}
    nodes = {int(graph.slot_offsets[at]): at for at, node in enumerate(graph.nodes) if node.slots}
    for row in zero:
        cause = causes.get(nodes[row])
        if cause is not None:
            rows_of.setdefault(cause, []).append(row)
    for node in sorted(rows_of, reverse=True):
        names = [graph.nodes[nodes[row]].name for row in rows_of[node]]
        yield _tell(graph, table, node, names), rows_of[node]


class _Edges:
    """Edges along which a gradient flows back, by sender and by receiver."""

    def __init__(self) -> None:
        self.by_target: dict[int, list[tuple[Edge, int]]] = {}
        self.by_source: dict[int, list[int]] = {}


def _differentiated(graph: Graph) -> _Edges:
    edges = _Edges()
    uses: dict[tuple[int, int], int] = {}
    for edge, row in zip(graph.edges, graph.edge_rows.tolist()):
        target, source = graph.nodes[edge.target], graph.nodes[edge.source]
        if target.requires_grad and source.slots[edge.source_slot].requires_grad:
            edges.by_target.setdefault(edge.target, []).append((edge, row))
            edges.by_source.setdefault(edge.source, []).append(edge.target)
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
    users: Mapping[int, Sequence[int]],
    origins: set[int],
) -> dict[int, int]:
    """Return, for each node, the origin that makes its gradient zero, if every path to it has one."""
    causes: dict[int, int] = {}
    for index in reversed(range(len(graph.nodes))):
        if _norm_at(graph, table, index) > 0:
            continue
        found = [user if user in origins else causes.get(user) for user in users.get(index, ())]
        known = [one for one in found if one is not None]
        if known and len(known) == len(found):
            causes[index] = min(known)  # the last one on the path
    return causes


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
