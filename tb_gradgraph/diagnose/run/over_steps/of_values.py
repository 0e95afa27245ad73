"""What the values of the forward say over the steps: dead units, saturation, attention, inputs."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose.forward.value_flow import plain_name
from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.over_steps.passing import PASSING
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_names, tell_of_run
from tb_gradgraph.graph import NO_SCOPE, Graph, Node
from tb_gradgraph.statistics import STATISTICS

#: The share of the steps at which it must be so.
HABIT = 0.6
#: Units that are zero for the whole batch, elements near the ends, entropy as a share of its maximum.
DEAD, SATURATED, COLLAPSED = 0.5, 0.5, 0.02
#: An input's mean, and its deviation, in units of what is usual.
OFF_CENTER, WIDE, NARROW = 10.0, 30.0, 1e-3

_BENT = ("sigmoid", "tanh", "hardsigmoid")  # a hardtanh may be a ReLU6, which has zeros by design
#: Of fewer units many may be dead by chance.
LEAST_UNITS = 16
#: A unit is not called dead because of fewer samples and positions.
LEAST_POSITIONS = 16
#: What was given to the model, or was made of that without gradient before the first layer.
_GIVEN = ("input", "constant")
#: Operations that put tensors beside each other, or take one apart.
_JOINING = frozenset(("cat", "stack", "split", "unsafesplit", "constantpadnd", "im2col"))
_LINEAR = ("addmm", "mm", "bmm", "linear", "convolution", "conv", "matmul", "baddbmm")


@dataclasses.dataclass(frozen=True)
class ValueSeries:
    """A statistic of what one node put out, over the examined steps."""

    node: Node
    graph: Graph
    steps: Sequence[int]
    numbers: np.ndarray

    def habit(self, holds: Callable[[np.ndarray], np.ndarray]) -> list[int]:
        """Return the steps at which it holds, if they are most of them; else none."""
        return self.habit_of(holds(self.numbers))

    def habit_of(self, holds: np.ndarray) -> list[int]:
        """Return the same for what holds at each step."""
        known = np.isfinite(self.numbers)
        true = known & holds
        if known.sum() < 2 or true.sum() < HABIT * known.sum():
            return []
        return [step for step, is_true in zip(self.steps, true) if is_true]


def find_in_values(course: Course) -> Iterator[RunFinding]:
    """Yield what is wrong with values; nothing if none were recorded."""
    found = _read(course)
    if not found:
        return
    active = [one for one in found["zero_units"] if _has_samples(one.node)]
    many = [one for one in active if not _has_few_units(one.node)]
    few = [one for one in active if _has_few_units(one.node)]
    dead = list(_find_shares(course, many, "dead_units", lambda x: x >= DEAD))
    yield from dead or _find_shares(course, few, "dead_units", lambda x: x == 1.0)
    saturated = [one for one in found["saturated"] if plain_name(one.node) in _BENT]
    yield from _find_shares(course, saturated, "saturated", lambda x: x >= SATURATED)
    yield from _find_shares(
        course, found["entropy"], "attention_collapsed", lambda x: x <= COLLAPSED
    )
    yield from _find_inputs(course, found)


_TEXTS: Mapping[str, tuple[str, str]] = {
    "dead_units": ("zero_units", "{share:.0%} of the units of {name} are zero for the whole batch"),
    "saturated": (
        "saturated",
        "{share:.0%} of the elements of {name} are near the ends of its range",
    ),
    "attention_collapsed": (
        "entropy",
        "the softmax {name} looks at one position only: its entropy is {share:.2g} of what is possible",
    ),
}


def _find_shares(
    course: Course,
    some: Sequence[ValueSeries],
    kind: str,
    holds: Callable[[np.ndarray], np.ndarray],
) -> Iterator[RunFinding]:
    bad = [(one, at) for one in some if (at := one.habit(holds))]
    if not bad:
        return
    first, at = bad[0]
    measure, text = _TEXTS[kind]
    share = float(np.nanmedian(first.numbers))
    told = text.format(share=share, name=first.node.name)
    more = (
        f" The same holds for {tell_names([o.node.name for o, _ in bad[1:]])}." if bad[1:] else ""
    )
    known = int(np.isfinite(first.numbers).sum())
    yield tell_of_run(
        course,
        kind,
        f"{told[0].upper()}{told[1:]} (median of {known} steps).{more}",
        at=at,
        examined=known,
        node=first.node,
        graph=first.graph,
        nodes=[one.node.name for one, _ in bad],
        measure=measure,
        numbers=[(s, float(n)) for s, n in zip(first.steps, first.numbers) if n == n],
    )


def _find_inputs(course: Course, found: Mapping[str, list[ValueSeries]]) -> Iterator[RunFinding]:
    means = {one.node.key: one.numbers for one in found["mean"]}
    given = [
        one
        for one in found["std"]
        if one.node.kind in _GIVEN and _is_multiplied(one.graph, one.node)
    ]
    varies = any((np.nan_to_num(one.numbers) > 0).any() for one in given)
    for deviation in given:
        mean, std = means[deviation.node.key], deviation.numbers
        with np.errstate(all="ignore"):
            off = (np.abs(mean) > OFF_CENTER * np.maximum(std, 1e-12)) & (np.abs(mean) > 1)
            flat = std < NARROW * np.maximum(np.abs(mean), 1)
        if varies or _is_first_state(deviation.graph, deviation.node):
            flat &= mean != 0  # a first state of zeros is usual
        at = deviation.habit_of(off | flat | (std > WIDE))
        if at:
            yield _tell_input(course, deviation, float(np.nanmedian(mean)), at)


def _tell_input(
    course: Course, deviation: ValueSeries, mean: float, at: Sequence[int]
) -> RunFinding:
    middle = float(np.nanmedian(deviation.numbers))
    text = (
        f"The input {deviation.node.name} has a mean of {mean:.3g} and a standard deviation of "
        f"{middle:.3g} (medians of {len(deviation.steps)} steps)."
    )
    return tell_of_run(
        *(course, "input_scale", text),
        at=at,
        examined=len(deviation.steps),
        node=deviation.node,
        graph=deviation.graph,
        measure="std",
        numbers=[(s, float(n)) for s, n in zip(deviation.steps, deviation.numbers) if n == n],
    )


def _units_of(node: Node) -> int:
    """Return how many units a value has: channels, or else the last dimension."""
    shape = node.slots[0].shape
    return max(1, shape[1] if len(shape) > 3 else shape[-1] if shape else 1)


def _has_samples(node: Node) -> bool:
    """Return whether there are so many samples and positions that zeros are no chance."""
    return math.prod(node.slots[0].shape) // _units_of(node) >= LEAST_POSITIONS


def _has_few_units(node: Node) -> bool:
    """Return whether half of a value's units may be zero by chance: they are few and have no positions."""
    shape = node.slots[0].shape
    has_positions = len(shape) > 3 and math.prod(shape[2:]) > 1
    return _units_of(node) < LEAST_UNITS and not has_positions


