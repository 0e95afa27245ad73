"""Find products that send back zero because the other factor is a weight that is zero."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from tb_gradgraph.diagnose.structure.removed import PASSING, Uses
from tb_gradgraph.graph import Edge

#: Products, and the positions of their two factors.
FACTORS = {
    **dict.fromkeys(("mul", "mm", "bmm", "matmul", "linear"), (0, 1)),
    **dict.fromkeys(("addmm", "baddbmm"), (1, 2)),
    **dict.fromkeys(("convolution", "mkldnnconvolution", "cudnnconvolution"), (0, 1)),
    **dict.fromkeys(("nativebatchnorm", "batchnorm", "cudnnbatchnorm", "syncbatchnorm"), (0, 1)),
    **dict.fromkeys(("nativelayernorm", "layernorm", "nativegroupnorm", "groupnorm"), (0, 1)),
    **dict.fromkeys(("rmsnorm", "fusedrmsnorm"), (0, 1)),
}

#: Operations that take a part of a tensor. Of zeros it is zeros.
_PARTS = frozenset(
    ("split", "splitwithsizes", "slice", "narrow", "chunk", "select", "unbind", "expand")
)

#: Operations that may send back zero by themselves. If they were not read, they may be the cause.
MAY_BE_ZERO = frozenset(
    ("relu", "hardtanh", "clamp", "clampmin", "clampmax", "sign", "round", "floor", "ceil")
    + ("threshold", "hardsigmoid", "hardswish", "where", "maskedfill", "heaviside", "trunc")
    + ("index", "maximum", "minimum", "max", "min", "topk", "gather", "embedding")
)


class ZeroFactors:
    """Looks for weights that are zero, by the gradients of those that are multiplied by them."""

    def __init__(self, uses: Uses, sizes: np.ndarray) -> None:
        self._uses = uses
        self._sizes = sizes

    def got(self, index: int) -> float:
        """Return the size of the gradient that a node got, or that a parameter got from it."""
        graph = self._uses.graph
        rows = [*range(*graph.slot_offsets[index : index + 2].tolist())]
        known = [float(self._sizes[row]) for row in rows if self._sizes[row] == self._sizes[row]]
        if known:
            return max(known)
        beside = (row for row in self._parameters(index))
        return max((float(np.nan_to_num(self._sizes[row])) for row in beside), default=0.0)

    def gives_zero(self, index: int) -> bool:
        """Return whether the parameters that an operation uses get zero from it."""
        known = [float(self._sizes[row]) for row in self._parameters(index)]
        return bool(known) and not any(known)

    def _parameters(self, index: int) -> Iterator[int]:
        """Yield the rows of the parameters that only this operation uses."""
        graph = self._uses.graph
        for edge in self._uses.inputs.get(index, ()):
            node = self._through(edge.source)
            uses = len(self._uses.of_slot.get((node, 0), ()))
            if graph.nodes[node].kind == "parameter" and uses == 1:
                yield int(graph.slot_offsets[node])

    def _through(self, node: int, names: Collection[str] = PASSING) -> int:
        """Return the node behind views and copies."""
        while self._uses.name(node) in names and len(self._uses.inputs.get(node, ())) == 1:
            node = self._uses.inputs[node][0].source
        return node

    def is_zero(self, edge: Edge) -> bool:
        """Return whether an operation sent zero along an edge, or nothing speaks against it."""
        rows = self._uses.rows.get((edge.target, edge.target_input), ())
        known = [row for row in rows if self._sizes[row] == self._sizes[row]]
        return all(self._sizes[row] == 0 for row in known)

    def weight(self, target: int, at: int) -> int | None:
        """Return the node of the weight whose zeros explain that input ``at`` of a product gets zero."""
        pair = FACTORS.get(self._uses.name(target))
        if pair is None or at not in pair:
            return None
        other = pair[1] if at == pair[0] else pair[0]
        for edge in self._uses.inputs.get(target, ()):
            if edge.target_input == other:
                return self._weight_behind(edge.source)
        return None

    def _weight_behind(self, node: int) -> int | None:
        """Return a parameter that gets a gradient and of which, or of whose product, all of a tensor is."""
        node = self._through(node, PASSING | _PARTS)
        graph = self._uses.graph
        if graph.nodes[node].kind == "parameter":
            return node if graph.nodes[node].requires_grad and self._is_moved(node) else None
        pair = FACTORS.get(self._uses.name(node), ())
        for edge in self._uses.inputs.get(node, ()):
            source = self._through(edge.source)
            if edge.target_input in pair and graph.nodes[source].kind == "parameter":
                return source if self._is_moved(source) else None
        return None

    def _is_moved(self, node: int) -> bool:
        return bool(self._sizes[self._uses.graph.slot_offsets[node]] > 0)
