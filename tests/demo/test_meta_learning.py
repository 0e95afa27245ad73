"""MAML in small, read back from what the demo wrote."""

from __future__ import annotations

import numpy as np
import pytest

from tests.logged import LoggedRun, read_one_run, read_record, read_tensor

STEPS = range(3)
SUPPORT = np.array([[1.0, 0.0], [0.0, 2.0]])
QUERY = np.array([[1.0, 1.0], [1.0, -1.0]])
INNER_LR, OUTER_LR = 0.1, 0.05


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("meta_learning"))


def inner_gradient(w: np.ndarray) -> np.ndarray:
    return SUPPORT.T @ (SUPPORT @ w - 1)


def outer_gradient(w: np.ndarray) -> np.ndarray:
    """Differentiate by hand through the inner update, whose own derivative is I - lr*H."""
    fast = w - INNER_LR * inner_gradient(w)
    return (np.eye(2) - INNER_LR * SUPPORT.T @ SUPPORT).T @ QUERY.T @ (QUERY @ fast - 1)


def read_support_pass(run: LoggedRun, step: int, backward_pass: int) -> np.ndarray:
    (record,) = (
        record
        for record in run.records
        if (record.tag, record.step, record.backward_pass) == ("support", step, backward_pass)
    )
    return read_tensor(run, record, "w").gradient


@pytest.mark.parametrize("step", STEPS)
def test_inner_and_outer_gradient_are_two_passes_of_the_support_graph(run, step: int):
    w = read_tensor(run, read_record(run, "query", step), "w").value
    np.testing.assert_allclose(read_support_pass(run, step, 0), inner_gradient(w), atol=1e-5)
    np.testing.assert_allclose(read_support_pass(run, step, 1), outer_gradient(w), atol=1e-5)


@pytest.mark.parametrize("step", STEPS)
def test_query_graph_holds_both_orders(run, step: int):
    record = read_record(run, "query", step)
    w = read_tensor(run, record, "w")
    np.testing.assert_allclose(w.gradient, outer_gradient(w.value), atol=1e-5)
    np.testing.assert_allclose(
        read_tensor(run, record, "inner").value, inner_gradient(w.value), atol=1e-5
    )
    nodes = {node.slots[0].name: node.order for node in run.graphs[record.graph_hash].nodes}
    assert (nodes["inner"], nodes["fast_w"]) == (2, 1)


def test_outer_gradient_updates_the_weight(run):
    before, after = (read_tensor(run, read_record(run, "query", step), "w") for step in (0, 1))
    np.testing.assert_allclose(after.value, before.value - OUTER_LR * before.gradient, rtol=1e-6)