def _is_multiplied(graph: Graph, node: Node) -> bool:
    """Return whether an input reaches a matrix product or convolution unchanged.

    On the way it may only be given another shape or type, or be put beside other tensors.
    """
    if not node.slots or not node.slots[0].shape:
        return False
    waiting, seen = [graph.nodes.index(node)], set[int]()
    for index in waiting:  # grows as it is read
        first, end = graph.slot_offsets[index : index + 2].tolist()
        for user in {user for row in range(first, end) for user in graph.users.get(row, ())} - seen:
            word = plain_name(graph.nodes[user])
            if word.startswith(_LINEAR):
                return True
            if word in PASSING or word in _JOINING:
                waiting.append(user)
                seen.add(user)
    return False


def _is_first_state(graph: Graph, node: Node) -> bool:
    """Return whether only the first of several calls of a module uses a tensor, as in a recurrent loop."""
    index = graph.nodes.index(node)
    first, end = graph.slot_offsets[index : index + 2].tolist()
    users = [user for row in range(first, end) for user in graph.users.get(row, ())]
    used = {graph.nodes[user].scope for user in users} - {NO_SCOPE}
    calls = collections.Counter(scope.path for scope in graph.scopes)
    return bool(used) and all(
        graph.scopes[at].call == 0 and calls[graph.scopes[at].path] > 1 for at in used
    )


_ZEROS = STATISTICS.index("zero_fraction")
_READ = ("zero_units", "saturated", "entropy", "mean", "std")


def _read(course: Course) -> dict[str, list[ValueSeries]]:
    """Read what single nodes put out, at the examined steps."""
    columns = {name: STATISTICS.index(name) for name in _READ}
    numbers: dict[str, dict[str, dict[int, float]]] = {name: {} for name in _READ}
    nodes: dict[str, tuple[Node, Graph]] = {}
    steps = [step for step in course.examined if step.forwards]
    for step in steps:
        for record in step.forwards[:1]:
            graph = course.graphs[record.graph_hash]
            values, present = record.table.values, record.table.present
            fed = _first_inputs(graph)
            for index, node in enumerate(graph.nodes):
                row = int(graph.slot_offsets[index])
                if node.slots and present[row] and node.kind in ("operation", *_GIVEN):
                    nodes.setdefault(node.key, (node, graph))
                    for name, column in columns.items():
                        number = values[row, column]
                        if name == "zero_units" and _is_fed_zeros(fed[index], values, present):
                            number = 0.0
                        if number == number:
                            numbers[name].setdefault(node.key, {})[step.step] = number
    if not nodes:
        return {}
    order = [step.step for step in steps]
    return {
        name: [
            ValueSeries(*nodes[key], order, np.array([of_node.get(s, np.nan) for s in order]))
            for key, of_node in found.items()
        ]
        for name, found in numbers.items()
    }


def _first_inputs(graph: Graph) -> list[int]:
    """Return the row of each node's first input; -1: none."""
    found = [-1] * len(graph.nodes)
    for edge in graph.edges:
        if edge.target_input == 0:
            found[edge.target] = int(graph.slot_offsets[edge.source]) + edge.source_slot
    return found


def _is_fed_zeros(row: int, values: np.ndarray, present: np.ndarray) -> bool:
    """Return whether a node gets nothing but zeros. Its units are not dead then."""
    return row >= 0 and bool(present[row]) and values[row, _ZEROS] == 1.0
