"""What the loss and the size of the gradient say over the steps."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from tb_gradgraph.diagnose.run.course import Course, Series
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.diagnose.run.told import tell_of_run
from tb_gradgraph.graph import Node
from tb_gradgraph.quantities import LOSS, LOSS_COSINE, LOSS_SHARE

#: A spike is so many times the median of the steps before, and so many times the greatest of them.
SPIKE, OVER_GREATEST = 10.0, 3.0
WINDOW, LEAST_BEFORE = 30, 5

#: A parameter with a greater share of a spike's norm is named.
MOST = 0.7
#: Fewer steps show no trend.
LEAST_STEPS = 12
#: How much a loss rises, as a share of itself, and how many times its scatter.
RISES, OVER_SCATTER = 0.3, 3.0
#: The share of steps at which an oscillating loss turns; chance alone gives two thirds.
TURNS = 0.8
#: A learning rate that grows so many times from one recorded step to the next is told.
LEAPS = 3.0

#: A term of a loss is not heard below this share of the gradient, if another has nearly all.
UNHEARD, LOUD = 2e-3, 0.99
#: The cosine of terms in conflict.
AGAINST = -0.5


def find_in_loss(course: Course) -> Iterator[RunFinding]:
    """Yield spikes, a loss that rises or swings, and terms that are unheard or in conflict."""
    yield from _find_spikes(course)
    if len({one.objective for step in course.steps for one in step.passes}) == 1:
        loss = [(step, number) for step, number in course.series(LOSS) if np.isfinite(number)]
        if len(loss) >= LEAST_STEPS:
            yield from _find_trend(course, loss)
    yield from _find_terms(course)


def _find_spikes(course: Course) -> Iterator[RunFinding]:
    name = "grad_norm/backward"
    series = [(step, n) for step, n in course.series(name) if np.isfinite(n) and n > 0]
    norms = np.array([number for _, number in series])
    found = []
    for at in _over_those_before(norms):
        usual = float(np.median(norms[max(0, at - WINDOW) : at]))
        beginning = float(np.median(norms[:LEAST_BEFORE]))
        if norms[at] > SPIKE * usual and norms[at] > 0.5 * beginning:
            found.append((series[at][0], float(norms[at]), usual))
    if not found:
        return
    step, norm, usual = found[0]
    more = f" So it did at {len(found) - 1} further steps." if len(found) > 1 else ""
    node, share = _greatest(course, step)
    whose = f" {node.name} alone has {min(share, 0.9999):.2%} of it." if node is not None else ""
    text = (
        f"At step {step} the gradient's norm was {norm:.3g}, {norm / usual:.3g} times the median of "
        f"the steps before ({usual:.3g}).{whose}{more}"
    )
    steps = [one[0] for one in found]
    yield tell_of_run(
        *(course, "gradient_spike", text),
        at=steps,
        node=node,
        measure=name,
        numbers=_around(series, step),
    )


def _over_those_before(norms: np.ndarray) -> list[int]:
    """Return where a number is far above the greatest of those before it."""
    if len(norms) <= LEAST_BEFORE:
        return []
    padded = np.concatenate([np.full(WINDOW, -np.inf), norms[:-1]])
    greatest = np.lib.stride_tricks.sliding_window_view(padded, WINDOW).max(axis=1)
    far = np.flatnonzero(norms > OVER_GREATEST * greatest)
    return far[far >= LEAST_BEFORE].tolist()


def _greatest(course: Course, step: int) -> tuple[Node | None, float]:
    """Return the parameter with most of a step's gradient, and its share; None if none has most of it."""
    parameters = course.parameters
    norms = parameters.row(parameters.steps.index(step), "backward", "l2_norm")
    if not np.isfinite(norms).any():
        return None, 0.0
    at = int(np.nanargmax(norms))
    share = float(norms[at] / np.sqrt(np.nansum(norms**2)))
    return (parameters.nodes[at], share) if share > MOST else (None, share)


def _around(series: Series, step: int) -> Series:
    return [pair for pair in series if abs(pair[0] - step) <= WINDOW] or series


