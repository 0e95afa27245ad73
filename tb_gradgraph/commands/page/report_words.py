"""What a report says: its sentences, and the series that show what was found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_gradgraph.commands.show.finding_words import count, main_series, tell_place, tell_steps
from tb_gradgraph.commands.show.number_line import Series, sparkline
from tb_gradgraph.diagnose import KINDS, RunFinding
from tb_gradgraph.health import Training
from tb_gradgraph.quantities import MAIN, series_of
from tb_gradgraph.statistics import NONFINITE

MOST_SENTENCES = 3
#: So many findings and quantities of a training are told.
MOST_FINDINGS, MOST_QUANTITIES = 20, 12
QUANTITY_HEADER = ("number of the step", "first", "last", "least", "greatest", "over the steps")


def top_findings(trainings: Sequence[Training]) -> list[RunFinding]:
    """Return the first three findings, errors before warnings; notes do not count."""
    found = [one for each in trainings for one in each.found]
    bad = [one for severity in ("error", "warning") for one in found if one.severity == severity]
    return bad[:MOST_SENTENCES]


def tell_top(finding: RunFinding, with_run: bool) -> tuple[str, str]:
    """Return what a sentence begins with, and what happened."""
    place = tell_place(finding)
    at = f" at {place}" if place else ""
    run = f"run {finding.run}, " if with_run else ""
    head = f"{finding.severity.capitalize()}, {finding.kind.replace('_', ' ')}{at}"
    return f"{head} ({run}{tell_steps(finding)}):", finding.text


def tell_healthy(trainings: Sequence[Training]) -> str:
    """Say that nothing is wrong, and what that rests on."""
    steps = sum(len(each.steps) for each in trainings)
    if not steps:
        return "Nothing can be said, because no step can be read."
    of = "" if len(trainings) == 1 else f" of {count(len(trainings), 'training')}"
    return f"Healthy: there is no error and no warning in {count(steps, 'recorded step')}{of}."


def series_for(training: Training, finding: RunFinding) -> tuple[str, Series]:
    """Return the numbers that show a finding: its own, its parameter's gradient, or the loss.

    The loss does not show what is at one node, unless that is NaN or infinity.
    """
    if finding.numbers:
        return finding.measure, finding.numbers
    parameters = training.course.parameters
    at = next((at for at, node in enumerate(parameters.nodes) if node.key == finding.key), None)
    if at is not None:
        norms = parameters.of("backward", "l2_norm")[:, at].copy()
        bad = [np.nan_to_num(parameters.of("backward", name)[:, at]) > 0 for name in NONFINITE]
        norms[np.any(bad, axis=0)] = np.inf
        series = [
            (step, norm) for step, norm in zip(parameters.steps, norms.tolist()) if norm == norm
        ]
        if series:
            return f"gradient norm of {finding.node}", series
    of_kind = KINDS[finding.kind]
    if of_kind.is_of_node and not of_kind.is_of_nonfinite:
        return "", ()
    return main_series(training)


def quantity_rows(training: Training) -> list[tuple[str, ...]]:
    """Return the main numbers of the step over the steps, below ``QUANTITY_HEADER``."""
    steps = training.course.steps
    found = series_of(record for step in steps for record in (*step.passes, *step.later))
    names = [name for name in sorted(found) if name.partition("/")[0] in MAIN]
    return [_row(name, [point.value for point in found[name]]) for name in names[:MOST_QUANTITIES]]


def _row(name: str, values: Sequence[float]) -> tuple[str, ...]:
    finite = [value for value in values if np.isfinite(value)] or [np.nan]
    numbers = (values[0], values[-1], min(finite), max(finite))
    return (name, *(f"{number:.4g}" for number in numbers), sparkline(values))
