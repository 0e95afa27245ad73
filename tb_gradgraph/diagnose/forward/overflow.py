"""Judge whether infinity in a gradient may be only the factor of a GradScaler."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tb_gradgraph.diagnose.forward.likely_operation import GREATEST
from tb_gradgraph.diagnose.forward.value_flow import plain_name
from tb_gradgraph.graph import Graph
from tb_gradgraph.statistics import STATISTICS, StatisticsTable

_SHORT = "float16"

#: Operations that multiply a gradient by a number, and how large that may be without a fault.
_FACTOR = 100.0
_SCALING = frozenset(("mul", "tocopy", "mean", "neg", "expand", "sub", "add", "relu"))

#: Operations that add up as many products as the gradient has elements.
_SUMMING = frozenset(
    ("mm", "addmm", "bmm", "baddbmm", "linear", "matmul", "convolution", "cudnnconvolution")
    + ("mkldnnconvolution", "sum", "t", "view", "cudnnbatchnorm", "nativebatchnorm", "unsafeview")
    + ("nativelayernorm", "embedding", "gelu", "logsoftmax", "nllloss", "mseloss")
)

_ABS_MAX, _NUMEL = STATISTICS.index("abs_max"), STATISTICS.index("numel")


def is_overflow(
    graph: Graph, table: StatisticsTable, source: int, users: Sequence[int], loss_scale: float
) -> bool:
    """Return whether a gradient in float16 can have overflowed because the loss was scaled.

    Args:
        graph: The graph.
        table: Statistics of its gradients, with the factor divided out.
        source: The node whose gradient is not finite.
        users: The nodes that sent it.
        loss_scale: The factor.
    """
    if loss_scale <= 1 or all(slot.dtype != _SHORT for slot in graph.nodes[source].slots):
        return False
    return any(_may_grow(graph, table, user, loss_scale) for user in users)


def _may_grow(graph: Graph, table: StatisticsTable, user: int, loss_scale: float) -> bool:
    name = plain_name(graph.nodes[user])
    if name not in _SCALING and name not in _SUMMING:
        return False
    known = [
        table.values[row]
        for row in range(*graph.slot_offsets[user : user + 2].tolist())
        if table.present[row] and not math.isnan(table.values[row, _ABS_MAX])
    ]
    if not known:
        return True
    terms = max(numbers[_NUMEL] for numbers in known) if name in _SUMMING else 1
    factor = max(_FACTOR * terms, loss_scale if name == "mul" else 1)
    greatest = max(numbers[_ABS_MAX] for numbers in known) * loss_scale
    return bool(greatest * factor > GREATEST[_SHORT])
