"""Find parameters whose gradients vanish, explode or cancel out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node, tell
from tb_gradgraph.diagnose.missing import parameter_rows
from tb_gradgraph.diagnose.structure.before_norm import rows_before_norm
from tb_gradgraph.graph import Graph, Node
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

#: How many orders of magnitude a parameter's root mean square gradient may differ from that near the loss.
ORDERS = 4.0

#: "Near the loss" is the last quarter of the parameters in forward order. With fewer parameters
#: than this it has no meaning.
LEAST_PARAMETERS = 4

#: A greater norm is too large, whatever the other norms are.
GREATEST_NORM = 1e6

#: The root mean square of a parameter's gradient, divided by that of the operation that uses it.
#: Below this ratio, it is a sum of terms that cancel to rounding (the precision of float32 is
#: 6e-8).
CANCELLED = 1e-6

_L2_NORM, _NUMEL = STATISTICS.index("l2_norm"), STATISTICS.index("numel")


def cancelled_rows(graph: Graph, table: StatisticsTable) -> frozenset[int]:
    """Return the rows of parameters whose gradient cancels out, or is removed by a normalization."""
    sizes = _root_mean_squares(table)
    return frozenset([*_cancelled_rows(graph, sizes), *rows_before_norm(graph, sizes)])


def find_magnitudes(
    graph: Graph, table: StatisticsTable, cancelled: Collection[int]
) -> Iterator[Finding]:
    """Find vanishing and exploding gradients (one finding for each kind), and gradients that cancel out.

    The root mean square of a parameter's gradient does not depend on its size. It is compared with
    the median of the parameters nearest to the loss. The median of all parameters would not do: if
    most of a deep net has vanished, so has that median.
    """
    sizes = _root_mean_squares(table)
    found = [
        (row, node)
        for row, node in parameter_rows(graph)
        if row not in cancelled and 0 < sizes[row] < math.inf
    ]
    far_off = list(_find_far_off(graph, sizes, found))
    yield from far_off
    if all(finding.kind != "exploding" for finding in far_off):
        yield from _find_great(graph, table, found)
    for row, node in parameter_rows(graph):
        if row in cancelled:
            text = (
                f"{describe_node(graph, node)}: what it gets cancels out to rounding, as it does "
                "for a bias before a normalization. It does not learn, and need not."
            )
            yield tell("cancelled", row, node.name, text)


def _root_mean_squares(table: StatisticsTable) -> np.ndarray:
    """Return one number for each row; NaN if there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return table.values[:, _L2_NORM] / np.sqrt(table.values[:, _NUMEL])


def _cancelled_rows(graph: Graph, sizes: np.ndarray) -> Iterator[int]:
    parameters = {row: node for row, node in parameter_rows(graph)}
    starts = graph.slot_offsets.tolist()
    for edge in graph.edges:
        row = starts[edge.source] + edge.source_slot
        target = starts[edge.target]
        if row in parameters and target < starts[edge.target + 1]:
            if 0 < sizes[row] < CANCELLED * sizes[target]:
                yield row


def _find_far_off(
    graph: Graph, sizes: np.ndarray, found: Sequence[tuple[int, Node]]
) -> Iterator[Finding]:
    if len(found) < LEAST_PARAMETERS:
        return
    orders = np.log10(sizes[[row for row, _ in found]])
    near = float(np.median(orders[-max(1, len(found) // 4) :]))
    for kind, sign in (("vanishing", -1), ("exploding", 1)):
        distance = sign * (orders - near)
        far = int(np.argmax(distance))
        count = int((distance > ORDERS).sum())
        if not count:
            continue
        row, node = found[far]
        first = found[int(np.flatnonzero(distance > ORDERS)[-1])][1]
        begins = (
            f" Seen from the loss, {describe_node(graph, first)} is the first." if count > 1 else ""
        )
        text = (
            f"Gradients are {kind}: {describe_node(graph, node)} has a root mean square of "
            f"{sizes[row]:.2g}, {distance[far]:.1f} orders of magnitude "
            f"{'below' if kind == 'vanishing' else 'above'} the {10**near:.2g} of the parameters near "
            f"the loss (median of their last quarter). {count} of {len(found)} parameters are more "
            f"than {ORDERS:.0f} orders away.{begins}"
        )
        yield tell(kind, row, node.name, text)


def _find_great(
    graph: Graph, table: StatisticsTable, found: Sequence[tuple[int, Node]]
) -> Iterator[Finding]:
    great = [(float(table.values[row, _L2_NORM]), row, node) for row, node in found]
    great = [entry for entry in great if entry[0] > GREATEST_NORM]
    if great:
        norm, row, node = max(great, key=lambda entry: entry[0])
        text = (
            f"{describe_node(graph, node)}: its gradient has a norm of {norm:.2g}; "
            f"{len(great)} parameters are beyond {GREATEST_NORM:.0e}."
        )
        yield tell("exploding", row, node.name, text)
