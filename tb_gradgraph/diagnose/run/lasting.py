"""Turn what was seen at single steps into findings of the run: only what lasts is worth a warning."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from tb_gradgraph.diagnose.kinds import KINDS, SEVERITIES, Severity
from tb_gradgraph.diagnose.run.course import Course, Series
from tb_gradgraph.diagnose.run.examined import Seen, by_cause, examine
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_of_run

#: What the numbers of a kind are, if not the norm of the gradient.
_MEASURES = dict.fromkeys(("large_update", "small_update"), "update_ratio")
#: An update of so many times the weight's norm need not come again.
LEAP = 10.0
#: Below this share of ``Kind.lasts`` a finding is left out.
_RARE = 0.5


def find_lasting(course: Course) -> Iterator[RunFinding]:
    """Yield what single steps show, each cause once, over all examined steps."""
    steps = course.examined
    seen = [one for step in steps for one in examine(course, step)]
    bad = {one.step for one in seen if KINDS[one.finding.kind].is_of_nonfinite}
    fine = len({step.step for step in steps} - bad)  # once all is NaN, nothing else can last
    for (kind, _), group in by_cause(seen).items():
        told = _tell(course, kind, group, [step.step for step in steps], fine)
        if told is not None:
            yield told


def _tell(
    course: Course, kind: str, group: Sequence[Seen], examined: Sequence[int], fine: int
) -> RunFinding | None:
    first = group[0]
    steps = sorted({one.step for one in group})
    severity = min((one.finding.severity for one in group), key=SEVERITIES.index)
    measure = "" if first.node is None else _MEASURES.get(kind, "l2_norm")
    if KINDS[kind].is_of_nonfinite:  # a norm is that of the finite elements
        measure = ""
    numbers = _numbers(course, first, measure) if measure else ()
    is_leap = kind == "large_update" and any(number >= LEAP for _, number in numbers)
    mild = severity if is_leap else _milder(kind, severity, len(steps) / max(1, fine))
    if mild is None:
        return None
    nodes = list(dict.fromkeys(one.node.name for one in group if one.node is not None))
    told = tell_of_run(
        course,
        kind,
        first.finding.text,
        at=steps,
        examined=examined,
        node=first.node,
        graph=first.graph,
        nodes=nodes,
        measure=measure,
        numbers=numbers,
        severity=mild,
    )
    return dataclasses.replace(told, shown_by_steps=True)


def _numbers(course: Course, seen: Seen, measure: str) -> Series:
    """Return a statistic of the gradient at the node that was seen, at the examined steps."""
    key = "" if seen.node is None else f"{seen.node.key}:0"
    stage = "applied" if measure == "update_ratio" else "backward"
    found = []
    for step in course.examined:
        for record in (*step.passes, *step.later):
            row = course.row_of(record.graph_hash, key) if record.stage == stage else None
            if row is not None and record.table.present[row]:
                found.append((step.step, float(record.table.column(measure)[row])))
                break
    return [(step, number) for step, number in found if number == number]


def _milder(kind: str, severity: Severity, share: float) -> Severity | None:
    """Return the severity of what a share of the steps shows; None if it is not worth a word."""
    needed = KINDS[kind].lasts
    if share >= needed:
        return severity
    return "note" if share >= _RARE * needed and severity != "note" else None
