"""A real training: the handwritten digits, learned by a convolutional net."""

from __future__ import annotations

import numpy as np
import pytest

from tb_gradgraph.record.read.event_file import list_event_files, read_event_file
from tests.logged import read_one_run, read_tensor


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("digits"))


@pytest.fixture(scope="module")
def scalars(demo_logdir) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    (path,) = list_event_files(demo_logdir("digits"))
    for event in read_event_file(path):
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == "scalars" or value.HasField(
                "simple_value"
            ):
                number = value.simple_value or float(value.tensor.float_val[0])
                found.setdefault(value.tag, {})[event.step] = number
    return found


def test_net_learns(scalars):
    assert max(scalars["accuracy"].values()) > 0.95
    losses = [loss for _, loss in sorted(scalars["loss"].items())]
    assert np.mean(losses[-20:]) < 0.1 * losses[0]


@pytest.fixture(scope="module")
def backwards(run):
    return [record for record in run.records if record.stage == "backward"]


def test_every_twentieth_step_is_recorded(run, backwards):
    assert [record.step for record in backwards] == list(range(0, 176, 20))
    assert len(run.graphs) == 1


def test_weights_move_by_about_a_thousandth(run):
    applied = [record for record in run.records if record.stage == "applied"]
    assert [record.step for record in applied] == list(range(0, 176, 20))
    for record in applied[1:]:
        assert 1e-4 < read_tensor(run, record, "head.weight").statistics.update_ratio < 0.1


def test_every_parameter_has_a_gradient_at_every_step(run, backwards):
    names = ("stem.0.weight", "stem.1.weight", "body.0.weight", "head.weight", "head.bias")
    for record in backwards:
        for name in names:
            tensor = read_tensor(run, record, name)
            assert tensor.statistics.l2_norm > 0
            assert tensor.statistics.nonfinite == 0


def test_gradients_shrink_as_the_loss_does(run, backwards):
    norms = [read_tensor(run, record, "head.weight").statistics.l2_norm for record in backwards]
    assert norms[-1] < 0.5 * norms[0]
