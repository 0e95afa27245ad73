"""Parameters whose gradients are orders of magnitude away from the others'."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node
from tb_gradgraph.diagnose.missing import parameter_rows
from tb_gradgraph.graph import Graph
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

#: Orders of magnitude between a parameter's root mean square gradient and the median of all.
ORDERS = 4.0

#: Below so many parameters a median says nothing.
LEAST_PARAMETERS = 4

_L2_NORM, _NUMEL = STATISTICS.index("l2_norm"), STATISTICS.index("numel")


def find_magnitudes(graph: Graph, table: StatisticsTable) -> Iterator[Finding]:
    """Find vanishing and exploding gradients, the farthest off first.

    What counts is the root mean square of a parameter's gradient, so that large
    and small tensors compare; those that are zero or not finite are left out.
    """
    rows = [(row, node) for row, node in parameter_rows(graph) if node.requires_grad]
    numbers = table.values[[row for row, _ in rows]].reshape(len(rows), len(STATISTICS))
    with np.errstate(divide="ignore", invalid="ignore"):
        orders = np.log10(numbers[:, _L2_NORM] / np.sqrt(numbers[:, _NUMEL]))
    usable = np.isfinite(orders)
    if usable.sum() < LEAST_PARAMETERS:
        return
    distance = orders - np.median(orders[usable])
    for index in np.argsort(-np.abs(distance), kind="stable").tolist():
        row, node = rows[index]
        if not usable[index] or abs(distance[index]) < ORDERS:
            continue
        kind = "exploding" if distance[index] > 0 else "vanishing"
        side = "above" if distance[index] > 0 else "below"
        text = (
            f"{describe_node(graph, node)}: root mean square gradient {10 ** orders[index]:.2g}, "
            f"{abs(distance[index]):.1f} orders of magnitude {side} the parameters' median."
        )
        yield Finding("warning", kind, row, node.name, text)
