"""Two convolutions by ``autograd.grad`` and by ``backward``, read back from what the demo wrote."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.logged import read_one_run, read_record, read_tensor

TAGS = ("grad", "backward")
LR = 0.01


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("grad_or_backward"))


def read_parameters(run, tag: str, step: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return value and gradient of both kernels, the first first."""
    record = read_record(run, tag, step)
    graph = run.graphs[record.graph_hash]
    leaves = [row for row, node in _rows_of_leaves(graph)]
    return [(record.values[row], record.gradients[row]) for row in leaves]


def _rows_of_leaves(graph):
    for index, node in enumerate(graph.nodes):
        if node.is_leaf and node.requires_grad:
            yield int(graph.slot_offsets[index]), node


@pytest.mark.parametrize("tag", TAGS)
def test_gradients_are_those_of_the_chain_rule(run, tag: str):
    torch.manual_seed(0)
    kernels = [
        torch.nn.Conv2d(3, 2, 1, bias=False).weight,
        torch.nn.Conv2d(2, 1, 1, bias=False).weight,
    ]
    first, second = (kernel.detach().double().flatten(1) for kernel in kernels)
    sums = torch.arange(12.0).view(3, 4).sum(1).double()  # of each input channel
    found = read_parameters(run, tag, step=0)
    for (value, gradient), expected_value, expected in zip(
        found, (first, second), (second.T @ sums[None], (first @ sums)[None])
    ):
        np.testing.assert_allclose(value.reshape(expected.shape), expected_value, rtol=1e-6)
        np.testing.assert_allclose(gradient.reshape(expected.shape), expected, rtol=1e-4)


@pytest.mark.parametrize("step", [0, 1])
def test_both_ways_give_the_same_numbers(run, step: int):
    by_grad, by_backward = (read_parameters(run, tag, step) for tag in TAGS)
    np.testing.assert_array_equal(
        np.hstack([a.ravel() for p in by_grad for a in p]),
        np.hstack([a.ravel() for p in by_backward for a in p]),
    )
    names = [read_tensor(run, read_record(run, tag, step), "outputs") for tag in TAGS]
    assert names[0].gradient == names[1].gradient == 1


@pytest.mark.parametrize("tag", TAGS)
def test_update_is_visible_from_step_to_step(run, tag: str):
    before, after = (read_parameters(run, tag, step) for step in (0, 1))
    for (old, gradient), (new, _) in zip(before, after):
        np.testing.assert_allclose(new, old - LR * gradient, rtol=1e-6)
