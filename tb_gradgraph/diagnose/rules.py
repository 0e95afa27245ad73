"""All findings of one record, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, tell
from tb_gradgraph.diagnose.kinds import SEVERITIES
from tb_gradgraph.diagnose.magnitude import cancelled_rows, find_magnitudes
from tb_gradgraph.diagnose.missing import find_missing, find_unread, find_zero
from tb_gradgraph.diagnose.nonfinite import MAX_NAMED, find_nonfinite
from tb_gradgraph.diagnose.optimizer_step import find_nonfinite_parameters
from tb_gradgraph.graph import Graph
from tb_gradgraph.statistics import StatisticsTable


def findings(
    graph: Graph,
    table: StatisticsTable,
    values: Mapping[int, np.ndarray] | None = None,
    stage: str = "backward",
    ran: bool = False,
    unread: Mapping[int, str] | None = None,
) -> list[Finding]:
    """Return what looks wrong in one backward pass, or at a later stage of the step.

    Args:
        graph: The graph that the pass ran over.
        table: Its statistics, one row for each of the graph's.
        values: Values of the forward by row, of tensors that were kept whole.
        stage: Where in the step the gradients were read. At stages after ``backward`` only
            parameters have numbers, and findings about missing, vanishing and exploding gradients
            are not repeated.
        ran: Whether a backward is known to have run, although no gradient was recorded.
        unread: Rows that could not be read, and why.

    Returns:
        Errors first, then warnings, then notes. Within one severity, non-finite gradients come
        before missing ones, and those before large and small ones, each in backward order.
    """
    unread = unread or {}
    if stage != "backward":
        return rank([*find_unread(graph, unread), *_find_at_stage(graph, table, stage)])
    if not table.present.any() and not unread:
        return [_tell_empty(ran)]
    cancelled = cancelled_rows(graph, table)
    return rank(
        [
            *find_nonfinite(graph, table, values or {}),
            *find_unread(graph, unread),
            *find_missing(graph, table, unread),
            *find_zero(graph, table, cancelled),
            *find_magnitudes(graph, table, cancelled),
        ]
    )


def _tell_empty(ran: bool) -> Finding:
    if ran:
        text = (
            "A backward ran, but none of its gradients was recorded: what watch() was given as "
            "select, exclude and level leaves nothing of this graph."
        )
        return tell("nothing_selected", None, "", text)
    text = "No gradient was recorded: no backward pass ran over this graph yet."
    return tell("no_backward", None, "", text)


def rank(found: Iterable[Finding]) -> list[Finding]:
    """Sort by severity, the worst first; otherwise keep the order."""
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def _find_at_stage(graph: Graph, table: StatisticsTable, stage: str) -> Iterator[Finding]:
    yield from find_nonfinite_parameters(graph, table, stage)
    zero = list(find_zero(graph, table))
    if len(zero) < 2:
        yield from zero
        return
    names = ", ".join(one.node for one in zero[:MAX_NAMED])
    more = f" and {len(zero) - MAX_NAMED} more" if len(zero) > MAX_NAMED else ""
    text = f"At the stage {stage} the gradients of {len(zero)} parameters are zero: {names}{more}."
    yield tell("zero_gradient", zero[0].row, zero[0].node, text)
