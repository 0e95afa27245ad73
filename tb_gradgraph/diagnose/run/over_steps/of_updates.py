"""What the updates of the weights say over the steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial

import numpy as np

from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_names, tell_of_run
from tb_gradgraph.statistics import NONFINITE

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
#: What is measured of it.
DECAY = "lr * weight_decay"
#: A step this large, as a share of the weight, forgets it.
LEAP = 0.5
#: It is so many times the median of so many steps before.
FARTHER, WINDOW = 50.0, 30
_SHORT = ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")


def find_in_updates(course: Course) -> Iterator[RunFinding]:
    """Yield weights that drift, leap, or do not move, and updates that are lost or not finite."""
    decay = list(_find_decay(course))
    yield from decay or _find_drift(course)
    yield from _find_lost_updates(course)
    yield from _find_bad_updates(course)
    yield from _find_tiny_updates(course)
    yield from _find_leap(course)


def _find_drift(course: Course) -> Iterator[RunFinding]:
    parameters = course.parameters
    total = np.array([one.norm for one in course.by_blocks(_updates)])
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
    shares = zip(course.steps, course.column(_decay_at))
    series = {step.step: share for step, share in shares if share is not None}
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
        measure=DECAY,
        numbers=sorted(series.items()),
    )


def _decay_at(course: Course, at: int) -> float | None:
    """Return the greatest share of a weight that decay takes in a step; None if it is unknown."""
    numbers = course.steps[at].numbers
    found = [
        rate * (decay if decay == decay else 0.0)
        for name, decay in numbers.items()
        if name.startswith("weight_decay/")
        for rate in [numbers.get(name.replace("weight_decay/", "lr/", 1), np.nan)]
        if rate == rate
    ]
    return max(0.0, *found) if found else None


def _find_leap(course: Course) -> Iterator[RunFinding]:
    """Yield a single step that threw weights far away, in a training whose steps are small otherwise."""
    found = ((at, leap) for at, leap in enumerate(course.by_blocks(_leaps)) if leap is not None)
    at, leap = next(found, (0, None))
    if leap is None:
        return
    parameters = course.parameters
    ratios = parameters.of("applied", "update_ratio")[:, leap.worst]
    node, step = parameters.nodes[leap.worst], parameters.steps[at]
    text = (
        f"Step {step} changed {leap.far} of {leap.known} weights by more than half of their norm, "
        f"{node.name} by {ratios[at]:.3g} times its norm; the steps before changed it by "
        f"{np.nanmedian(ratios[max(0, at - WINDOW) : at]):.2g} of it."
    )
    yield tell_of_run(
        *(course, "large_update", text),
        at=[step],
        node=node,
        measure="update_ratio",
        numbers=[(s, float(n)) for s, n in zip(parameters.steps, ratios) if n == n],
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Leap:
    """A step that threw weights far away: the weight it threw farthest, and how many of how many."""

    worst: int
    far: int
    known: int


def _leaps(course: Course, start: int, stop: int) -> list[_Leap | None]:
    ratios = course.parameters.of("applied", "update_ratio")[start:stop]
    are_far = np.any(np.take(ratios, course.parameters.matrices, axis=1) > LEAP, axis=1)
    return [
        _leap(course, at) if is_far else None for at, is_far in enumerate(are_far.tolist(), start)
    ]


def _leap(course: Course, at: int) -> _Leap | None:
    if at < LEAST_STEPS:
        return None
    of = course.parameters.matrices
    ratios = course.parameters.of("applied", "update_ratio")
    now, before = ratios[at, of], ratios[max(0, at - WINDOW) : at, of]
    known = np.isfinite(now) & np.isfinite(before).any(axis=0)
    may_be = known & (now > LEAP)
    if not may_be.any() or may_be.sum() < 0.5 * known.sum():
        return None
    # Of a median that is less than a number, at least half of the numbers are: counting is fast.
    less = (before < now / FARTHER).sum(axis=0)
    may_be &= less >= 0.5 * (~np.isnan(before)).sum(axis=0)
    if not may_be.any() or may_be.sum() < 0.5 * known.sum():
        return None
    usual = np.nanmedian(before[:, may_be], axis=0)
    far = np.zeros(len(of), bool)
    far[may_be] = (now[may_be] > FARTHER * usual) & (usual > 0)
    if not far.any() or far.sum() < 0.5 * known.sum():
        return None
    worst = int(of[np.argmax(np.where(far, now, 0))])
    return _Leap(worst, int(far.sum()), int(known.sum()))


def _decay_of(course: Course) -> str:
    found = [
        (name, number)
        for name in course.names
        if name.startswith("weight_decay/") and (number := course.last(name)) is not None
    ]
    top = max(found, key=lambda pair: pair[1], default=("", 0.0))
    return f" Weight decay is {top[1]:g}." if top[1] > 0 else ""


def _find_lost_updates(course: Course) -> Iterator[RunFinding]:
    parameters = course.parameters
    short = [at for at, node in enumerate(parameters.nodes) if node.slots[0].dtype in _SHORT]
    if not short:
        return
    moved = parameters.of("applied", "update_norm")
    gradient = parameters.of("applied", "l2_norm")
    known = np.isfinite(moved) & (gradient > 0)
    counts, zeros = known.sum(axis=0), (known & (moved == 0)).sum(axis=0)
    lost = [at for at in short if counts[at] >= LEAST_STEPS and zeros[at] >= HABIT * counts[at]]
    if not lost:
        return
    rates = [n for name in course.names if name.startswith("lr/") for _, n in course.series(name)]
    if rates and max(rates) <= 0:
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
    made = enumerate(course.by_blocks(_updates))
    first, at = next(((step, one.bad) for step, one in made if one.bad), (0, ()))
    if not at:
        return
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
    greatest = np.array([one.greatest for one in course.by_blocks(_updates)])
    steps = np.flatnonzero(greatest >= 0)
    small = steps[greatest[steps] < TINY]
    if len(steps) < 3 * LEAST_STEPS or len(small) < 0.3 * len(steps) or steps[-1] not in small:
        return
    series = [(parameters.steps[at], float(greatest[at])) for at in steps]
    top = float(greatest[small].max())
    kind = "small_update" if top > 0 else "no_update"
    rates = [
        f"{name} is {number:g}"
        for name in course.names
        if name.startswith("lr/") and (number := course.last(name)) is not None
    ]
    since = parameters.steps[small[0]]
    told = f"no weight moves by more than {top:.2g} of its norm" if top else "no weight changes"
    text = (
        f"Since step {since} {told} at a step, although gradients arrive. {', '.join(rates[:3])}."
    )
    yield tell_of_run(
        *(course, kind, text),
        at=[parameters.steps[at] for at in small],
        examined=[parameters.steps[at] for at in steps],
        measure="update_ratio",
        numbers=series,
        severity="warning",
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Update:
    """What an optimizer did at a step.

    Attributes:
        norm: The norm over all weights of several dimensions; 0: unknown.
        greatest: The greatest update of a weight with a gradient, as a share of its norm; -1: unknown.
        bad: Where the parameters are that it made NaN or infinite.
    """

    norm: float = 0.0
    greatest: float = -1.0
    bad: tuple[int, ...] = ()


def _updates(course: Course, start: int, stop: int) -> list[_Update]:
    parameters = course.parameters
    rows = partial(parameters.rows, start, stop, "applied")
    weight, moved, ratios = rows("weight_norm"), rows("update_norm"), rows("update_ratio")
    bad = np.isinf(moved) | (np.isnan(moved) & np.isfinite(weight))
    if bad.any():
        bad &= np.isfinite(rows("numel"))
        for name in NONFINITE:
            bad &= ~(rows(name) > 0)
    known = np.isfinite(ratios) & (rows("l2_norm") > 0)
    norms = np.sqrt(np.nansum(np.take(weight, parameters.matrices, axis=1) ** 2, axis=1))
    greatest = np.where(known, ratios, -1.0).max(axis=1, initial=-1.0)
    return [
        _Update(norm, most, tuple(np.flatnonzero(of).tolist()))
        for norm, most, of in zip(norms.tolist(), greatest.tolist(), bad)
    ]
