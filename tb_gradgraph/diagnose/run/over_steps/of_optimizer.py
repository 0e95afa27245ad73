"""What happens between backward and update, over the steps: no step, no clearing, skip after skip."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.course_step import CourseStep
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_of_run
from tb_gradgraph.graph import CLEARED

#: Fewer steps say nothing about a habit.
LEAST_STEPS = 4
#: So many backward passes without an optimizer's step are no accumulation that has not ended yet.
ENDLESS = 8
#: ``.grad`` differs from the gradient of the step's only backward by more than this share.
MORE = 1e-2
#: The share of steps at which a habit must be seen.
HABIT = 0.6
#: Steps skipped one after another, and by how much the scale has fallen.
SKIPS, FALLEN = 5, 16.0


def find_in_optimizer(course: Course) -> Iterator[RunFinding]:
    """Yield steps that never come, gradients that add up, and scalers that skip on and on."""
    yield from _find_never_stepped(course)
    yield from _find_not_zeroed(course)
    yield from _find_cleared_parts(course)
    yield from _find_scale_collapse(course)


def _find_never_stepped(course: Course) -> Iterator[RunFinding]:
    with_gradient = [step for step in course.steps if step.passes]
    if len(with_gradient) != 1:  # a step ends with its optimizer's
        return
    stepped = [step for step in course.steps if step.has_stepped or step.skipped]
    passes = len(with_gradient[0].passes)
    if not stepped and passes >= ENDLESS:
        text = (
            f"{passes} backward passes or more came one after another, and no optimizer of the watch "
            "stepped."
        )
        yield tell_of_run(course, "never_stepped", text, at=[one.step for one in with_gradient])


def _find_not_zeroed(course: Course) -> Iterator[RunFinding]:
    single = sum(len(step.passes) == 1 for step in course.steps)
    sums = course.by_blocks(_adding_up, version=len(course.updated))
    found = [(s.step, norms) for s, norms in zip(course.steps, sums) if norms is not None]
    if len(found) < max(LEAST_STEPS, HABIT * (single - 1)):
        return
    steps, norms = [step for step, _ in found], found[-1][1]
    text = (
        f"Gradients of earlier steps add up: at step {steps[-1]} .grad had a norm of {norms[0]:.3g}, of "
        f"which the step's own backward gave {norms[1]:.3g}. Nothing clears it."
    )
    yield tell_of_run(
        *(course, "not_zeroed", text),
        at=steps,
        measure="grad_norm/accumulated",
        numbers=[(step, held) for step, (held, _) in found],
    )


def _adding_up(course: Course, start: int, stop: int) -> list[tuple[float, float] | None]:
    """Return the norms of .grad and of what the only backward gave, where most parameters differ."""
    are_single = [len(s.passes) == 1 and s.has("accumulated") for s in course.steps[start:stop]]
    if not any(are_single):
        return [None] * len(are_single)
    parameters, updated = course.parameters, course.updated
    rows = partial(parameters.rows, start, stop, statistic="l2_norm")
    held, gave = rows(stage="accumulated"), rows(stage="backward")
    known = np.isfinite(held) & np.isfinite(gave)
    if updated:  # zero_grad() of an optimizer does not reach the parameters of others
        known &= np.array([f"{node.key}:0" in updated for node in parameters.nodes], bool)
    differs = known & (np.abs(held - gave) > MORE * np.maximum(gave, 1e-30))
    are_most = differs.sum(axis=1) > 0.5 * np.maximum(1, known.sum(axis=1))
    norms = [np.sqrt(np.nansum(some**2, axis=1)).tolist() for some in (held, gave)]
    return [
        pair if is_single and is_most else None
        for is_single, is_most, pair in zip(are_single, are_most.tolist(), zip(*norms))
    ]


def _find_cleared_parts(course: Course) -> Iterator[RunFinding]:
    """Yield that of several backwards over one graph all but the last are cleared within each step."""
    lost = [(step.step, _lost_parts(step)) for step in course.steps if step.has_stepped]
    at = [step for step, parts in lost if parts]
    if len(at) < max(LEAST_STEPS, HABIT * len(lost)):
        return
    parts = int(np.median([count for _, count in lost if count]))
    text = (
        f"In each step the gradients of {parts} backward pass{'es' if parts > 1 else ''} are cleared, and "
        "those of the last one over the same graph are used: the step sees only a part of its data."
    )
    # One pass that is cleared may be meant, as where a first backward only looks for a direction.
    yield tell_of_run(
        *(course, "cleared", text), at=at, severity="warning" if parts > 1 else "note"
    )


def _lost_parts(step: CourseStep) -> int:
    """Return how many backwards of a step were cleared before one over the same graph was used."""
    used = {one.graph_hash for one in step.passes if CLEARED not in one.objective}
    return sum(CLEARED in one.objective and one.graph_hash in used for one in step.passes)


def _find_scale_collapse(course: Course) -> Iterator[RunFinding]:
    skips = [step.skipped for step in course.steps]
    longest, run = 0, 0
    for is_skip in skips:
        run = run + 1 if is_skip else 0
        longest = max(longest, run)
    scales = [(step.step, step.loss_scale) for step in course.steps]
    if longest < SKIPS or sum(skips) < 0.3 * len(skips):
        return
    at = [step.step for step in course.steps if step.skipped]
    text = (
        f"The GradScaler skipped {len(at)} of {len(skips)} recorded steps, {longest} of them one after "
        f"another; its scale went from {scales[0][1]:g} to {scales[-1][1]:g}. No weight learns in them."
    )
    yield tell_of_run(course, "scale_collapse", text, at=at, measure="loss_scale", numbers=scales)
