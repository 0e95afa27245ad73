"""All findings of one record, worst first."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, tell
from tb_gradgraph.diagnose.from_forward import find_in_forward
from tb_gradgraph.diagnose.kinds import SEVERITIES
from tb_gradgraph.diagnose.magnitude import cancelled_rows, find_magnitudes
from tb_gradgraph.diagnose.missing import find_missing, find_unread, find_zero
from tb_gradgraph.diagnose.nonfinite import find_nonfinite
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
    value_table: StatisticsTable | None = None,
    loss_scale: float = 1.0,
    reached: Collection[int] = (),
    skipped: bool = False,
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
        value_table: Statistics of the values of the forward; None if they were not recorded.
        loss_scale: The factor of a GradScaler on the loss.
        reached: Rows that get a gradient in other passes; that they get none in this one is not told.
        skipped: Whether a GradScaler skipped the step; its later stages then have only notes.

    Returns:
        Errors first, then warnings, then notes. Within one severity, what the forward made comes
        first, then non-finite gradients, missing ones, and large and small ones, each in backward
        order.
    """
    unread = unread or {}
    forward = find_in_forward(graph, table, value_table, values or {}, loss_scale)
    if stage != "backward":
        return rank(
            [
                *forward.found,
                *find_unread(graph, unread),
                *_find_at_stage(graph, table, stage, forward.origin, skipped),
            ]
        )
    if not table.present.any() and not unread:
        return rank([*forward.found, _tell_empty(ran)])
    cancelled = cancelled_rows(graph, table)
    return rank(
        [
            *forward.found,
            *find_nonfinite(graph, table, forward.origin, _are_known(value_table), loss_scale),
            *find_unread(graph, unread),
            *find_missing(graph, table, unread, reached),
            *find_zero(graph, table, cancelled),
            *find_magnitudes(graph, table, cancelled),
        ]
    )


def _are_known(value_table: StatisticsTable | None) -> bool:
    return value_table is not None and bool(value_table.present.any())


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


def _find_at_stage(
    graph: Graph, table: StatisticsTable, stage: str, forward_origin: str, skipped: bool
) -> Iterator[Finding]:
    why = f" They came from the forward: it began at {forward_origin}." if forward_origin else ""
    for found in find_nonfinite_parameters(graph, table, stage, skipped):
        yield dataclasses.replace(found, text=found.text + why)
    yield from find_zero(graph, table, cancelled_rows(graph, table), stage)
