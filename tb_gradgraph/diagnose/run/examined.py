"""Find what looks wrong in one step by itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.diagnose.finding import Finding
from tb_gradgraph.diagnose.kinds import KINDS
from tb_gradgraph.diagnose.optimizer_step import OptimizerStep, find_in_step
from tb_gradgraph.diagnose.rules import findings
from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.course_step import CourseStep, in_memory
from tb_gradgraph.graph import Graph, Node

#: At its first steps an optimizer such as Adam or RMSprop moves weights far.
EARLY_STEPS = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """One finding of one step.

    Attributes:
        step: The step.
        finding: What was found.
        node: The node that it names, or None.
        graph: The graph of that node.
    """

    step: int
    finding: Finding
    node: Node | None
    graph: Graph


def examine(course: Course, step: CourseStep) -> list[Seen]:
    """Find what looks wrong in one step by itself. It is found once, as long as the step stays."""
    version = len(course.updated) if step.later else 0  # parameters are only added to it
    return course.kept.of_examined(step, "seen", lambda: _examine(course, step), version)


def _examine(course: Course, step: CourseStep) -> list[Seen]:
    found: dict[tuple[str, str], Seen] = {}
    reached = _reached(course, step)
    for seen in (*_in_passes(course, step), *_in_update(course, step)):
        if seen.finding.kind == "no_gradient" and seen.node and seen.node.key in reached:
            continue  # another pass of the step, or the user, gave it one
        key = (seen.finding.kind, seen.node.key if seen.node is not None else "")
        found.setdefault(key, seen)
    return list(found.values())


def _reached(course: Course, step: CourseStep) -> set[str]:
    """Return the keys of the parameters that got a gradient in any record of a step."""
    return {
        node.key
        for record in (*step.passes, *step.later)
        if len(step.passes) + len(step.later) > 1
        for present in [record.table.present]
        for row, node in course.rows(course.graphs[record.graph_hash])
        if present[row]
    }


def _in_passes(course: Course, step: CourseStep) -> Iterator[Seen]:
    for record in step.passes:
        graph = course.graphs[record.graph_hash]
        forward = step.forward_of(record)
        values = {} if forward is None else forward.values
        table = in_memory(record.table)
        of_record = findings(
            *(graph, table, {**record.values, **values}, "backward"),
            *(record.every_n_steps > 0, record.unread),
            value_table=None if forward is None else in_memory(forward.table),
            loss_scale=record.loss_scale,
        )
        if not (step.later and not table.present.any()):
            yield from (_seen(step, graph, one) for one in of_record)


def _in_update(course: Course, step: CourseStep) -> Iterator[Seen]:
    if not step.later:
        return
    graph = course.graphs[step.graph_hash]
    tables = dict(step.stages())
    passes = [one for one in step.passes if one.graph_hash == step.graph_hash]
    if len(step.passes) == 1 and passes:
        tables = {"backward": in_memory(passes[0].table), **tables}
    keys = course.updated
    updated = frozenset(row for row, key in enumerate(graph.row_keys) if key in keys)
    is_early = step.step < EARLY_STEPS
    given = OptimizerStep(tables, step.loss_scale, step.skipped, updated, is_early)
    yield from (_seen(step, graph, one) for one in find_in_step(graph, given))
    gradients_were_fine = not step.is_nonfinite
    for record in step.later if gradients_were_fine else ():
        if record.table.is_nonfinite():
            of_stage = findings(graph, record.table, {}, record.stage, True, record.unread)
            yield from (
                _seen(step, graph, one) for one in of_stage if KINDS[one.kind].is_of_nonfinite
            )


def _seen(step: CourseStep, graph: Graph, finding: Finding) -> Seen:
    owner: Node | None = None
    if finding.row is not None and finding.row < graph.slot_count:
        at = int(np.searchsorted(graph.slot_offsets, finding.row, side="right")) - 1
        owner = graph.nodes[at]
    return Seen(step.step, finding, owner, graph)


def by_cause(seen: Sequence[Seen]) -> Mapping[tuple[str, str], list[Seen]]:
    """Group what was seen over the steps: one group for each kind, and for each reason if nodes have one."""
    found: dict[tuple[str, str], list[Seen]] = {}
    for one in seen:
        reason = ""
        if one.finding.kind == "no_gradient" and one.node is not None:
            reason = one.node.note or one.node.reason
        found.setdefault((one.finding.kind, reason), []).append(one)
    return found
