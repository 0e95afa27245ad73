"""Find parameters whose gradients vanish, explode or cancel out."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from tb_gradgraph.diagnose.finding import Finding, describe_node, tell
from tb_gradgraph.diagnose.missing import parameter_rows, weight_rows
from tb_gradgraph.diagnose.structure.by_module import tell_rows
from tb_gradgraph.diagnose.structure.flat_gradient import rows_behind_flat_gradient
from tb_gradgraph.diagnose.structure.kept_with_graph import kept_with_graph
from tb_gradgraph.diagnose.structure.removed import BIAS_INPUT, Uses, removed_rows, uses_of
from tb_gradgraph.diagnose.structure.small_branch import rows_in_small_branches
from tb_gradgraph.diagnose.structure.zero_factor import ZeroFactors
from tb_gradgraph.graph import Edge, Graph, Node
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

_Sized = Sequence[tuple[int, Node]]


def cancelled_rows(graph: Graph, table: StatisticsTable) -> frozenset[int]:
    """Return the rows of parameters whose gradient cancels out, or is removed by a normalization."""
    sizes = _root_mean_squares(table)
    uses = uses_of(graph)
    return frozenset(
        [
            *_cancelled_rows(graph, sizes),
            *removed_rows(uses, sizes),
            *rows_behind_flat_gradient(uses, table),
            *_exactly_cancelled_rows(uses, sizes),
        ]
    )


def find_magnitudes(
    graph: Graph, table: StatisticsTable, cancelled: Collection[int]
) -> Iterator[Finding]:
    """Find vanishing and exploding gradients (one finding for each kind), and gradients that cancel out.

    The root mean square of a parameter's gradient does not depend on its size. It is compared with
    the parameters nearest to the loss. All parameters would not do: if most of a deep net has
    vanished, so has their median.
    """
    sizes = _root_mean_squares(table)
    found = [
        (row, node)
        for row, node in weight_rows(graph)
        if row not in cancelled and 0 < sizes[row] < math.inf
    ]
    far_off = list(_find_far_off(graph, sizes, found))
    yield from far_off
    if all(finding.kind != "exploding" for finding in far_off):
        yield from _find_great(graph, table, found)
    yield from _find_cancelled(graph, cancelled)


def _find_cancelled(graph: Graph, cancelled: Collection[int]) -> Iterator[Finding]:
    """Find all parameters whose gradient cancels out, in one finding."""
    rows = [(row, node) for row, node in parameter_rows(graph) if row in cancelled]
    if not rows:
        return
    row, first = rows[0]
    one = len(rows) == 1
    text = (
        f"{describe_node(graph, first) if one else tell_rows(rows)}: what {'it gets' if one else 'they get'} "
        "cancels out to rounding, as for what a normalization or a softmax removes again. "
        f"{'It does not learn, and need' if one else 'They do not learn, and need'} not."
    )
    yield tell("cancelled", row, first.name, text)


def _root_mean_squares(table: StatisticsTable) -> np.ndarray:
    """Return one number for each row; NaN if there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return table.values[:, _L2_NORM] / np.sqrt(table.values[:, _NUMEL])


def _cancelled_rows(graph: Graph, sizes: np.ndarray) -> Iterator[int]:
    rows, targets = _uses_of_parameters(graph)
    with np.errstate(invalid="ignore"):
        are_so = (sizes[rows] > 0) & (sizes[rows] < CANCELLED * sizes[targets])
    yield from rows[are_so].tolist()


@kept_with_graph
def _uses_of_parameters(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return the row of a parameter and that of what it is used in, for each use."""
    parameters = {row for row, _ in parameter_rows(graph)}
    starts = graph.slot_offsets.tolist()
    found = [
        (row, starts[edge.target])
        for edge in graph.edges
        for row in [starts[edge.source] + edge.source_slot]
        if row in parameters and starts[edge.target] < starts[edge.target + 1]
    ]
    rows, targets = np.array(found, np.int64).reshape(-1, 2).T
    return rows, targets


def _exactly_cancelled_rows(uses: Uses, sizes: np.ndarray) -> Iterator[int]:
    """Yield the rows of biases whose gradient is zero because what they are added to has sum zero."""
    factors = ZeroFactors(uses, sizes)
    for row, node in parameter_rows(uses.graph):
        if sizes[row] == 0 and node.kind == "parameter":
            index = int(np.searchsorted(uses.graph.slot_offsets, row, "right")) - 1
            edges = uses.of_slot.get((index, 0), ())
            if edges and all(_is_sum(uses, factors, edge) for edge in edges):
                yield row


def _is_sum(uses: Uses, factors: ZeroFactors, edge: Edge) -> bool:
    is_bias = BIAS_INPUT.get(uses.name(edge.target)) == edge.target_input
    return is_bias and factors.got(edge.target) > 0


def _find_far_off(graph: Graph, sizes: np.ndarray, found: _Sized) -> Iterator[Finding]:
    """Find gradients far below the median near the loss, or far above the greatest one there.

    Parameters of a branch with a small factor have small gradients, and may be most of those near
    the loss. So none of these is called vanishing, and none makes others exploding.
    """
    if len(found) < LEAST_PARAMETERS:
        return
    orders = np.log10(sizes[[row for row, _ in found]])
    last = orders[-max(1, len(found) // 4) :]
    median, greatest = float(np.median(last)), float(last.max())
    is_low = median - orders > ORDERS
    if is_low.any():
        small = rows_in_small_branches(uses_of(graph), sizes, 10 ** (median - ORDERS))
        is_low &= np.array([row not in small for row, _ in found])
    for kind, far, near in (
        ("vanishing", np.where(is_low, median - orders, 0), median),
        ("exploding", np.where(orders - greatest > ORDERS, orders - greatest, 0), greatest),
    ):
        if far.any():
            yield _tell_far_off(graph, sizes, found, kind, far, near)


def _tell_far_off(
    graph: Graph, sizes: np.ndarray, found: _Sized, kind: str, far: np.ndarray, near: float
) -> Finding:
    at, beyond = int(np.argmax(far)), np.flatnonzero(far)
    row, node = found[at]
    first = found[int(beyond[-1])][1]
    begins = (
        f" Seen from the loss, {describe_node(graph, first)} is the first."
        if len(beyond) > 1
        else ""
    )
    is_small = kind == "vanishing"
    text = (
        f"Gradients are {kind}: {describe_node(graph, node)} has a root mean square of "
        f"{sizes[row]:.2g}, {far[at]:.1f} orders of magnitude "
        f"{'below' if is_small else 'above'} the {10**near:.2g} of the parameters near "
        f"the loss ({'median' if is_small else 'greatest'} of their last quarter). {len(beyond)} of "
        f"{len(found)} parameters are more than {ORDERS:.0f} orders away.{begins}"
    )
    return tell(kind, row, node.name, text)


def _find_great(graph: Graph, table: StatisticsTable, found: _Sized) -> Iterator[Finding]:
    norms = table.values[:, _L2_NORM].tolist()
    great = [(norms[row], row, node) for row, node in found if norms[row] > GREATEST_NORM]
    if great:
        norm, row, node = max(great, key=lambda entry: entry[0])
        text = (
            f"{describe_node(graph, node)}: its gradient has a norm of {norm:.2g}; "
            f"{len(great)} parameters are beyond {GREATEST_NORM:.0e}."
        )
        yield tell("exploding", row, node.name, text)
