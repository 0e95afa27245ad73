"""Find parameters that only shift or scale what a normalization or a softmax brings back."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tb_gradgraph.diagnose.structure.axes import Pattern, pattern_of
from tb_gradgraph.diagnose.structure.factor import (
    begins,
    factor_passed_on,
    first_pattern,
    is_factor_removed,
)
from tb_gradgraph.diagnose.structure.kept_with_graph import kept_with_graph
from tb_gradgraph.diagnose.structure.shift import Use, is_removed, passed_on, short_name
from tb_gradgraph.graph import Edge, Graph, Node

#: Limit of the root mean square of such a parameter's gradient, divided by that of the weight next
#: to it, or of what flows through the operation that uses it. We measured 1e-8 to 1e-5. A batch
#: norm in evaluation mode subtracts a constant; then the ratio is about 1.
LESS_THAN_WEIGHT = 1e-3
#: The same if the operation computes with fewer digits.
_LESS_IN_HALF = 3e-2
_HALF = frozenset(("float16", "bfloat16"))

#: How many tensors are followed from one parameter, at most.
_MOST_FOLLOWED = 3000

#: Operations that only change the order or the type of elements.
PASSING = frozenset(
    ("alias", "clone", "permute", "reshapealias", "squeeze", "t", "tocopy", "transpose")
    + ("unsafeview", "unsqueeze", "view")
)

#: The position of an operation's bias among its inputs.
BIAS_INPUT = {
    **dict.fromkeys(("addmm", "baddbmm"), 0),
    **dict.fromkeys(("linear", "convolution", "mkldnnconvolution", "cudnnconvolution"), 2),
    **dict.fromkeys(("nativebatchnorm", "nativelayernorm", "nativegroupnorm"), 2),
}

#: A node, its slot, along which axes the change is constant, and whether it is a factor or a shift.
_State = tuple[int, int, frozenset[Pattern], bool]


class Uses:
    """The edges of a graph along which a gradient flows, by the slot that is used and by the user."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.of_slot: dict[tuple[int, int], list[Edge]] = {}
        self.inputs: dict[int, list[Edge]] = {}
        self.rows: dict[tuple[int, int], list[int]] = {}  # what a node sends back to each input
        for edge, row in zip(graph.edges, graph.edge_rows.tolist()):
            self.rows.setdefault((edge.target, edge.target_input), []).append(row)
            self.inputs.setdefault(edge.target, []).append(edge)
            target = graph.nodes[edge.target]
            if target.requires_grad or not target.slots:
                self.of_slot.setdefault((edge.source, edge.source_slot), []).append(edge)

    @functools.cached_property
    def outputs(self) -> Mapping[int, list[int]]:
        """The slots of each node that are used."""
        found: dict[int, list[int]] = {}
        for node, slot in self.of_slot:
            found.setdefault(node, []).append(slot)
        return found

    @functools.cached_property
    def _names(self) -> list[str]:
        return [short_name(node.operation) for node in self.graph.nodes]

    def name(self, index: int) -> str:
        """Return the short name of an operation."""
        return self._names[index]


@kept_with_graph
def uses_of(graph: Graph) -> Uses:
    """Return the edges of a graph along which a gradient flows."""
    return Uses(graph)


def removed_rows(uses: Uses, sizes: np.ndarray) -> Iterator[int]:
    """Yield the rows of parameters whose shift or factor is removed again wherever it goes.

    Args:
        uses: The edges of the graph.
        sizes: Root mean square of each row's gradient.
    """
    every = sizes.tolist()
    for place in _places(uses.graph):
        size = every[place.row]
        known = [one for row in place.beside if (one := every[row]) == one]
        # It is rounding beside the gradients next to it, or nothing is next to it.
        is_small = not known or size < place.limit * max(known)
        if size == size and is_small and _is_removed(uses, place.node):
            yield place.row


class _Place(NamedTuple):
    """A parameter: its node, its row, the rows next to it, and below what share of these it is small."""

    node: int
    row: int
    beside: Sequence[int]
    limit: float


@kept_with_graph
def _places(graph: Graph) -> list[_Place]:
    places = []
    for index, node in enumerate(graph.nodes):
        if node.kind == "parameter" and node.slots:
            places.append(_place(uses_of(graph), index, int(graph.slot_offsets[index])))
    return places


def _place(uses: Uses, index: int, row: int) -> _Place:
    graph, beside, limit = uses.graph, list[int](), LESS_THAN_WEIGHT
    for operation in users_of(uses, index):
        slots = graph.nodes[operation].slots
        limit = _LESS_IN_HALF if slots and slots[0].dtype in _HALF else limit
        if slots:
            beside.append(int(graph.slot_offsets[operation]))
        beside += [one for one in _weights(uses, operation) if one != row]
    return _Place(index, row, beside, limit)


