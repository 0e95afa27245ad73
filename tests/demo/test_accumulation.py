"""Gradient accumulation, read back from what the demo wrote; the right numbers are numpy's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from tests.logged import LoggedRun, read_one_run, read_tensor

X = torch.randn(3, 128, 3, generator=torch.Generator().manual_seed(0)).double().numpy()
LR = 0.1
TAGS = ["one of 128", "two of 64", "never zeroed"]


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("accumulation"))


def read_gradient(run: LoggedRun, tag: str, step: int, stage: str, number: int = 0) -> np.ndarray:
    """Read weight's and bias's gradient as one array."""
    (record,) = (
        record
        for record in run.records
        if (record.tag, record.step, record.stage, record.backward_pass)
        == (tag, step, stage, number)
    )
    parts = (read_tensor(run, record, name).gradient for name in ("weight", "bias"))
    return np.concatenate([part.reshape(-1) for part in parts])


def train(batches: int, zero_grad: bool = True) -> Iterator[tuple[list[np.ndarray], np.ndarray]]:
    """Yield each step's gradients, one a batch, and what is in ``.grad`` after the last."""
    w, held = np.zeros(4), np.zeros(4)
    for samples in X:
        held = np.zeros(4) if zero_grad else held
        found = []
        for x in np.split(samples, batches):
            inputs = np.concatenate([x, np.ones((len(x), 1))], 1)
            error = inputs @ w - x.sum(1)
            found.append(2 * error @ inputs / len(x) / batches)
        held = held + sum(found)
        yield found, held
        w = w - LR * held


def test_each_batch_and_their_sum_are_told_apart(run: LoggedRun):
    for step, (parts, total) in enumerate(train(2)):
        for number, part in enumerate(parts):
            found = read_gradient(run, "two of 64", step, "backward", number)
            np.testing.assert_allclose(found, part, rtol=1e-5)
        for stage in ("accumulated", "applied"):
            found = read_gradient(run, "two of 64", step, stage, 1)
            np.testing.assert_allclose(found, total, rtol=1e-5)


def test_two_batches_of_64_are_one_of_128(run: LoggedRun):
    for step in range(3):
        one = read_gradient(run, "one of 128", step, "applied")
        two = read_gradient(run, "two of 64", step, "applied", 1)
        np.testing.assert_allclose(one, two, rtol=1e-5)
        np.testing.assert_array_equal(one, read_gradient(run, "one of 128", step, "backward"))


def test_without_zero_grad_what_is_applied_is_more_than_the_backward_gave(run: LoggedRun):
    for step, ((new,), held) in enumerate(train(1, zero_grad=False)):
        found = read_gradient(run, "never zeroed", step, "backward")
        np.testing.assert_allclose(found, new, rtol=1e-5)
        found = read_gradient(run, "never zeroed", step, "applied")
        np.testing.assert_allclose(found, held, rtol=1e-5)
        assert (step == 0) == np.array_equal(new, held)


def test_every_step_says_its_stages(run: LoggedRun):
    stages = {
        tag: {(r.step, r.stage, r.backward_pass) for r in run.records if r.tag == tag}
        for tag in TAGS
    }
    assert stages == {
        "one of 128": {(step, stage, 0) for step in range(3) for stage in ("backward", "applied")},
        "two of 64": {
            (step, *place)
            for step in range(3)
            for place in [("backward", 0), ("backward", 1), ("accumulated", 1), ("applied", 1)]
        },
        "never zeroed": {
            (step, stage, 0)
            for step in range(3)
            for stage in ("backward", "accumulated", "applied")
            if (step, stage) != (0, "accumulated")
        },
    }
