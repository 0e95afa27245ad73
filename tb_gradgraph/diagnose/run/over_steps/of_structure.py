"""What the graph says by itself: a softmax of a softmax, a batch normalization of too few samples."""

from __future__ import annotations

from collections.abc import Iterator

from tb_gradgraph.diagnose.forward.value_flow import plain_name
from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.over_steps.passing import PASSING
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_names, tell_of_run
from tb_gradgraph.graph import Graph, Node

#: What gives shares already, and what takes logits.
_SHARES = ("softmax", "sigmoid")
_TAKES_LOGITS = ("softmax", "logsoftmax", "binarycrossentropywithlogits")
_BATCH_NORMS = ("nativebatchnorm", "cudnnbatchnorm", "miopenbatchnorm", "batchnorm")
#: A mean over so few numbers says nothing.
FEW = 2


def find_in_structure(course: Course) -> Iterator[RunFinding]:
    """Yield what is wrong with the graph that most steps have."""
    at = [step.step for step in course.steps]
    twice = course.of_graph(course.graph_hash, _taken_twice)
    if twice:
        inner, outer = twice[0]
        text = (
            f"{outer.name} takes logits, but gets what {inner.name} gave: shares between 0 and 1. The "
            "loss can then hardly fall, and its gradient is small."
        )
        yield tell_of_run(
            course, "softmax_twice", text, at=at, node=inner, nodes=(inner.name, outer.name)
        )
    few = course.of_graph(course.graph_hash, _norms_of_few)
    if few:
        shape = few[0].slots[0].shape
        text = (
            f"{tell_names([node.name for node in few])}: each channel is normalized over "
            f"{_numbers_of(few[0])} numbers (shape {tuple(shape)}), which leaves little of its input."
        )
        yield tell_of_run(
            course, "batch_norm", text, at=at, node=few[0], nodes=[node.name for node in few]
        )


def _norms_of_few(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if plain_name(node) in _BATCH_NORMS and _has_few(node)]


def _taken_twice(graph: Graph) -> list[tuple[Node, Node]]:
    sources: dict[int, list[int]] = {}
    for edge in graph.edges:
        if edge.target_input == 0:
            sources.setdefault(edge.target, []).append(edge.source)
    found = []
    for index, node in enumerate(graph.nodes):
        if plain_name(node) in _TAKES_LOGITS:
            at = sources.get(index, [-1])[0]
            while at >= 0 and plain_name(graph.nodes[at]) in PASSING:
                at = sources.get(at, [-1])[0]
            if at >= 0 and plain_name(graph.nodes[at]) in _SHARES:
                found.append((graph.nodes[at], node))
    return found


def _has_few(node: Node) -> bool:
    return bool(node.slots) and node.slots[0].has_shape and 0 < _numbers_of(node) <= FEW


def _numbers_of(node: Node) -> int:
    """Return over how many numbers each channel is normalized."""
    shape = node.slots[0].shape
    count = shape[0] if shape else 0
    for size in shape[2:]:
        count *= size
    return count
