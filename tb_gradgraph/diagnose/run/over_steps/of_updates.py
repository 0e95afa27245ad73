"""What the updates of the weights say over the steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_names, tell_of_run

#: Fewer steps say nothing about a habit.
LEAST_STEPS = 4
#: The share of steps at which a habit must be seen.
HABIT = 0.6
#: A weight norm that falls to this share, or grows by this factor, while steps are few.
SHRUNK, GROWN = 0.5, 10.0
#: The share of steps at which it must go the same way.
STEADY, STEADY_WITH_DECAY = 0.9, 0.6
#: An update this small, as a share of the weight, teaches nothing.
TINY = 1e-6
#: The share of a weight that decay takes at a step; 1e-4 is usual.
DECAYS = 0.01
#: A step this large, as a share of the weight, forgets it.
LEAP = 0.5
_SHORT = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")


def find_in_updates(course: Course) -> Iterator[RunFinding]:
    """Yield weights that drift, leap, or do not move, and updates that are lost or not finite."""
    yield from _find_drift(course)
    yield from _find_decay(course)
    yield from _find_lost_updates(course)
    yield from _find_bad_updates(course)
    yield from _find_tiny_updates(course)
    yield from _find_leap(course)


def _find_drift(course: Course) -> Iterator[RunFinding]:
    parameters = course.parameters
    norms = parameters.of("applied", "weight_norm")
    matrices = [at for at, node in enumerate(parameters.nodes) if len(node.slots[0].shape) > 1]
    total = np.sqrt(np.nansum(norms[:, matrices] ** 2, axis=1)) if matrices else np.zeros(0)
    known = np.flatnonzero(np.isfinite(total) & (total > 0))
    if len(known) < 3 * LEAST_STEPS:
        return
    values = total[known]
    factor = float(values[-1] / values[0])
    steady = float(np.mean(np.diff(np.log(values)) * np.sign(np.log(factor) or 1) > 0))
    limit = STEADY if factor > 1 else STEADY_WITH_DECAY if _decay_of(course) else STEADY
    if steady < limit or not (factor < SHRUNK or factor > GROWN):
        return
    series = [(parameters.steps[at], float(total[at])) for at in known]
    how = "shrink" if factor < 1 else "grow"
    why = _decay_of(course)
    text = (
        f"All weights {how} steadily: their norm went from {values[0]:.3g} to {values[-1]:.3g} between "
        f"steps {series[0][0]} and {series[-1][0]}.{why if factor < 1 else ''}"
    )
    yield tell_of_run(
        course,
        "weight_drift",
        text,
        at=[s for s, _ in series],
        measure="weight_norm",
        numbers=series,
    )


def _find_decay(course: Course) -> Iterator[RunFinding]:
    """Yield that decay alone takes away so much of a weight at each step that little is remembered."""
    series: dict[int, float] = {}
    for name in course.names:
        if name.startswith("weight_decay/"):
            decay = dict(course.series(name))
            rates = dict(course.series(name.replace("weight_decay/", "lr/", 1)))
            for step, rate in rates.items():
                series[step] = max(series.get(step, 0.0), rate * decay.get(step, 0.0))
    high = [step for step, share in series.items() if share >= DECAYS]
    if len(high) < max(LEAST_STEPS, HABIT * len(series)):
        return
    share = float(np.median(list(series.values())))
    text = (
        f"Weight decay takes {share:.2g} of each weight at every step (learning rate times decay): after "
        f"{np.log(2) / share:.3g} steps half of what was learned is gone."
    )
    yield tell_of_run(
        *(course, "weight_drift", text),
        at=high,
        measure="lr * weight_decay",
        numbers=sorted(series.items()),
    )


def _find_leap(course: Course) -> Iterator[RunFinding]:
    """Yield a single step that threw weights far away, in a training whose steps are small otherwise."""
    parameters = course.parameters
    matrices = [at for at, node in enumerate(parameters.nodes) if len(node.slots[0].shape) > 1]
    ratios = parameters.of("applied", "update_ratio")[:, matrices]
    for at in range(LEAST_STEPS, len(ratios)):
        now, before = ratios[at], ratios[max(0, at - 30) : at]
        known = np.isfinite(now) & np.isfinite(before).any(axis=0)
        if not known.any():
            continue
        usual = np.nanmedian(before[:, known], axis=0)
        far = (now[known] > LEAP) & (now[known] > 50 * usual) & (usual > 0)
        if far.mean() < 0.5:
            continue
        worst = int(np.flatnonzero(known)[np.argmax(np.where(far, now[known], 0))])
        node, step = parameters.nodes[matrices[worst]], parameters.steps[at]
        text = (
            f"Step {step} changed {far.sum()} of {known.sum()} weights by more than half of their norm, "
            f"{node.name} by {now[worst]:.3g} times its norm; the steps before changed it by "
            f"{np.nanmedian(before[:, worst]):.2g} of it."
        )
        series = [(s, float(n)) for s, n in zip(parameters.steps, ratios[:, worst]) if n == n]
        yield tell_of_run(
            *(course, "large_update", text),
            at=[step],
            node=node,
            measure="update_ratio",
            numbers=series,
        )
        return


def _decay_of(course: Course) -> str:
    found = [
        (name, numbers[-1][1])
        for name in course.names
        if name.startswith("weight_decay/") and (numbers := course.series(name))
    ]
    top = max(found, key=lambda pair: pair[1], default=("", 0.0))
    return f" Weight decay is {top[1]:g}." if top[1] > 0 else ""


def _find_lost_updates(course: Course) -> Iterator[RunFinding]:
    parameters = course.parameters
    moved = parameters.of("applied", "update_norm")
    gradient = parameters.of("applied", "l2_norm")
    short = [at for at, node in enumerate(parameters.nodes) if node.slots[0].dtype in _SHORT]
    known = np.isfinite(moved) & (gradient > 0)
    lost = [
        at
        for at in short
        if known[:, at].sum() >= LEAST_STEPS and (moved[known[:, at], at] == 0).mean() >= HABIT
    ]
    rates = [n for name in course.names if name.startswith("lr/") for _, n in course.series(name)]
    if not lost or (rates and max(rates) <= 0):
        return
    node = parameters.nodes[lost[0]]
    rows = np.flatnonzero(known[:, lost[0]] & (moved[:, lost[0]] == 0))
    names = [parameters.nodes[at].name for at in lost]
    text = (
        f"{tell_names(names)}: a gradient arrives, but the optimizer's steps change nothing, because "
        f"they are smaller than half of the last digit of {node.slots[0].dtype}."
    )
    yield tell_of_run(
        *(course, "lost_update", text),
        at=[parameters.steps[row] for row in rows],
        node=node,
        nodes=names,
        measure="update_norm",
        numbers=[(parameters.steps[row], float(moved[row, lost[0]])) for row in rows],
    )


def _find_bad_updates(course: Course) -> Iterator[RunFinding]:
    """Yield a weight that a step made NaN although its gradient was finite."""
    parameters = course.parameters
    weight = parameters.of("applied", "weight_norm")
    bad = sum(parameters.of("applied", name) > 0 for name in ("nan", "posinf", "neginf"))
    moved = parameters.of("applied", "update_norm")
    has = np.isfinite(parameters.of("applied", "numel"))
    made = has & (bad == 0) & ((np.isinf(moved)) | (np.isnan(moved) & np.isfinite(weight)))
    rows, columns = np.nonzero(made)
    if not len(rows):
        return
    first = int(rows.min())
    at = [int(c) for r, c in zip(rows, columns) if r == first]
    names = [parameters.nodes[one].name for one in at]
    step = parameters.steps[first]
    text = (
        f"At step {step} the optimizer made {tell_names(names)} NaN or infinite, although the gradient "
        "was finite. Look at its eps, its learning rate, and at moments that are zero."
    )
    yield tell_of_run(
        course, "nonfinite_weight", text, at=[step], node=parameters.nodes[at[0]], nodes=names
    )


def _find_tiny_updates(course: Course) -> Iterator[RunFinding]:
    """Yield that nothing learns, because all updates are tiny or zero at most steps, not only at first."""
    parameters = course.parameters
    ratio = parameters.of("applied", "update_ratio")
    known = np.isfinite(ratio) & (parameters.of("applied", "l2_norm") > 0)
    greatest = np.where(known, ratio, -1.0).max(axis=1, initial=-1.0)
    steps = np.flatnonzero(greatest >= 0)
    small = steps[greatest[steps] < TINY]
    if len(steps) < 3 * LEAST_STEPS or len(small) < 0.3 * len(steps) or steps[-1] not in small:
        return
    series = [(parameters.steps[at], float(greatest[at])) for at in steps]
    top = float(greatest[small].max())
    kind = "small_update" if top > 0 else "no_update"
    rates = [
        f"{name} is {numbers[-1][1]:g}"
        for name in course.names
        if name.startswith("lr/") and (numbers := course.series(name))
    ]
    since = parameters.steps[small[0]]
    told = f"no weight moves by more than {top:.2g} of its norm" if top else "no weight changes"
    text = (
        f"Since step {since} {told} at a step, although gradients arrive. {', '.join(rates[:3])}."
    )
    yield tell_of_run(
        *(course, kind, text),
        at=[parameters.steps[at] for at in small],
        examined=len(steps),
        measure="update_ratio",
        numbers=series,
        severity="warning",
    )
