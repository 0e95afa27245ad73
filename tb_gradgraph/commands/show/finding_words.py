"""The words in which all formats say where and when something was found."""

from __future__ import annotations

from collections.abc import Sequence

from tb_gradgraph.commands.show.number_line import Series, sparkline, tell_range
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.health import Training
from tb_gradgraph.quantities import GRAD_NORM, LOSS, series_of
from tb_gradgraph.statistics import STAGES

_MOST_RUNS = 4


def tell_place(finding: RunFinding) -> str:
    """Say the node and its module, and how many further nodes: "" if there is none."""
    node, module = finding.node, finding.module
    place = node or module
    if node and module and not node.startswith(module):
        place += f" in {module}"
    further = len(finding.nodes) - 1
    return f"{place} and {further} more" if place and further > 0 else place


def tell_steps(finding: RunFinding) -> str:
    """Say at which steps, and how often: ``steps 12 to 29, in 18 of 30 examined``."""
    if finding.first_step == finding.last_step:
        steps = f"step {finding.first_step}"
    else:
        steps = f"steps {finding.first_step} to {finding.last_step}"
        if finding.count == 1:  # it happened once, and what follows from it goes on
            return f"from step {finding.first_step} to {finding.last_step}"
    return (
        steps
        if finding.examined <= 1
        else f"{steps}, in {finding.count} of {finding.examined} examined"
    )


def tell_headline(finding: RunFinding) -> str:
    """Say in one line what was found, where and when."""
    place = tell_place(finding)
    at = f" at {place}" if place else ""
    return f"{finding.severity} {finding.kind}{at}, {tell_steps(finding)}: {finding.text}"


def tell_counts(found: Sequence[RunFinding]) -> str:
    """Count findings by severity: ``1 error, 2 warnings``; "" for none."""
    counts = {name: 0 for name in ("error", "warning", "note")}
    for one in found:
        counts[one.severity] += 1
    return ", ".join(count(number, name) for name, number in counts.items() if number)


def tell_training(training: Training) -> str:
    """Say how a training is, and how many steps that rests on."""
    steps = training.steps
    if not steps and training.found:
        return f"{tell_counts(training.found)}; no step was recorded"
    if not steps:
        return "nothing can be said, because no step of it can be read"
    span = f" ({steps[0]} to {steps[-1]})" if len(steps) > 1 else f" ({steps[0]})"
    recorded = count(len(steps), "recorded step") + span
    ignored = f"; {count(training.ignored, 'finding')} ignored" if training.ignored else ""
    if not training.is_healthy:
        return f"{tell_counts(training.found)} in {recorded}{ignored}"
    notes = tell_counts(training.found)
    return f"healthy. No error and no warning in {recorded}{ignored}" + (
        f"; {notes}" if notes else ""
    )


def tell_numbers(measure: str, numbers: Series) -> str:
    """Draw the numbers that led to a finding in one line: ``loss ▁▂▃× 0.5 to 3e+04, ..``."""
    values = [number for _, number in numbers]
    first, last = numbers[0][0], numbers[-1][0]
    steps = f"step {first}" if first == last else f"steps {first} to {last}"
    return f"{measure} {sparkline(values)} {tell_range(values)}, {steps}"


def main_series(training: Training) -> tuple[str, Series]:
    """Return the loss over the steps, or a gradient norm; no numbers if neither was recorded.

    Of several backward passes in a step it is the mean.
    """
    steps = training.course.steps
    found = series_of(record for step in steps for record in (*step.passes, *step.later))
    names = (LOSS, *(f"{GRAD_NORM}/{stage}" for stage in STAGES))
    name = next((name for name in names if name in found), "")
    of_step: dict[int, list[float]] = {}
    for point in found.get(name, ()):
        of_step.setdefault(point.step, []).append(point.value)
    return name, [(step, sum(some) / len(some)) for step, some in of_step.items()]


def tell_remarks(trainings: Sequence[Training]) -> list[str]:
    """Say what the log lacks, each thing once, with the runs that it is about."""
    runs: dict[str, list[str]] = {}
    for training in trainings:
        for remark in training.remarks:
            runs.setdefault(remark, []).append(training.run)
    return [f"{_tell_runs(list(dict.fromkeys(names)))}: {remark}" for remark, names in runs.items()]


def _tell_runs(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_RUNS} more" if len(names) > _MOST_RUNS else ""
    return f"run{'s' if len(names) > 1 else ''} {', '.join(names[:_MOST_RUNS])}{more}"


def count(number: int, what: str) -> str:
    """Say a number of things, in the plural if there is not one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
