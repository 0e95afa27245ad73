"""How the gradient changes from layer to layer, and from call to call of a loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.course_step import CourseStep
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_of_run
from tb_gradgraph.graph import NO_SCOPE, Graph, Node

#: Fewer layers, or calls, show no slope.
LEAST_LAYERS, LEAST_CALLS = 6, 10
#: By what factor the norm changes over all layers, and by what from each to the next.
OVER_ALL, EACH = 100.0, 1.5
#: How much of the change a straight line explains.
STRAIGHT = 0.85
#: By what factor it changes over the calls of a loop: long memory fades in healthy loops too.
OVER_CALLS, GROWS_OVER_CALLS = 1e8, 1e4
#: The share of steps at which it must be so.
HABIT = 0.5

#: A weight that is used more often belongs to a loop.
MOST_USES = 3

_PASSING = ("TBackward", "Transpose", "ToCopy")
Chain = Sequence[tuple[int, Node]]  # row and node, in forward order


def find_along_depth(course: Course) -> Iterator[RunFinding]:
    """Yield gradients that grow or shrink by a factor from each layer, or call, to the next."""
    steps = [step for step in course.examined if step.passes]
    slopes: dict[str, list[tuple[int, float, int, Node]]] = {}
    for step in steps:
        found = course.kept.of_examined(step, "slopes", partial(_slopes, course, step))
        for name, factor, count, node in found:
            slopes.setdefault(name, []).append((step.step, factor, count, node))
    for name, of_steps in slopes.items():
        yield from _tell(course, name, of_steps, [step.step for step in steps])


def _slopes(course: Course, step: CourseStep) -> list[tuple[str, float, int, Node]]:
    """Return, for each chain, by what factor the gradient changes along it, its length and first node."""
    record = step.passes[0]
    norms = record.table.column("l2_norm")
    chains = course.of_graph(record.graph_hash, _chains)
    slopes = [(name, _slope(norms, chain, bool(name)), chain) for name, chain in chains.items()]
    return [(name, *slope, chain[0][1]) for name, slope, chain in slopes if slope is not None]


def _chains(graph: Graph) -> Mapping[str, Chain]:
    """Return the layers of a graph (""), and the calls of each module that is called in a loop."""
    chains: dict[str, list[tuple[int, Node]]] = {"": list(_layers(graph))}
    last: dict[tuple[str, int], tuple[int, Node]] = {}
    for index, node in enumerate(graph.nodes):
        if node.kind == "operation" and node.scope != NO_SCOPE and node.slots:
            scope = graph.scopes[node.scope]
            last[scope.path, scope.call] = (int(graph.slot_offsets[index]), node)
    calls: dict[str, list[tuple[int, tuple[int, Node]]]] = {}
    for (path, call), place in last.items():
        calls.setdefault(path, []).append((call, place))
    for path, of_path in calls.items():
        if len(of_path) >= LEAST_CALLS:
            chains[path or "the model"] = [
                place for _, place in sorted(of_path, key=lambda p: p[0])
            ]
    return chains


def _layers(graph: Graph) -> Iterator[tuple[int, Node]]:
    """Yield the row of what each weight of two or more dimensions gives, and the weight; none of a loop."""
    owners: dict[int, int] = {
        index: index
        for index, node in enumerate(graph.nodes)
        if node.kind == "parameter" and node.slots and len(node.slots[0].shape) > 1
    }
    users: dict[int, list[int]] = {}
    for edge in graph.edges:
        target = graph.nodes[edge.target]
        if edge.source in owners and target.kind == "operation":
            if target.operation.startswith(_PASSING):
                owners[edge.target] = owners[edge.source]
            elif not target.operation.startswith("Embedding"):
                users.setdefault(owners[edge.source], []).append(edge.target)
    weight_of = {
        user: weight
        for weight, of_weight in users.items()
        if len(of_weight) <= MOST_USES
        for user in of_weight
    }
    for index in sorted(weight_of):
        if graph.nodes[index].slots:
            yield int(graph.slot_offsets[index]), graph.nodes[weight_of[index]]


def _slope(norms: np.ndarray, chain: Chain, is_loop: bool) -> tuple[float, int] | None:
    """Return by what factor the gradient at the first is that at the last, if it changes steadily."""
    found = norms[[row for row, _ in chain]]
    known = np.flatnonzero(np.isfinite(found) & (found > 0))
    if len(known) < (LEAST_CALLS if is_loop else LEAST_LAYERS):
        return None
    logs = np.log(found[known])
    slope, start = np.polyfit(np.arange(len(known)), logs, 1)
    rest = logs - (slope * np.arange(len(known)) + start)
    straight = 1 - rest.var() / max(logs.var(), 1e-30)
    over_all = float(np.exp(-slope * (len(known) - 1)))
    if is_loop:
        quarter = max(1, len(known) // 4)
        over_all = float(np.exp(np.median(logs[:quarter]) - np.median(logs[-quarter:])))
        return over_all, len(known)
    is_steep = abs(slope) >= np.log(EACH) and straight >= STRAIGHT
    return (over_all if is_steep else 1.0), len(known)


def _tell(
    course: Course,
    name: str,
    of_steps: Sequence[tuple[int, float, int, Node]],
    examined: Sequence[int],
) -> Iterator[RunFinding]:
    grows, shrinks = (GROWS_OVER_CALLS, OVER_CALLS) if name else (OVER_ALL, OVER_ALL)
    for kind, bad in (
        ("exploding", [one for one in of_steps if one[1] > grows]),
        ("vanishing", [one for one in of_steps if one[1] < 1 / shrinks]),
    ):
        if len(bad) < max(1, HABIT * len(of_steps)):
            continue
        middle = float(np.median([factor for _, factor, _, _ in bad]))
        _, _, count, node = bad[0]
        each = middle ** (1 / max(1, count - 1))
        what = f"calls of {name}" if name else "layers"
        text = (
            f"The gradient {'grows' if kind == 'exploding' else 'shrinks'} on its way back by "
            f"{max(each, 1 / each):.3g} from one of the {count} {what} to the one before: at the first, "
            f"{node.name}, it is {middle:.2g} times that at the last."
        )
        yield tell_of_run(
            *(course, kind, text),
            at=[step for step, *_ in bad],
            examined=examined,
            node=node,
            measure="l2_norm",
            numbers=[(step, factor) for step, factor, _, _ in of_steps],
        )
