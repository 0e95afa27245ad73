"""Parameters without a gradient, and gradients that are exactly zero: never the same word."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tb_gradgraph.diagnose.finding import Finding, describe_node
from tb_gradgraph.diagnose.zero_origin import find_zero_origins
from tb_gradgraph.graph import Graph, Node
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

_ABS_MAX, _NUMEL = STATISTICS.index("abs_max"), STATISTICS.index("numel")
_NONFINITE = [STATISTICS.index(name) for name in ("nan", "posinf", "neginf")]


def parameter_rows(graph: Graph) -> Iterator[tuple[int, Node]]:
    """Yield row and node of each parameter, and of other leaves that the user asked gradients of."""
    for index, node in enumerate(graph.nodes):
        if node.kind in ("parameter", "leaf") and node.slots:
            yield int(graph.slot_offsets[index]), node


def find_missing(graph: Graph, table: StatisticsTable) -> Iterator[Finding]:
    """Find parameters that no gradient arrived at, with the reason where it is known."""
    for row, node in parameter_rows(graph):
        if table.present[row]:
            continue
        reason = node.note or "No gradient arrived at it."
        severity = "warning" if node.requires_grad else "note"
        kind = "no_gradient" if node.requires_grad else "frozen"
        yield Finding(severity, kind, row, node.name, f"{describe_node(graph, node)}: {reason}")


def find_zero(graph: Graph, table: StatisticsTable, but: Collection[int] = ()) -> Iterator[Finding]:
    """Find where gradients became zero in every element, and else the parameters; not rows of ``but``."""
    zero = {
        row: node
        for row, node in parameter_rows(graph)
        if row not in but
        and table.present[row]
        and table.values[row, _ABS_MAX] == 0
        and not table.values[row, _NONFINITE].any()
    }
    explained: set[int] = set()
    for finding, rows in find_zero_origins(graph, table, list(zero)):
        explained.update(rows)
        yield finding
    for row, node in zero.items():
        if row not in explained:
            numel = table.values[row, _NUMEL]
            zeros = f"a gradient arrived, and all {numel:.0f} elements are zero"
            text = f"{describe_node(graph, node)}: {zeros}."
            yield Finding("warning", "zero_gradient", row, node.name, text)
