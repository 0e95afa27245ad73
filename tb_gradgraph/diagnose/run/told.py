"""Make findings of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tb_gradgraph.diagnose.kinds import KINDS, Severity
from tb_gradgraph.diagnose.run.course import Course, Series, some_numbers
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.graph import NO_SCOPE, Graph, Node


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
    examined: int | None = None,
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
        examined: How many steps were examined; None: all.
        node: The node that it begins at.
        graph: The graph of that node; None: the one that most steps have.
        nodes: The names of all nodes that it concerns.
        measure: What ``numbers`` are.
        numbers: The series that led to it.
        severity: If it is not that of the kind.
    """
    of_kind = KINDS[kind]
    return RunFinding(
        run=course.run,
        tag=course.tag,
        kind=kind,
        severity=severity or of_kind.severity,
        text=text,
        advice=of_kind.advice,
        first_step=min(at),
        last_step=max(at),
        count=len(at),
        examined=len(course.steps) if examined is None else examined,
        measure=measure,
        numbers=some_numbers(numbers),
        nodes=tuple(nodes) or ((node.name,) if node is not None else ()),
        **place_of(course.graph if graph is None else graph, node),
    )


def tell_names(names: Sequence[str], most: int = 5) -> str:
    """List names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
