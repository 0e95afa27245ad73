"""Find parameters that get a gradient but are in no optimizer of the watch."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node, tell
from tb_gradgraph.diagnose.missing import parameter_rows
from tb_gradgraph.diagnose.structure.by_module import Rows
from tb_gradgraph.diagnose.structure.kept_with_graph import kept_with_graph
from tb_gradgraph.graph import Graph, Node
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

#: How many parameters are named.
MAX_NAMED = 5

#: By what share ``.grad`` must differ from the step's one backward to be reported as accumulating.
_MORE = 1e-3

#: The end of the name of a parameter that only an optimizer has.
_STRANGER = re.compile(r"\.param_groups\[\d+\]\.params\[\d+\]$")

_NORM, _WEIGHT = STATISTICS.index("l2_norm"), STATISTICS.index("weight_norm")


def updated_rows(table: StatisticsTable) -> np.ndarray:
    """Return for each row whether an optimizer has it, from a table of the stage ``applied``.

    A parameter that had no gradient when its optimizer stepped has no numbers, as if it had no
    optimizer.
    """
    return ~np.isnan(table.values[:, _WEIGHT])


def is_stranger(node: Node) -> bool:
    """Return whether a node is a parameter that an optimizer has and the model does not."""
    return node.kind == "parameter" and _STRANGER.search(node.name) is not None


def has_copies(graph: Graph, applied: StatisticsTable) -> bool:
    """Return whether an optimizer steps on copies of the model's parameters (master weights).

    Then it has parameters that the model does not have, which are as large together as those that
    it does have, and which were given a gradient by hand. The parameters of a model that was
    replaced get none.

    Args:
        graph: The graph.
        applied: The table of the stage ``applied``.
    """
    copies = [node for row, node in _learning_strangers(graph) if applied.present[row]]
    if not copies:
        return False
    own = [
        node
        for row, node in parameter_rows(graph)
        if node.kind == "parameter" and node.requires_grad and not applied.present[row]
    ]
    return _count(copies) >= _count(one for one in own if not is_stranger(one))


@kept_with_graph
def _learning_strangers(graph: Graph) -> Rows:
    return [
        (row, node)
        for row, node in parameter_rows(graph)
        if node.requires_grad and is_stranger(node)
    ]


def _count(nodes: Iterable[Node]) -> int:
    return sum(math.prod(node.slots[0].shape) for node in nodes)


def join_tables(tables: Iterable[tuple[str, StatisticsTable]]) -> dict[str, StatisticsTable]:
    """Join the tables of each stage of a step, of which every optimizer gave one.

    Rows of later tables replace those of earlier ones.
    """
    joined: dict[str, StatisticsTable] = {}
    for stage, table in tables:
        joined[stage] = _join(joined[stage], table) if stage in joined else table
    return joined


def _join(first: StatisticsTable, second: StatisticsTable) -> StatisticsTable:
    later = second.present | updated_rows(second)
    return StatisticsTable(
        np.where(later[:, None], second.values, first.values),
        first.present | second.present,
        np.where(later[:, None], second.histogram, first.histogram),
    )


def rows_of_no_optimizer(
    graph: Graph, tables: Mapping[str, StatisticsTable], updated: Collection[int]
) -> list[int]:
    """List the rows of parameters that got a gradient in a step but are in no optimizer.

    Args:
        graph: The graph of the step.
        tables: The recorded tables of the step, by stage.
        updated: Rows that an optimizer of the watch updated at other steps.
    """
    before = _before(tables)
    if before is None or "applied" not in tables:
        return []
    had = updated_rows(tables["applied"])
    if not had.any() or has_copies(graph, tables["applied"]):
        return []
    may_be = before.present & ~had
    return [
        row
        for row, node in parameter_rows(graph)
        if may_be[row] and node.kind == "parameter" and node.requires_grad and row not in updated
    ]


def find_not_optimized(
    graph: Graph, tables: Mapping[str, StatisticsTable], updated: Collection[int]
) -> Iterator[Finding]:
    """Find the parameters that no optimizer has, in one finding."""
    rows = rows_of_no_optimizer(graph, tables, updated)
    if not rows:
        return
    nodes = {row: node for row, node in parameter_rows(graph)}
    first = nodes[rows[0]]
    if len(rows) == 1:
        text = (
            f"{describe_node(graph, first)} is in no optimizer of this watch: it got a gradient "
            "and was not updated."
        )
    else:
        names = ", ".join(nodes[row].name for row in rows[:MAX_NAMED])
        more = f" and {len(rows) - MAX_NAMED} more" if len(rows) > MAX_NAMED else ""
        text = (
            f"{len(rows)} parameters are in no optimizer of this watch: they got a gradient and "
            f"were not updated: {names}{more}."
        )
    text += _tell_adding_up(tables, rows, nodes) or (
        f" (If an optimizer does have {'it, its' if len(rows) == 1 else 'them, their'} .grad was set to "
        "None before it stepped.)"
    )
    yield tell("not_optimized", rows[0], first.name, text)


def _before(tables: Mapping[str, StatisticsTable]) -> StatisticsTable | None:
    stages = ("unscaled", "accumulated", "backward")
    return next((tables[stage] for stage in stages if stage in tables), None)


def _tell_adding_up(
    tables: Mapping[str, StatisticsTable], rows: list[int], nodes: Mapping[int, Node]
) -> str:
    """Add a sentence if ``.grad`` accumulates over steps, because nothing clears it."""
    before, backward = _before(tables), tables.get("backward")
    if before is None or backward is None or before is backward:
        return ""
    for row in rows:
        held, gave = before.values[row, _NORM], backward.values[row, _NORM]
        if abs(held - gave) > _MORE * gave:
            of = "Its .grad keeps" if len(rows) == 1 else "Their .grads keep"
            which = "" if len(rows) == 1 else f" of that of {nodes[row].name}"
            numbers = f"norm{which} {held:.3g}, from this backward {gave:.3g}"
            return f" {of} adding up ({numbers}): optimizer.zero_grad() does not reach it."
    return ""
