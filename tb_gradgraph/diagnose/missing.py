"""Find parameters without a gradient, and gradients that are exactly zero. These are different cases."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node, tell
from tb_gradgraph.diagnose.structure.by_module import Rows, fold_by_module, tell_many, tell_rows
from tb_gradgraph.diagnose.structure.kept_with_graph import kept_with_graph
from tb_gradgraph.diagnose.zero_origin import explain_zeros
from tb_gradgraph.errors import COMPILED
from tb_gradgraph.graph import OF_FUNCTION, Graph, Node
from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

_ABS_MAX, _NUMEL = STATISTICS.index("abs_max"), STATISTICS.index("numel")
_NAMED = 5  # how many nodes one text names

#: A leaf of which only is known that it is one. It is no parameter, and need not learn.
_NAMELESS = re.compile(r"leaf([._]?\d+)?")


def parameter_rows(graph: Graph, parts: bool = False) -> Rows:
    """Return row and node of each parameter, and of other leaves whose gradients the user selected.

    Nodes of which this process has only a part are left out, unless ``parts`` is set. The numbers
    of a part say nothing about the whole, except NaN and infinity.
    """
    return _rows_with_parts(graph) if parts else _rows_without_parts(graph)


@kept_with_graph
def _rows_with_parts(graph: Graph) -> Rows:
    return [
        (row, node)
        for row, node in zip(graph.slot_offsets.tolist(), graph.nodes)
        if node.kind in ("parameter", "leaf") and node.slots
    ]


@kept_with_graph
def _rows_without_parts(graph: Graph) -> Rows:
    return [(row, node) for row, node in _rows_with_parts(graph) if not node.slots[0].is_part]


@kept_with_graph
def weight_rows(graph: Graph) -> Rows:
    """Return row and node of each parameter; of each leaf, if the graph has no parameter.

    Beside parameters, other leaves are inputs whose gradient is asked for, as in a gradient penalty.
    """
    rows = parameter_rows(graph)
    return [(row, node) for row, node in rows if node.kind == "parameter"] or rows


def find_missing(
    graph: Graph,
    table: StatisticsTable,
    unread: Mapping[int, str] = MappingProxyType({}),
    reached: Collection[int] = (),
) -> Iterator[Finding]:
    """Find parameters that no gradient reached, with the reason if it is known.

    Args:
        graph: The graph.
        table: Its statistics.
        unread: Rows that could not be read, and why.
        reached: Rows that get a gradient in other passes, as of a part that is not used in each.
    """
    missing = [(row, node) for row, node in parameter_rows(graph) if not table.present[row]]
    reasons = {
        row: node.note or who_gave_none(graph, table, row) or "No gradient arrived at it."
        for row, node in missing
        if node.requires_grad
        and not (row in unread or row in reached or _NAMELESS.fullmatch(node.name))
    }
    for module, alike in fold_by_module([m for m in missing if m[0] in reasons], reasons):
        row, node = alike[0]
        what = describe_node(graph, node) if len(alike) == 1 else tell_many(module, alike)
        yield tell("no_gradient", row, node.name, f"{what}: {reasons[row]}")
    frozen = [(row, node) for row, node in missing if not node.requires_grad]
    if frozen:
        row, node = frozen[0]
        text = f"{tell_rows(frozen)}: they do not require a gradient."
        if len(frozen) == 1:
            text = f"{describe_node(graph, node)}: {node.note or 'It does not require a gradient.'}"
        yield tell("frozen", row, node.name, text)


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


def find_zero(
    graph: Graph, table: StatisticsTable, but: Collection[int] = (), stage: str = ""
) -> Iterator[Finding]:
    """Find the places where gradients became zero, and then, in one finding, all other zero gradients.

    Args:
        graph: The graph.
        table: Its statistics.
        but: Rows to skip.
        stage: The stage, if only parameters have numbers; then places are not told.
    """
    is_zero = table.present & (table.values[:, _ABS_MAX] == 0)
    zero = {
        row: node
        for row, node in weight_rows(graph)
        if is_zero[row] and row not in but and not table.values[row, NONFINITE_COLUMNS].any()
    }
    why = explain_zeros(graph, table, list(zero))
    yield from () if stage else why.origins
    of_weights = [row for rows in why.by_weight.values() for row in rows]
    if of_weights:
        weights = [graph.nodes[index].name for index in sorted(why.by_weight)]
        rows = [(row, node) for row, node in zero.items() if row in {*of_weights}]
        yield _tell_zero_weights(rows, weights, stage)
    rest = [*zero] if stage and not of_weights else why.rest
    if rest:
        yield _tell_zero(graph, table, [(row, zero[row]) for row in rest], stage)


def _at(stage: str) -> str:
    return f"At the stage {stage} " if stage else ""


def _tell_zero_weights(rows: Rows, weights: Sequence[str], stage: str) -> Finding:
    more = f" and {len(weights) - _NAMED} more" if len(weights) > _NAMED else ""
    names = f"{', '.join(weights[:_NAMED])}{more}"
    what = f"{tell_rows(rows)}: every element is zero" if not stage else (
        f"{_at(stage)}the gradients of {tell_rows(rows)} are zero")  # fmt: skip
    text = (
        f"{what}, because what they give is multiplied by {names}, and "
        f"{'it is' if len(weights) == 1 else 'these are'} zero, as after an initialization with zeros. "
        "The next step heals it."
    )
    return tell("zero_gradient", rows[0][0], rows[0][1].name, text, is_mild=True)


def _tell_zero(graph: Graph, table: StatisticsTable, rows: Rows, stage: str) -> Finding:
    row, node = rows[0]
    if len(rows) > 1:
        what = tell_rows(rows)
        text = f"{what}: a gradient arrived at each, and every element is zero."
        if stage:
            text = f"{_at(stage)}the gradients of {what} are zero."
    else:
        numel = table.values[row, _NUMEL]
        zeros = f"a gradient arrived, and all {numel:.0f} elements are zero"
        text = f"{describe_node(graph, node)}: {zeros}."
    return tell("zero_gradient", row, node.name, text)
