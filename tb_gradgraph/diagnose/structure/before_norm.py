"""Find biases whose shift a normalization removes again, so that their gradient is only rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.graph import Edge, Graph

#: The index of an operation's bias among its inputs, by autograd's name without its final number.
_BIAS_INPUT = {
    "AddmmBackward": 0,
    "ConvolutionBackward": 2,
    "LinearBackward": 2,
    "MkldnnConvolutionBackward": 2,
}

#: Normalizations that subtract the mean of each channel. A layer or group norm subtracts the mean
#: of several channels, so a bias still has a gradient. An instance norm is a batch norm between two
#: views.
_NORMS = frozenset(
    {
        "BatchNormBackward",
        "CudnnBatchNormBackward",
        "MiopenBatchNormBackward",
        "NativeBatchNormBackward",
        "SyncBatchNormBackward",
    }
)

#: Operations that only change the order or the type of elements.
_PASSING = frozenset(
    {
        "AliasBackward",
        "CloneBackward",
        "PermuteBackward",
        "ReshapeAliasBackward",
        "SqueezeBackward",
        "TBackward",
        "ToCopyBackward",
        "TransposeBackward",
        "UnsafeViewBackward",
        "UnsqueezeBackward",
        "ViewBackward",
    }
)

#: Limit of the root mean square of such a bias's gradient, divided by that of the weight next to
#: it. We measured 1e-8 to 1e-5. A batch norm in evaluation mode subtracts a constant; then the
#: ratio is about 1.
LESS_THAN_WEIGHT = 1e-3


def rows_before_norm(graph: Graph, sizes: np.ndarray) -> Iterator[int]:
    """Yield the rows of biases that only shift what a batch norm centers.

    Args:
        graph: The graph.
        sizes: Root mean square of each row's gradient.
    """
    users = _edges_by(graph, [edge.source for edge in graph.edges])
    sources = _edges_by(graph, [edge.target for edge in graph.edges])
    for index, node in enumerate(graph.nodes):
        if node.kind != "parameter" or not node.slots:
            continue
        operations = list(_uses_as_bias(graph, users, index))
        if not operations or None in operations:
            continue
        row = int(graph.slot_offsets[index])
        if np.isnan(sizes[row]):
            continue
        known = [one for one in operations if one is not None]
        weights = [sizes[w] for one in known for w in _weights(graph, sources, one) if w != row]
        weights = [size for size in weights if size == size]
        is_small = not weights or sizes[row] < LESS_THAN_WEIGHT * max(weights)
        if is_small and all(_is_centered(graph, users, one) for one in known):
            yield row


def _edges_by(graph: Graph, nodes: Sequence[int]) -> Mapping[int, list[Edge]]:
    found: dict[int, list[Edge]] = {}
    for edge, node in zip(graph.edges, nodes):
        found.setdefault(node, []).append(edge)
    return found


def _uses_as_bias(
    graph: Graph, users: Mapping[int, list[Edge]], index: int
) -> Iterator[int | None]:
    """Yield the operations that use a parameter as their bias; None for any other use."""
    for edge in _through_passing(graph, users, index):
        name = _kind(graph, edge.target)
        yield edge.target if _BIAS_INPUT.get(name) == edge.target_input else None


def _is_centered(graph: Graph, users: Mapping[int, list[Edge]], index: int) -> bool:
    """Return whether everything that uses an operation's output normalizes it."""
    uses = list(_through_passing(graph, users, index))
    return bool(uses) and all(
        edge.target_input == 0 and _kind(graph, edge.target) in _NORMS for edge in uses
    )


def _through_passing(graph: Graph, users: Mapping[int, list[Edge]], index: int) -> Iterator[Edge]:
    """Yield the edges to the users of a node's elements, looking through views and copies."""
    waiting, seen = [index], {index}
    for node in waiting:  # grows as it is read
        for edge in users.get(node, ()):
            if not graph.nodes[edge.target].requires_grad and graph.nodes[edge.target].slots:
                continue  # no gradient flows back along it
            if _kind(graph, edge.target) not in _PASSING:
                yield edge
            elif edge.target not in seen:
                seen.add(edge.target)
                waiting.append(edge.target)


def _weights(graph: Graph, sources: Mapping[int, list[Edge]], index: int) -> Iterator[int]:
    """Yield the rows of the parameters that an operation uses, directly or through views and copies."""
    waiting, seen = [index], {index}
    for node in waiting:  # grows as it is read
        for edge in sources.get(node, ()):
            if graph.nodes[edge.source].kind == "parameter":
                yield int(graph.slot_offsets[edge.source])
            elif _kind(graph, edge.source) in _PASSING and edge.source not in seen:
                seen.add(edge.source)
                waiting.append(edge.source)


def _kind(graph: Graph, index: int) -> str:
    return graph.nodes[index].operation.rstrip("0123456789")