def _find_trend(course: Course, loss: Series) -> Iterator[RunFinding]:
    values = np.array([number for _, number in loss])
    quarter = max(4, 2 * (len(values) // 8))  # even, so that the median of a swing is its middle
    first, last = float(np.median(values[:quarter])), float(np.median(values[-quarter:]))
    best = _least_median(values.tolist(), quarter)
    scatter = float(np.median(np.abs(np.diff(values)))) + 1e-30
    size = max(abs(best), abs(first), 1e-12)
    rise = last - best
    began = int(np.argmin(values))
    swings = _turns(values) >= TURNS and scatter > 0.2 * size and last > first - 0.3 * abs(first)
    if swings:
        text = (
            f"The loss swings: it changes by {scatter:.3g} from step to step (median), up and down in "
            f"turn, and is {last:.3g} at the end after {first:.3g} at the beginning."
        )
        yield tell_of_run(
            course, "loss_oscillating", text, at=[s for s, _ in loss], measure=LOSS, numbers=loss
        )
    elif rise > RISES * size and rise > OVER_SCATTER * scatter and last > max(first, 0):
        since = loss[min(began, len(loss) - 1)][0]
        text = (
            f"The loss rises since step {since}: from {values[began]:.3g} to {last:.3g} (median of the "
            f"last quarter); at the beginning it was {first:.3g}."
            f"{_tell_rate(course, since, loss[-1][0])}"
        )
        at = [step for step, _ in loss if step >= since]
        yield tell_of_run(course, "loss_rising", text, at=at, measure=LOSS, numbers=loss)


def _tell_rate(course: Course, begin: int, end: int) -> str:
    """Say where a learning rate leapt between two steps; nothing if none did."""
    leaps = [
        (step, before, rate)
        for name in course.names
        if name.startswith("lr/")
        for (_, before), (step, rate) in itertools.pairwise(course.series(name))
        if begin <= step <= end and 0 < LEAPS * before <= rate
    ]
    if not leaps:
        return ""
    step, before, rate = min(leaps)
    return f" At step {step} the learning rate was {rate / before:.3g} times that recorded before."


def _least_median(values: Sequence[float], width: int) -> float:
    """Return the least median of so many numbers one after another; ``width`` is even."""
    window = sorted(values[:width])
    least = np.inf
    for at in range(width, len(values) + 1):
        least = min(least, (window[width // 2 - 1] + window[width // 2]) / 2)
        if at < len(values):
            del window[bisect.bisect_left(window, values[at - width])]
            bisect.insort(window, values[at])
    return float(least)


def _turns(values: np.ndarray) -> float:
    """Return at which share of the steps a series turns round."""
    signs = np.sign(np.diff(values))
    return float(np.mean(signs[1:] * signs[:-1] < 0)) if len(signs) > 1 else 0.0


def _find_terms(course: Course) -> Iterator[RunFinding]:
    shares = {}
    for name in course.names:
        if name.startswith(f"{LOSS_SHARE}/"):
            shares[name.partition("/")[2]] = course.series(name)
        elif name.startswith(f"{LOSS_COSINE}/"):
            yield from _find_conflict(course, name)
    middle = {term: float(np.median([n for _, n in some])) for term, some in shares.items() if some}
    if len(middle) < 2:
        return
    quiet, loud = min(middle, key=middle.__getitem__), max(middle, key=middle.__getitem__)
    if 0 < middle[quiet] < UNHEARD and middle[loud] > LOUD:
        text = (
            f"{loud} has {middle[loud]:.4g} of the loss's gradient and {quiet} only {middle[quiet]:.2g} "
            "(medians over the steps): training follows the one and not the other."
        )
        yield tell_of_run(
            *(course, "loss_imbalance", text),
            at=[step for step, _ in shares[quiet]],
            measure=f"{LOSS_SHARE}/{quiet}",
            numbers=shares[quiet],
            nodes=(quiet, loud),
        )


def _find_conflict(course: Course, name: str) -> Iterator[RunFinding]:
    series = course.series(name)
    middle = float(np.median([number for _, number in series])) if series else 0.0
    if middle < AGAINST and len(series) >= LEAST_BEFORE:
        one, _, other = name.partition("/")[2].partition("/")
        text = (
            f"The gradients of {one} and {other} point in opposite directions: the cosine between them "
            f"is {middle:.2f} (median)."
        )
        at = [step for step, number in series if number < AGAINST]
        yield tell_of_run(
            course, "loss_conflict", text, at=at, measure=name, numbers=series, nodes=(one, other)
        )
