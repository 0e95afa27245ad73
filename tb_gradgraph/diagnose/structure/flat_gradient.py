"""Find parameters behind a normalization whose output's gradient is the same at every element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_gradgraph.diagnose.structure.kept_with_graph import kept_with_graph
from tb_gradgraph.diagnose.structure.removed import Uses, uses_of
from tb_gradgraph.diagnose.structure.shift import CENTERING
from tb_gradgraph.graph import Graph
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

#: How far the elements may differ, as a share of the greatest one.
_FLAT = 1e-6

#: What leaves such a normalization, divided by what arrives.
_ROUNDING = 1e-4

_LEAST, _GREATEST, _ABS_MAX, _NUMEL, _NORM = (
    STATISTICS.index(name) for name in ("min", "max", "abs_max", "numel", "l2_norm")
)


def rows_behind_flat_gradient(uses: Uses, table: StatisticsTable) -> Iterator[int]:
    """Yield the rows of parameters whose every way to the loss is such a normalization.

    A normalization subtracts the mean. If all elements of its output have the same gradient, as for
    the sum of an output, nothing but rounding goes back through it.
    """
    graph = uses.graph
    flat = {index for index in _normalizations(graph) if _is_flat(uses, table, index)}
    if not flat:
        return
    behind: set[int] = set()
    for index in reversed(range(len(graph.nodes))):
        edges = [
            edge
            for slot in range(len(graph.nodes[index].slots))
            for edge in uses.of_slot.get((index, slot), ())
        ]
        if edges and all(_ends(edge.target, edge.target_input, flat, behind) for edge in edges):
            behind.add(index)
            if graph.nodes[index].kind == "parameter":
                yield int(graph.slot_offsets[index])


@kept_with_graph
def _normalizations(graph: Graph) -> list[int]:
    uses = uses_of(graph)
    return [index for index, _ in enumerate(graph.nodes) if uses.name(index) in CENTERING]


def _ends(target: int, at: int, flat: set[int], behind: set[int]) -> bool:
    return target in behind or (target in flat and at == 0)


def _is_flat(uses: Uses, table: StatisticsTable, index: int) -> bool:
    """Return whether all that a normalization gets is one number."""
    row = int(uses.graph.slot_offsets[index])
    numbers = table.values[row]
    if not table.present[row] or not numbers[_NUMEL] > 1 or not numbers[_ABS_MAX] > 0:
        return False
    if not numbers[_GREATEST] - numbers[_LEAST] <= _FLAT * numbers[_ABS_MAX]:
        return False
    return _sent(uses, table, index) <= _ROUNDING * float(numbers[_NORM])


def _sent(uses: Uses, table: StatisticsTable, index: int) -> float:
    """Return the norm of what goes back to the first input; zero if it was not read."""
    rows = [row for row in uses.rows.get((index, 0), ()) if table.present[row]]
    return max((float(np.nan_to_num(table.values[row, _NORM])) for row in rows), default=0.0)
