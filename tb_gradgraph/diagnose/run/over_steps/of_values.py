"""What the values of the forward say over the steps: dead units, saturation, attention, inputs."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from tb_gradgraph.diagnose.forward.value_flow import plain_name
from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.course_step import CourseStep
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
class Values:
    """Statistics of what the nodes put out, over the examined steps.

    Attributes:
        nodes: The nodes, each with its graph.
        steps: The steps that have values.
        numbers: By statistic, a matrix with a row for each step and a column for each node; NaN: no
            number.
        are: By a word of ``_SORTS``, for each node whether it is of that sort.
    """

    nodes: Sequence[tuple[Node, Graph]]
    steps: Sequence[int]
    numbers: Mapping[str, np.ndarray]
    are: Mapping[str, np.ndarray]

    def habits(self, statistic: str, chosen: np.ndarray, holds: np.ndarray) -> list[ValueSeries]:
        """Return those of the chosen nodes for which something holds at most steps.

        ``holds``: a matrix like the numbers.
        """
        known = np.isfinite(self.numbers[statistic])
        true, counts = known & holds, known.sum(axis=0)
        has = chosen & (counts >= 2) & (true.sum(axis=0) >= HABIT * counts)
        return [self._series(statistic, at, true[:, at]) for at in np.flatnonzero(has).tolist()]

    def _series(self, statistic: str, at: int, true: np.ndarray) -> ValueSeries:
        steps = [step for step, is_true in zip(self.steps, true) if is_true]
        numbers = self.numbers[statistic][:, at]
        known = [(step, float(n)) for step, n in zip(self.steps, numbers) if n == n]
        return ValueSeries(at, *self.nodes[at], known, float(np.nanmedian(numbers)), steps)


@dataclasses.dataclass(frozen=True)
class ValueSeries:
    """A statistic of what one node put out, and the steps at which something holds for it."""

    place: int
    node: Node
    graph: Graph
    numbers: Sequence[tuple[int, float]]
    median: float
    at: Sequence[int]


def find_in_values(course: Course) -> Iterator[RunFinding]:
    """Yield what is wrong with values; nothing if none were recorded."""
    found = _read(course)
    if not found.nodes:
        return
    active, few = found.are["sampled"], found.are["few"]
    zeros, entropy = found.numbers["zero_units"], found.numbers["entropy"]
    dead = list(_find_shares(course, found, active & ~few, "dead_units", zeros >= DEAD))
    yield from dead or _find_shares(course, found, active & few, "dead_units", zeros == 1.0)
    ends = found.numbers["saturated"] >= SATURATED
    yield from _find_shares(course, found, found.are["bent"], "saturated", ends)
    every = np.ones(len(found.nodes), bool)
    yield from _find_shares(course, found, every, "attention_collapsed", entropy <= COLLAPSED)
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
    course: Course, found: Values, chosen: np.ndarray, kind: str, holds: np.ndarray
) -> Iterator[RunFinding]:
    measure, text = _TEXTS[kind]
    bad = found.habits(measure, chosen, holds)
    if not bad:
        return
    first, names = bad[0], [one.node.name for one in bad]
    told = text.format(share=first.median, name=first.node.name)
    more = f" The same holds for {tell_names(names[1:])}." if bad[1:] else ""
    known = len(first.numbers)
    yield tell_of_run(
        course,
        kind,
        f"{told[0].upper()}{told[1:]} (median of {known} steps).{more}",
        at=first.at,
        examined=[step for step, _ in first.numbers],
        node=first.node,
        graph=first.graph,
        nodes=names,
        measure=measure,
        numbers=first.numbers,
    )


def _find_inputs(course: Course, found: Values) -> Iterator[RunFinding]:
    given, mean, std = found.are["input"], found.numbers["mean"], found.numbers["std"]
    varies = bool((np.nan_to_num(std[:, given]) > 0).any())
    with np.errstate(all="ignore"):
        off = (np.abs(mean) > OFF_CENTER * np.maximum(std, 1e-12)) & (np.abs(mean) > 1)
        flat = std < NARROW * np.maximum(np.abs(mean), 1)
    flat &= (mean != 0) | ~(found.are["first"] | varies)  # a first state of zeros is usual
    for one in found.habits("std", given, off | flat | (std > WIDE)):
        yield _tell_input(course, one, float(np.nanmedian(mean[:, one.place])), found.steps)


def _tell_input(
    course: Course, one: ValueSeries, mean: float, examined: Sequence[int]
) -> RunFinding:
    text = (
        f"The input {one.node.name} has a mean of {mean:.3g} and a standard deviation of "
        f"{one.median:.3g} (medians of {len(examined)} steps)."
    )
    return tell_of_run(
        *(course, "input_scale", text),
        at=one.at,
        examined=examined,
        node=one.node,
        graph=one.graph,
        measure="std",
        numbers=one.numbers,
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


def _is_multiplied(graph: Graph, index: int) -> bool:
    """Return whether an input reaches a matrix product or convolution unchanged.

    On the way it may only be given another shape or type, or be put beside other tensors.
    """
    if not graph.nodes[index].slots[0].shape:
        return False
    waiting, seen = [index], set[int]()
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


def _is_first_state(graph: Graph, index: int) -> bool:
    """Return whether only the first of several calls of a module uses a tensor, as in a recurrent loop."""
    first, end = graph.slot_offsets[index : index + 2].tolist()
    users = [user for row in range(first, end) for user in graph.users.get(row, ())]
    used = {graph.nodes[user].scope for user in users} - {NO_SCOPE}
    calls = collections.Counter(scope.path for scope in graph.scopes)
    return bool(used) and all(
        graph.scopes[at].call == 0 and calls[graph.scopes[at].path] > 1 for at in used
    )


_ZEROS = STATISTICS.index("zero_fraction")
_READ = ("zero_units", "saturated", "entropy", "mean", "std")
_SORTS = ("sampled", "few", "bent", "input", "first")
_READ_COLUMNS = [STATISTICS.index(name) for name in _READ]


@dataclasses.dataclass(frozen=True)
class _Outputs:
    """The nodes of a graph with a first output that may have values: its row, and that of what it is fed."""

    nodes: Sequence[Node]
    rows: np.ndarray
    fed: np.ndarray  # -1: nothing
    are: np.ndarray  # of which of _SORTS: a row for each node


def _read(course: Course) -> Values:
    """Read what single nodes put out, at the examined steps."""
    steps = [step for step in course.examined if step.forwards]
    places: dict[str, int] = {}
    nodes: list[tuple[Node, Graph]] = []
    are: list[np.ndarray] = []
    found: list[tuple[list[int], np.ndarray]] = []
    for step in steps:
        graph_hash = step.forwards[0].graph_hash
        graph, outputs = course.graphs[graph_hash], course.of_graph(graph_hash, _outputs)
        at, numbers = course.kept.of_examined(step, "values", partial(_read_step, step, outputs))
        for one in at.tolist():
            node = outputs.nodes[one]
            if node.key not in places:
                places[node.key] = len(places)
                nodes.append((node, graph))
                are.append(outputs.are[one])
        found.append(([places[outputs.nodes[one].key] for one in at.tolist()], numbers))
    cube = np.full((len(_READ), len(steps), len(places)), np.nan)
    for row, (columns, numbers) in enumerate(found):
        cube[:, row, columns] = numbers
    sorts = dict(zip(_SORTS, np.array(are, bool).reshape(-1, len(_SORTS)).T))
    return Values(nodes, [step.step for step in steps], dict(zip(_READ, cube)), sorts)


def _outputs(graph: Graph) -> _Outputs:
    fed = [-1] * len(graph.nodes)
    for edge in graph.edges:
        if edge.target_input == 0:
            fed[edge.target] = int(graph.slot_offsets[edge.source]) + edge.source_slot
    kinds = ("operation", *_GIVEN)
    at = [i for i, node in enumerate(graph.nodes) if node.slots and node.kind in kinds]
    rows = graph.slot_offsets[at]
    are = np.array([_sorts_of(graph, one) for one in at], bool).reshape(-1, len(_SORTS))
    return _Outputs([graph.nodes[one] for one in at], rows, np.array(fed, int)[at], are)


def _sorts_of(graph: Graph, index: int) -> tuple[bool, ...]:
    """Return for each of ``_SORTS`` whether a node is of that sort."""
    node = graph.nodes[index]
    is_input = node.kind in _GIVEN and _is_multiplied(graph, index)
    is_first = is_input and _is_first_state(graph, index)
    return _has_samples(node), _has_few_units(node), plain_name(node) in _BENT, is_input, is_first


def _read_step(step: CourseStep, outputs: _Outputs) -> tuple[np.ndarray, np.ndarray]:
    """Return which outputs have values at a step, and their statistics."""
    table = step.forwards[0].table
    values, present = table.values, table.present
    at = np.flatnonzero(present[outputs.rows])
    numbers = values[outputs.rows[at]][:, _READ_COLUMNS].T
    fed = outputs.fed[at]
    # What gets nothing but zeros has no dead units.
    is_fed_zeros = (fed >= 0) & present[fed] & (values[fed, _ZEROS] == 1.0)
    numbers[_READ.index("zero_units"), is_fed_zeros] = 0.0
    return at, numbers
