"""A parameter outside the model, read back from what the demo wrote; the right numbers are numpy's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.logged import LoggedRun, read_one_run, read_tensor

X = np.array([[1.0, 2.0], [3.0, -1.0]])
LR = 0.01


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("zero_grad"))


def train(zeroes_pref_vec: bool) -> Iterator[dict[str, tuple[np.ndarray, np.ndarray]]]:
    """Yield by name, of each step, what its backward gave and what ``.grad`` then is."""
    weight, pref_vec, held = np.eye(2), np.array([1.0, -1.0]), np.zeros(2)
    for _ in range(3):
        scores = X @ weight.T
        error = scores @ pref_vec  # of two samples, so the mean's 2 and 1/2 cancel
        new_weight, new = np.outer(pref_vec, error @ X), error @ scores
        held = new if zeroes_pref_vec else held + new
        yield {"weight": (new_weight, new_weight), "pref_vec": (new, held)}
        weight, pref_vec = weight - LR * new_weight, pref_vec - LR * held


@pytest.mark.parametrize("owner", ["optimizer", "model"])
def test_what_the_backward_gave_and_what_the_optimizer_used(run: LoggedRun, owner: str):
    for step, gradients in enumerate(train(zeroes_pref_vec=owner == "optimizer")):
        for index, stage in enumerate(["backward", "applied"]):
            (record,) = (
                record
                for record in run.records
                if (record.tag, record.step, record.stage) == (f"{owner}.zero_grad", step, stage)
            )
            for name, found in gradients.items():
                tensor = read_tensor(run, record, name)
                np.testing.assert_allclose(tensor.gradient, found[index], rtol=1e-5)


def test_the_record_says_where_something_was_left_in_grad(run: LoggedRun):
    more = [(r.tag, r.step) for r in run.records if r.stage == "accumulated"]
    assert more == [("model.zero_grad", 1), ("model.zero_grad", 2)]


def test_pref_vec_is_a_parameter_outside_of_every_module(run: LoggedRun):
    for graph in run.graphs.values():
        (node,) = (node for node in graph.nodes if node.name == "pref_vec")
        assert (node.kind, node.scope, node.is_leaf) == ("parameter", -1, True)
