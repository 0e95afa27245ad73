"""Find parameters without a gradient, and gradients that are exactly zero. These are different cases."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node, tell
from tb_gradgraph.diagnose.structure.by_module import fold_by_module, tell_many
from tb_gradgraph.diagnose.zero_origin import find_zero_origins
from tb_gradgraph.errors import COMPILED
from tb_gradgraph.graph import OF_FUNCTION, Graph, Node
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

_ABS_MAX, _NUMEL = STATISTICS.index("abs_max"), STATISTICS.index("numel")
_NAMED = 5  # how many nodes one text names


def parameter_rows(graph: Graph, parts: bool = False) -> Iterator[tuple[int, Node]]:
    """Yield row and node of each parameter, and of other leaves whose gradients the user selected.

    Nodes of which this process has only a part are left out, unless ``parts`` is set. The numbers
    of a part say nothing about the whole, except NaN and infinity.
    """
    for index, node in enumerate(graph.nodes):
        if node.kind in ("parameter", "leaf") and node.slots:
            if parts or not node.slots[0].is_part:
                yield int(graph.slot_offsets[index]), node


def find_missing(
    graph: Graph, table: StatisticsTable, unread: Mapping[int, str] = MappingProxyType({})
) -> Iterator[Finding]:
    """Find parameters that no gradient reached, with the reason if it is known."""
    missing = [(row, node) for row, node in parameter_rows(graph) if not table.present[row]]
    for needs_gradient in (True, False):
        reasons = {
            row: node.note or who_gave_none(graph, table, row) or "No gradient arrived at it."
            for row, node in missing
            if node.requires_grad == needs_gradient and not (needs_gradient and row in unread)
        }
        kind = "no_gradient" if needs_gradient else "frozen"
        for module, alike in fold_by_module([m for m in missing if m[0] in reasons], reasons):
            row, node = alike[0]
            what = describe_node(graph, node) if len(alike) == 1 else tell_many(module, alike)
            yield tell(kind, row, node.name, f"{what}: {reasons[row]}")


def who_gave_none(graph: Graph, table: StatisticsTable, row: int) -> str:
    """Name custom Functions that use a slot and got a gradient but returned none for it; "" if none did.

    Their backward returned None. Torch's own operations return every gradient that is needed. If
    one returned none, the backward was told not to compute it (``backward(inputs=...)``).
    """
    offsets = graph.slot_offsets
    users = [
        user
        for user in graph.users.get(row, ())
        if _is_custom(graph.nodes[user]) and table.present[offsets[user] : offsets[user + 1]].any()
    ]
    names = list(dict.fromkeys(graph.nodes[user].name for user in users))
    if not names:
        return ""
    shown = " and ".join(names[:_NAMED]) + (" and others" if len(names) > _NAMED else "")
    return f"{shown} got a gradient but returned none for it."


def _is_custom(node: Node) -> bool:
    """Return whether a user's Function made a node, according to its note."""
    return node.kind == "operation" and node.note.startswith(OF_FUNCTION)


def find_unread(graph: Graph, unread: Mapping[int, str]) -> Iterator[Finding]:
    """Find gradients that could not be read: at most one finding for each reason."""
    by_reason: dict[str, list[int]] = {}
    for row, reason in sorted(unread.items()):
        by_reason.setdefault(reason, []).append(row)
    for reason, rows in by_reason.items():
        nodes = (graph.nodes[int(np.searchsorted(graph.slot_offsets, row, "right")) - 1]
                 for row in rows if row < graph.slot_count)  # fmt: skip
        names = list(dict.fromkeys(node.name for node in nodes)) or ["shares of gradients"]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        text = f"{', '.join(names[:_NAMED])}{more}: {reason}."
        yield tell("not_read", rows[0], names[0], text, is_mild=reason == COMPILED)


def find_zero(graph: Graph, table: StatisticsTable, but: Collection[int] = ()) -> Iterator[Finding]:
    """Find the places where gradients became zero, or else the zero parameters; skip rows of ``but``."""
    zero = {
        row: node
        for row, node in parameter_rows(graph)
        if row not in but
        and table.present[row]
        and table.values[row, _ABS_MAX] == 0
        and not table.values[row, NONFINITE_COLUMNS].any()
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
            yield tell("zero_gradient", row, node.name, text)
