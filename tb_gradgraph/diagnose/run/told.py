"""Make findings of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tb_gradgraph.diagnose.kinds import KINDS, Severity
from tb_gradgraph.diagnose.run.course import Course, Series, some_numbers
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.graph import NO_SCOPE, Graph, Node

#: So many spans of steps a finding lists; the last one then reaches to its last step.
MOST_SPANS = 100


def place_of(graph: Graph, node: Node | None) -> dict[str, Any]:
    """Return where a node is, as fields of a finding."""
    if node is None:
        return {}
    scope = graph.scopes[node.scope].path if node.scope != NO_SCOPE else ""
    if node.kind == "parameter":
        scope = node.name.rpartition(".")[0]
    return {"node": node.name, "key": node.key, "module": scope, "source": node.source}


def tell_of_run(
    course: Course,
    kind: str,
    text: str,
    *,
    at: Sequence[int],
    examined: Sequence[int] | None = None,
    node: Node | None = None,
    graph: Graph | None = None,
    nodes: Sequence[str] = (),
    measure: str = "",
    numbers: Series = (),
    severity: Severity | None = None,
) -> RunFinding:
    """Make a finding.

    Args:
        course: The training.
        kind: The name of one of ``KINDS``.
        text: What happened, with numbers.
        at: The steps at which it is true, at least one.
        examined: The steps that were examined, those of ``at`` among them; None: all.
        node: The node that it begins at.
        graph: The graph of that node; None: the one that most steps have.
        nodes: The names of all nodes that it concerns.
        measure: What ``numbers`` are.
        numbers: The series that led to it.
        severity: If it is not that of the kind.
    """
    of_kind = KINDS[kind]
    if examined is None:
        examined = [step.step for step in course.steps]
    return RunFinding(
        run=course.run,
        tag=course.tag,
        kind=kind,
        severity=severity or of_kind.severity,
        text=text,
        advice=of_kind.advice,
        first_step=min(at),
        last_step=max(at),
        spans=_spans(at, examined),
        count=len(at),
        examined=len(examined),
        measure=measure,
        numbers=some_numbers(numbers),
        nodes=tuple(nodes) or ((node.name,) if node is not None else ()),
        **place_of(course.graph if graph is None else graph, node),
    )


def _spans(at: Sequence[int], examined: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return pairs of first and last step between which no other examined step lies."""
    true = set(at)
    found: list[tuple[int, int]] = []
    goes_on = False
    for step in sorted(true.union(examined)):
        if step in true:
            first = found.pop()[0] if goes_on else step
            found.append((first, step))
        goes_on = step in true
    if len(found) > MOST_SPANS:
        found[MOST_SPANS - 1 :] = [(found[MOST_SPANS - 1][0], found[-1][1])]
    return tuple(found)


def tell_names(names: Sequence[str], most: int = 5) -> str:
    """List names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
