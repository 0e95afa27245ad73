"""Put causes before what follows from them, and leave out what a cause explains."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from tb_gradgraph.diagnose.kinds import KINDS, SEVERITIES
from tb_gradgraph.diagnose.kinds.set_up_kinds import SET_UP_KINDS
from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.over_steps.of_updates import DECAY
from tb_gradgraph.diagnose.run.run_finding import RunFinding

#: The kinds that follow from a kind, if they begin at the same step or later.
FOLLOWS: Mapping[str, frozenset[str]] = {
    kind: frozenset(follows.split())
    for kind, follows in {
        "never_stepped": "no_update small_update not_optimized cleared not_zeroed",
        "stale_optimizer": "not_optimized no_update cleared no_gradient",
        "unregistered": "not_optimized no_gradient",
        "not_zeroed": "loss_rising loss_oscillating gradient_spike exploding large_update clipped "
        "weight_drift",
        "cleared": "no_update small_update",
        "scale_collapse": "step_skipped no_update small_update",
        "lost_update": "no_update small_update",
        "input_scale": "exploding large_update loss_oscillating gradient_spike saturated dead_units",
        "zero_origin": "zero_gradient vanishing no_update small_update",
        "dead_units": "zero_gradient zero_origin",
        "softmax_twice": "vanishing small_update",
        "saturated": "vanishing zero_gradient zero_origin small_update",
        "exploding": "large_update loss_rising gradient_spike clipped",
        "large_update": "weight_drift loss_rising loss_oscillating gradient_spike clipped",
        "vanishing": "small_update no_update zero_gradient dead_units",
        "no_gradient": "not_optimized",
        "loss_imbalance": "exploding clipped",
        "loss_rising": "weight_drift",
    }.items()
}
_SET_UP = frozenset(kind.name for kind in SET_UP_KINDS)
#: What lets numbers grow, and by what factor they have grown if they overflow because of it.
_GROWTH = frozenset(("not_zeroed", "input_scale", "large_update", "weight_drift", "loss_rising"))
OVERFLOWS = 1e4
#: The kinds that follow from a kind only if they begin after it.
FOLLOWS_LATER: Mapping[str, frozenset[str]] = {
    "large_update": frozenset(
        ("dead_units", "attention_collapsed", "saturated", "zero_origin", "exploding")
    ),
    "dead_units": frozenset(("vanishing",)),
    "loss_rising": frozenset(("large_update", "gradient_spike", "exploding")),
    "gradient_spike": frozenset(("loss_rising",)),
}
#: What the first backward may show already.
_OF_THE_NET = ("vanishing", "exploding")
#: What follows from a decay that takes much of each weight at every step.
_OF_DECAY = frozenset(("large_update", "loss_rising", "small_update"))
#: Notes of what is on purpose as a rule.
_USUAL = ("frozen", "cancelled")
#: From this share of the steps on, a finding comes before those that pass.
LASTING = 0.25
#: Kinds that one run has once, whichever node shows them.
_ONCE = frozenset(
    ("vanishing", "exploding", "small_update", "no_update", "weight_drift", "large_update")
)


def explain(course: Course, found: Sequence[RunFinding]) -> list[RunFinding]:
    """Return the findings, the cause first, without those that another one explains."""
    kept = _without_line_search(course, _without_healthy_skips(course, _with_origin(found)))
    kept = _one_of_each(_with_one_nonfinite(kept))
    kept = _causes_of_overflow(course, kept)
    first = course.steps[0].step if course.steps else 0
    return sorted(_unexplained(_unexplained(kept)), key=lambda one: _place(one, first))


def _unexplained(found: Sequence[RunFinding]) -> list[RunFinding]:
    """Return the findings that no other one explains. Of two that explain each other the earlier counts."""
    kept: list[RunFinding] = []
    for one in sorted(found, key=lambda each: (each.first_step, list(KINDS).index(each.kind))):
        if not any(_explains(cause, one) for cause in kept):
            kept.append(one)
    return [
        one
        for one in kept
        if not any(_explains(other, one) and not _explains(one, other) for other in kept)
    ]


def _weight(one: RunFinding) -> tuple[int, int]:
    return -SEVERITIES.index(one.severity), one.count


def _one_of_each(found: Sequence[RunFinding]) -> list[RunFinding]:
    """Keep one of several findings of a kind at the same node, the one that lasts longest."""
    kept: dict[tuple[str, str], RunFinding] = {}
    for one in found:
        key = (one.kind, "" if one.kind in _ONCE else one.key)
        if key not in kept or _weight(one) > _weight(kept[key]):
            kept[key] = one
    return list(kept.values())


def _place(one: RunFinding, first: int) -> tuple[int, bool, bool, bool, float, int]:
    follows = KINDS[one.kind].is_of_nonfinite and one.first_step > 0
    passes = one.count < LASTING * one.examined
    order: float = list(KINDS).index(one.kind)
    if one.kind in _OF_THE_NET and one.first_step == first:  # no update caused it
        order = list(KINDS).index("large_update") - 0.5
    is_usual = one.kind in _USUAL
    return SEVERITIES.index(one.severity), is_usual, follows, passes, order, one.first_step


def _explains(cause: RunFinding, other: RunFinding) -> bool:
    follows = other.kind in FOLLOWS.get(cause.kind, ())
    if cause.first_step < other.first_step:
        follows |= other.kind in FOLLOWS_LATER.get(cause.kind, ())
    if cause.kind == "weight_drift" and cause.measure == DECAY:
        follows |= other.kind in _OF_DECAY
    is_as_bad = SEVERITIES.index(cause.severity) <= SEVERITIES.index(other.severity)
    return follows and is_as_bad and _is_before(cause, other)


def _is_before(cause: RunFinding, other: RunFinding) -> bool:
    """Return whether a cause begins early enough. An update changes nothing of the steps before it."""
    if cause.kind == "large_update":
        return cause.first_step <= other.first_step + 1 and other.measure != DECAY
    return cause.first_step <= other.last_step


def _causes_of_overflow(course: Course, found: Sequence[RunFinding]) -> list[RunFinding]:
    """Make what let numbers grow until they overflowed as severe as the overflow: it is the cause."""
    bad = [one for one in found if KINDS[one.kind].is_of_nonfinite and one.severity == "error"]
    if not bad:
        return list(found)
    grows = _growth(course, bad[0].first_step) >= OVERFLOWS
    return [
        dataclasses.replace(one, severity="error")
        if (one.kind == "exploding" or (grows and one.kind in _GROWTH))
        and one.first_step < bad[0].first_step
        else one
        for one in found
    ]


def _growth(course: Course, until: int) -> float:
    """Return how many times as large gradient or loss was before a step as at the beginning."""
    factors = [1.0]
    for name in ("grad_norm/backward", "loss"):
        series = [abs(n) for step, n in course.series(name) if step < until and n == n]
        if series and series[0] > 0:
            factors.append(series[-1] / series[0])
    return max(factors)


def _without_healthy_skips(course: Course, found: Sequence[RunFinding]) -> list[RunFinding]:
    """Leave out what is not finite only in steps that a GradScaler skipped: that is its way of working."""
    skipped = {step.step for step in course.steps if step.skipped}
    return [
        one
        for one in found
        if not (KINDS[one.kind].is_of_nonfinite and skipped.issuperset(_steps_of(course, one)))
    ]


def _with_origin(found: Sequence[RunFinding]) -> list[RunFinding]:
    """Say of a loss scale that collapses where infinity began in the steps that were skipped."""
    began = [one for one in found if KINDS[one.kind].is_of_nonfinite and one.severity == "error"]
    if not began:
        return list(found)
    origin = min(began, key=lambda one: (one.first_step, list(KINDS).index(one.kind)))
    return [
        dataclasses.replace(
            one,
            text=f"{one.text} {origin.text}",
            **{
                name: getattr(origin, name) for name in ("node", "key", "module", "source", "nodes")
            },
        )
        if one.kind == "scale_collapse"
        else one
        for one in found
    ]


def _without_line_search(course: Course, found: Sequence[RunFinding]) -> list[RunFinding]:
    """Leave out large updates of LBFGS, which searches along a line for a step as large as it may be."""
    names = {one.name for one in course.facts.optimizers} if course.facts is not None else set()
    return [one for one in found if one.kind != "large_update" or names != {"LBFGS"}]


def _steps_of(course: Course, one: RunFinding) -> list[int]:
    if one.count <= 1:
        return [one.first_step]
    return [s.step for s in course.steps if one.first_step <= s.step <= one.last_step]


def _with_one_nonfinite(found: Sequence[RunFinding]) -> list[RunFinding]:
    """Keep, of all that tells of NaN and infinity, where it began, and drop what began with it or later."""
    bad = [one for one in found if KINDS[one.kind].is_of_nonfinite and one.severity == "error"]
    if not bad:
        return list(found)
    origin = min(bad, key=lambda one: (one.first_step, list(KINDS).index(one.kind)))
    last = max(one.last_step for one in bad)
    origin = dataclasses.replace(
        origin,
        last_step=last,
        spans=((origin.first_step, last),),
        count=max(one.count for one in bad),
    )
    others = [
        one
        for one in found
        if not KINDS[one.kind].is_of_nonfinite
        and (one.first_step < origin.first_step or one.kind in _SET_UP)
    ]
    return [origin, *others]
