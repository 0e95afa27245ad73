"""All findings of one backward pass, worst first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tb_gradgraph.diagnose.finding import SEVERITIES, Finding
from tb_gradgraph.diagnose.magnitude import find_magnitudes
from tb_gradgraph.diagnose.missing import find_missing, find_zero
from tb_gradgraph.diagnose.nonfinite import find_nonfinite
from tb_gradgraph.graph import Graph
from tb_gradgraph.statistics import StatisticsTable


def findings(
    graph: Graph, table: StatisticsTable, values: Mapping[int, np.ndarray] | None = None
) -> list[Finding]:
    """Say what looks wrong in one backward pass.

    Args:
        graph: The graph that the pass ran over.
        table: Its statistics, one row for each of the graph's.
        values: Values of the forward by row, of the tensors that keep theirs.

    Returns:
        Errors first, then warnings, then notes; of one severity the
        non-finite before the missing before the large and small, each in backward order.
    """
    if not table.present.any():
        text = "No gradient was recorded: no backward pass ran over this graph yet."
        return [Finding("note", "no_backward", None, "", text)]
    found = [
        *find_nonfinite(graph, table, values or {}),
        *find_missing(graph, table),
        *find_zero(graph, table),
        *find_magnitudes(graph, table),
    ]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))
