"""Spikes, losses that rise or swing, and terms of a loss, on made-up numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.diagnose.run.over_steps.of_loss import find_in_loss
from tests.diagnose.run.courses import course_with

NOISE = np.random.default_rng(0).normal(size=200)
FALLING = [2.0 * math.exp(-step / 20) + 0.1 for step in range(60)]


def kinds_of(**series: list[float]) -> dict[str, RunFinding]:
    named = {name.replace("__", "/"): some for name, some in series.items()}
    return {found.kind: found for found in find_in_loss(course_with(named))}


@pytest.mark.parametrize(
    "loss",
    [
        FALLING,
        [value * (1 + 0.2 * noise) for value, noise in zip(FALLING, NOISE)],
        [0.7 + 0.02 * noise for noise in NOISE[:60]],  # at its floor
        [1.0] * 60,
        [-value for value in FALLING][::-1],  # an objective below zero that gets lower
        [math.nan] * 60,
        [3.0, 2.0, 1.0],
    ],
)
def test_a_loss_that_falls_or_rests_is_fine(loss: list[float]) -> None:
    assert kinds_of(loss=loss) == {}


def test_a_loss_that_rises_is_told_of_from_its_least_value_on() -> None:
    loss = FALLING[:30] + [FALLING[29] * 1.15**step for step in range(1, 31)]
    found = kinds_of(loss=loss)["loss_rising"]
    assert found.first_step == 29 and found.last_step == 59 and found.severity == "warning"
    assert dict(found.numbers)[59] == pytest.approx(loss[59])


RISING = FALLING[:30] + [FALLING[29] * 1.15**step for step in range(1, 31)]


@pytest.mark.parametrize(
    ("rates", "told"),
    [
        ([1e-3] * 35 + [4e-2] * 2 + [1e-3] * 23, "At step 35 the learning rate was 40 times"),
        ([1e-3] * 10 + [4e-2] * 2 + [1e-3] * 48, ""),  # long before
        ([1e-3 * 1.1**step for step in range(60)], ""),  # a warm-up
        ([0.0] * 32 + [1e-3] * 28, ""),
        ([math.nan] * 60, ""),
    ],
)
def test_a_learning_rate_that_leapt_is_told_with_the_loss_that_rises(
    rates: list[float], told: str
) -> None:
    text = kinds_of(loss=RISING, **{"lr/0": rates})["loss_rising"].text
    assert told in text
    assert ("learning rate" in text) == bool(told)


def test_a_loss_that_swings_without_falling() -> None:
    loss = [1.5 + (-1) ** step * 0.8 + 0.01 * noise for step, noise in enumerate(NOISE[:60])]
    assert set(kinds_of(loss=loss)) == {"loss_oscillating"}


@pytest.mark.parametrize("factor", [2.0, 7.0])
def test_a_gradient_a_few_times_as_large_is_no_spike(factor: float) -> None:
    norms = [1.0 + 0.1 * noise for noise in NOISE[:60]]
    norms[40] = factor * max(norms)
    assert kinds_of(grad_norm=norms) == {}


def test_a_spike_is_named_with_its_step_and_its_factor() -> None:
    norms = [1.0 + 0.1 * noise for noise in NOISE[:60]]
    norms[40] = 50.0
    found = kinds_of(grad_norm=norms)["gradient_spike"]
    assert (found.first_step, found.count, found.measure) == (40, 1, "grad_norm/backward")
    assert "At step 40 the gradient's norm was 50" in found.text


def test_a_spike_above_a_gradient_that_has_become_tiny_is_none() -> None:
    norms = [10.0 * math.exp(-step) + 1e-9 for step in range(60)]
    norms[50] = 1e-6
    assert kinds_of(grad_norm=norms) == {}


def test_terms_of_which_one_is_not_heard() -> None:
    found = kinds_of(loss_share__fit=[0.9999] * 20, loss_share__size=[1e-4] * 20)
    assert found["loss_imbalance"].nodes == ("size", "fit")
    assert kinds_of(loss_share__fit=[0.9] * 20, loss_share__size=[0.1] * 20) == {}
    assert kinds_of(loss_share__fit=[1.0] * 20, loss_share__size=[0.0] * 20) == {}


def test_terms_in_conflict() -> None:
    found = kinds_of(loss_cosine__fit__size=[-0.9] * 20)
    assert found["loss_conflict"].severity == "note" and "-0.90" in found["loss_conflict"].text
    assert kinds_of(loss_cosine__fit__size=[-0.2] * 20) == {}
