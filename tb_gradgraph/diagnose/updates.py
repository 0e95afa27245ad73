"""Find weights that a step moved far more or far less than usual."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node, tell
from tb_gradgraph.diagnose.missing import parameter_rows
from tb_gradgraph.graph import Graph, Node
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

#: The usual update of a weight as a share of its norm (least, greatest), and how far beyond it is reported.
USUAL = (1e-4, 1e-2)
FAR = 10.0

#: In the first steps a larger update than usual is mild up to this share. RMSprop's and Adam's first
#: step is as large as ten and one learning rates for each element, whatever the gradient is.
EARLY = 3.0

#: A weight whose root mean square is below this share of 1 / sqrt(fan-in), the usual one at the
#: start, began near zero. Its updates are compared with this share instead of its own norm.
_NEAR_ZERO = 0.3

_GRADIENT, _WEIGHT, _UPDATE, _RATIO, _SPREAD = (
    STATISTICS.index(name)
    for name in ("l2_norm", "weight_norm", "update_norm", "update_ratio", "update_spread")
)


def find_updates(graph: Graph, table: StatisticsTable, is_early: bool = False) -> Iterator[Finding]:
    """Find weights that moved far or hardly (one finding for each kind), or that no weight moved.

    Scalars and vectors are left out: a bias may begin at zero and change by much of its norm. So may
    a weight that began near zero, as an adapter or a gate does; it is judged as if it had the norm of
    a weight of its shape.

    Args:
        graph: The graph.
        table: Its statistics at the stage ``applied``.
        is_early: Whether this is one of the first steps of a training, at which some optimizers
            take greater steps. Then a large update is mild.
    """
    parameters = list(parameter_rows(graph))
    updates = table.values[[row for row, _ in parameters], _UPDATE]
    known = updates[~np.isnan(updates)]
    if len(known) and not known.any():
        text = "No weight changed in this step."
        if not np.isnan(table.values[:, _SPREAD]).all():
            text = (
                "No weight is seen to have changed in this step. For weights that update_memory= had "
                "no room to copy, only some rows and a sample were looked at."
            )
        yield tell("no_update", None, "", text)
        return
    ratios = table.values[:, _RATIO]
    weights = [
        (row, node)
        for row, node in parameters
        if len(node.slots[0].shape) > 1 and 0 < ratios[row] < np.inf
    ]
    weights.sort(key=lambda pair: ratios[pair[0]])
    low, high = USUAL[0] / FAR, USUAL[1] * FAR
    large = [
        (row, node)
        for row, node in reversed(weights)
        if ratios[row] > high and _share_of_usual(table, row, node) > high
    ]
    # Without a gradient only momentum or decay moves a weight, so a small update is no finding.
    got = table.values[:, _GRADIENT] != 0
    small = [pair for pair in weights if ratios[pair[0]] < low and got[pair[0]]]
    if large:
        text = _tell(graph, table, large, len(weights), f"more than {high:g}")
        is_mild = is_early and ratios[large[0][0]] <= EARLY
        if is_mild:
            text += " This is one of the first steps, when some optimizers take greater ones."
        yield tell("large_update", *_where(large), text, is_mild)
    if small:
        text = _tell(graph, table, small, len(weights), f"less than {low:g}")
        yield tell("small_update", *_where(small), text)


def _share_of_usual(table: StatisticsTable, row: int, node: Node) -> float:
    """Return an update's norm, divided by the least norm that is usual for a weight of this shape."""
    shape = list(node.slots[0].shape)
    while len(shape) > 2 and shape[0] == 1:  # a token or a position: (1, 1, width)
        shape = shape[1:]
    fan_in = max(1, math.prod(shape[1:]))
    usual = _NEAR_ZERO * math.sqrt(math.prod(shape) / fan_in)
    return float(table.values[row, _UPDATE]) / usual


def _where(far: Sequence[tuple[int, Node]]) -> tuple[int, str]:
    return far[0][0], far[0][1].name


def _tell(
    graph: Graph, table: StatisticsTable, far: Sequence[tuple[int, Node]], count: int, limit: str
) -> str:
    """Return a text that names the most extreme weight, its numbers, and how many others there are."""
    row, node = far[0]
    weight, update, ratio = table.values[row, [_WEIGHT, _UPDATE, _RATIO]]
    return (
        f"{describe_node(graph, node)}: this step changed it by {ratio:.2g} of its norm "
        f"(update {update:.2g}, weight {weight:.2g}). {len(far)} of {count} weights changed by "
        f"{limit} of theirs; {USUAL[0]:g} to {USUAL[1]:g} is usual."
    )
