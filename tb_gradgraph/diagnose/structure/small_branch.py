"""Find parameters of branches that a small factor makes small, while the gradient flows on past them."""

from __future__ import annotations

import numpy as np

from tb_gradgraph.diagnose.structure.removed import PASSING, Uses, inputs_of, users_of

#: What leaves a product with a parameter, divided by what arrives: less, and the parameter is a
#: small factor, such as a LayerScale of 1e-6.
_SMALL_FACTOR = 1e-2


def rows_in_small_branches(uses: Uses, sizes: np.ndarray, least: float) -> frozenset[int]:
    """Return the rows of parameters that are small, although what lies before them is not.

    Either a parameter nearer to the input gets a gradient of at least ``least`` (then it reached it
    in another way), or every way to the loss goes through a product with a small parameter.

    Args:
        uses: The edges of the graph.
        sizes: Root mean square of each row's gradient.
        least: What is not small.
    """
    graph = uses.graph
    before = _greatest_before(uses, sizes)
    scaled = _behind_factors(uses, sizes)
    found = set()
    for index, node in enumerate(graph.nodes):
        if node.kind not in ("parameter", "leaf") or not node.slots:
            continue
        reached = max((before[user] for user in users_of(uses, index)), default=0.0)
        if reached >= least or index in scaled:
            found.add(int(graph.slot_offsets[index]))
    return frozenset(found)


def _greatest_before(uses: Uses, sizes: np.ndarray) -> list[float]:
    """Return for each node the greatest gradient of a parameter from which it was computed.

    A parameter counts from the second operation on: beside it, it is no earlier one.
    """
    graph = uses.graph
    near = [0.0] * len(graph.nodes)  # with those that it uses itself
    before = [0.0] * len(graph.nodes)
    for index, node in enumerate(graph.nodes):
        if node.kind in ("parameter", "leaf") and node.slots:
            near[index] = _size(sizes, int(graph.slot_offsets[index]))
        for edge in uses.inputs.get(index, ()):
            if not _is_own(uses, edge.source):
                before[index] = max(before[index], near[edge.source])
            near[index] = max(near[index], near[edge.source])
    return before


def _is_own(uses: Uses, index: int) -> bool:
    """Return whether a node is only a view of a parameter."""
    while uses.name(index) in PASSING and len(uses.inputs.get(index, ())) == 1:
        index = uses.inputs[index][0].source
    return uses.graph.nodes[index].kind in ("parameter", "leaf")


def _size(sizes: np.ndarray, row: int) -> float:
    size = float(sizes[row])
    return size if 0 < size < np.inf else 0.0


def _behind_factors(uses: Uses, sizes: np.ndarray) -> set[int]:
    """Return the nodes whose every way to the loss goes through a product with a small parameter."""
    graph = uses.graph
    behind: set[int] = set()
    for index in reversed(range(len(graph.nodes))):
        edges = [
            edge
            for slot in range(len(graph.nodes[index].slots))
            for edge in uses.of_slot.get((index, slot), ())
        ]
        if edges and all(
            edge.target in behind or _is_small_factor(uses, sizes, edge.target, edge.target_input)
            for edge in edges
        ):
            behind.add(index)
    return behind


def _is_small_factor(uses: Uses, sizes: np.ndarray, index: int, at: int) -> bool:
    """Return whether an operation multiplies one of its inputs by a parameter that is small."""
    if uses.name(index) != "mul":
        return False
    graph = uses.graph
    factors = [
        node
        for node in inputs_of(uses, index, 1 - at)
        if graph.nodes[node].kind == "parameter" and graph.nodes[node].requires_grad
    ]
    if not factors:
        return False
    arrived = _size(sizes, int(graph.slot_offsets[index]))
    sent = [_size(sizes, row) for row in uses.rows.get((index, at), ())]
    return bool(arrived and sent and 0 < max(sent) < _SMALL_FACTOR * arrived)
