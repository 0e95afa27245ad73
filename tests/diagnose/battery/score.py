"""What the battery says as a whole: shares of what was found, and the alarms of healthy trainings."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence

from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tests.diagnose.battery.examine import Outcome, matches

_SEVERE = ("warning", "error")


def place_of(outcome: Outcome) -> int | None:
    """Return the place, from 0, of the first finding of a right kind; None: there is none."""
    kinds = [finding.kind for finding in outcome.findings]
    return next((place for place, kind in enumerate(kinds) if kind in outcome.case.kinds), None)


def of_right_kind(outcome: Outcome) -> list[RunFinding]:
    """Return the findings whose kind explains the fault."""
    return [finding for finding in outcome.findings if finding.kind in outcome.case.kinds]


def has_right_node(outcome: Outcome) -> bool:
    """Return whether a finding of a right kind names a right node."""
    return any(
        matches(name, outcome.case.nodes)
        for finding in of_right_kind(outcome)
        for name in (finding.node, *finding.nodes)
    )


def has_right_step(outcome: Outcome) -> bool:
    """Return whether the first finding of a right kind begins at the fault's step, or beside it."""
    found, step = of_right_kind(outcome), outcome.case.step
    return bool(found) and step is not None and abs(found[0].first_step - step) <= 1


def alarms_of(outcome: Outcome) -> set[str]:
    """Return the kinds of warnings and errors."""
    return {finding.kind for finding in outcome.findings if finding.severity in _SEVERE}


def count_severity(outcomes: Iterable[Outcome], severity: str) -> int:
    """Return how many findings are of a severity."""
    return sum(finding.severity == severity for each in outcomes for finding in each.findings)


def share(count: int, total: int) -> str:
    """Write a share with what it is made of."""
    return f"{count / total:.2f} ({count} of {total})" if total else "none"


def _within(outcomes: Sequence[Outcome], places: int) -> str:
    found = [place for each in outcomes if (place := place_of(each)) is not None]
    return share(sum(place < places for place in found), len(outcomes))


def headline(outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Return the rows of the main table."""
    faults = [each for each in outcomes if not each.case.is_healthy]
    healthy = [each for each in outcomes if each.case.is_healthy]
    placed = [each for each in faults if each.case.nodes]
    timed = [each for each in faults if each.case.step is not None and of_right_kind(each)]
    asked = [each for each in faults if each.anomaly is not None]
    return {
        "right finding first": _within(faults, 1),
        "in the first three": _within(faults, 3),
        "anywhere": _within(faults, 10**6),
        "right node (of faults that have one)": share(
            sum(map(has_right_node, placed)), len(placed)
        ),
        "right step (of those found that have one)": share(
            sum(map(has_right_step, timed)), len(timed)
        ),
        "healthy runs with a warning or error": f"{sum(map(bool, map(alarms_of, healthy)))} "
        f"of {len(healthy)}",
        "errors in healthy runs": str(count_severity(healthy, "error")),
        "notes a healthy run": f"{count_severity(healthy, 'note') / max(1, len(healthy)):.1f}",
        "NaN and infinity: right node": share(sum(map(has_right_node, asked)), len(asked)),
        "the same by anomaly mode": share(sum(each.is_anomaly_right for each in asked), len(asked)),
    }


def false_alarms(outcomes: Iterable[Outcome]) -> list[tuple[str, int]]:
    """Return in how many healthy runs each kind warns, the most frequent first."""
    counts: collections.Counter[str] = collections.Counter()
    for outcome in outcomes:
        if outcome.case.is_healthy:
            counts.update(alarms_of(outcome))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def by_kind(outcomes: Iterable[Outcome]) -> list[tuple[str, int, int, int, int, str]]:
    """Return kind, faults, found first, in the first three, anywhere, and right nodes.

    The kind of a fault is the first one of those that explain it.
    """
    groups: dict[str, list[Outcome]] = collections.defaultdict(list)
    for outcome in outcomes:
        if not outcome.case.is_healthy:
            groups[outcome.case.kinds[0]].append(outcome)
    rows = []
    for kind, group in sorted(groups.items()):
        places = [place for each in group if (place := place_of(each)) is not None]
        placed = [each for each in group if each.case.nodes]
        nodes = f"{sum(map(has_right_node, placed))} of {len(placed)}" if placed else ""
        first, three = (sum(place < limit for place in places) for limit in (1, 3))
        rows.append((kind, len(group), first, three, len(places), nodes))
    return rows


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return all tables, in Markdown."""
    lines = ["| | |", "| --- | --- |"]
    lines += [f"| {name} | {value} |" for name, value in headline(outcomes).items()]
    lines += ["", "| kind of fault | faults | first | first three | anywhere | right node |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in by_kind(outcomes)]
    alarms = ", ".join(f"`{kind}` {count}" for kind, count in false_alarms(outcomes))
    return [*lines, "", f"Healthy runs with an alarm, by its kind: {alarms or 'none'}."]


def line_of(outcome: Outcome) -> str:
    """Say in a line what was found in the training of a case."""
    first = ", ".join(
        f"{finding.kind}({finding.node}@{finding.first_step})" for finding in outcome.findings[:3]
    )
    case = outcome.case
    if case.is_healthy:
        mark = "ALARM" if alarms_of(outcome) else "quiet"
    else:
        place = place_of(outcome)
        mark = "MISSED" if place is None else f"place {place + 1}"
        mark += "" if not case.nodes or has_right_node(outcome) else ", node"
        mark += "" if case.step is None or has_right_step(outcome) else ", step"
    wanted = "/".join(case.kinds) or "healthy"
    complaints = "".join(f" !! {text}" for text in outcome.complaints)
    return f"{mark:20} {case.name} [{wanted}]: {first or 'nothing'}{complaints}"