def users_of(uses: Uses, index: int) -> Iterator[int]:
    """Yield the operations that use a parameter, looking through views and copies."""
    waiting, seen = [index], {index}
    for node in waiting:  # grows as it is read
        for edge in uses.of_slot.get((node, 0), ()):
            if uses.name(edge.target) not in PASSING:
                yield edge.target
            elif edge.target not in seen:
                seen.add(edge.target)
                waiting.append(edge.target)


def _weights(uses: Uses, index: int) -> Iterator[int]:
    """Yield the rows of the parameters that an operation uses, directly or through views and copies."""
    for node in inputs_of(uses, index):
        if uses.graph.nodes[node].kind == "parameter":
            yield int(uses.graph.slot_offsets[node])


def inputs_of(uses: Uses, index: int, position: int | None = None) -> Iterator[int]:
    """Yield the nodes that made the inputs of an operation, looking through views and copies."""
    waiting, seen = [index], {index}
    for node in waiting:  # grows as it is read
        for edge in uses.inputs.get(node, ()):
            if node == index and position not in (None, edge.target_input):
                continue
            if edge.source not in seen:
                seen.add(edge.source)
                yield edge.source
                if uses.name(edge.source) in PASSING:
                    waiting.append(edge.source)


def _is_removed(uses: Uses, index: int) -> bool:
    """Follow a change of a parameter to every place where it ends."""
    if (index, 0) not in uses.of_slot:
        return False
    shape = uses.graph.nodes[index].slots[0].shape
    start: _State = (index, 0, frozenset([pattern_of(shape)]), False)
    waiting, seen = [start], {start}
    while waiting and len(seen) < _MOST_FOLLOWED:
        node, slot, patterns, is_factor = waiting.pop()
        for edge in _without_own_mean(uses, uses.of_slot.get((node, slot), ())):
            further = _step(uses, edge, patterns, is_factor)
            if further is None:
                return False
            new = [state for state in further if state not in seen]
            seen.update(new)
            waiting += new
    return not waiting


def _step(
    uses: Uses, edge: Edge, patterns: frozenset[Pattern], is_factor: bool
) -> list[_State] | None:
    """Return the tensors to which a change goes on; None if it has an effect."""
    name, target = uses.name(edge.target), uses.graph.nodes[edge.target]
    if target.kind != "operation" or not target.slots:
        return None
    found: list[_State] = []
    for slot in uses.outputs.get(edge.target, [0]):
        use = _use(uses, edge, target, slot)
        if (
            not is_factor
            and uses.graph.nodes[edge.source].kind == "parameter"
            and begins(name, use)
        ):
            first = frozenset(first_pattern(name, pattern, use) for pattern in patterns)
            found.append((edge.target, slot, first, True))
            continue
        ends, goes_on = _RULES[is_factor]
        if any(ends(name, pattern, use) for pattern in patterns):
            continue
        further = frozenset(made for pattern in patterns for made in goes_on(name, pattern, use))
        if not further:
            return None
        found.append((edge.target, slot, further, is_factor))
    return found


#: Of shifts, and of factors: which operations remove it, and how it goes on.
_RULES = ((is_removed, passed_on), (is_factor_removed, factor_passed_on))


def _use(uses: Uses, edge: Edge, target: Node, slot: int) -> Use:
    nodes = uses.graph.nodes
    others = {
        one.target_input: nodes[one.source].slots[one.source_slot].shape
        for one in uses.inputs.get(edge.target, ())
    }
    shape = nodes[edge.source].slots[edge.source_slot].shape
    further = [one.shape for one in target.slots[1:]]
    return Use(edge.target_input, shape, target.slots[slot].shape, others, further)


def _without_own_mean(uses: Uses, edges: list[Edge] | tuple[Edge, ...]) -> list[Edge]:
    """Leave out a mean and the subtraction of it from what it is the mean of."""
    means = [edge for edge in edges if uses.name(edge.target) == "mean"]
    subtractions = {edge.target: edge for edge in edges if uses.name(edge.target) == "sub"}
    left_out: list[Edge] = []
    for mean in means:
        users = uses.of_slot.get((mean.target, 0), [])
        if users and all(one.target in subtractions for one in users):
            left_out += [mean, *(subtractions[one.target] for one in users)]
    return [edge for edge in edges if edge not in left_out]
