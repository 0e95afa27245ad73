"""Vector outputs and several losses, read back from what the demo wrote."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.demo.logged_texts import error_of, read_texts
from tests.logged import read_one_run, read_record, read_tensor

WAYS = ("sum", "grad_tensors", "grad_outputs")


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("vector_output"))


def read_seeds(run, tag: str) -> dict[str, list]:
    """Return the gradient at each root, by name."""
    record = read_record(run, tag)
    graph = run.graphs[record.graph_hash]
    return {
        node.name: record.gradients[int(graph.slot_offsets[index])].tolist()
        for index, node in enumerate(graph.nodes)
        if node.kind == "root"
    }


@pytest.mark.parametrize("way", WAYS)
def test_every_way_gives_the_same_gradient_from_ones(run, way: str):
    np.testing.assert_array_equal(read_tensor(run, read_record(run, way), "x").gradient, [2, 4])
    assert read_seeds(run, way) == {"y": [1, 1]}


def test_weights_of_two_losses_are_shown_at_their_roots(run):
    assert read_seeds(run, "two losses") == {"squares": 0.5, "triples": 2}
    record = read_record(run, "two losses")
    np.testing.assert_array_equal(read_tensor(run, record, "x").gradient, [7, 8])


def test_error_is_torchs_own_and_no_pass_is_recorded(run, demo_logdir):
    x = torch.ones(2, requires_grad=True)
    expected = error_of(lambda: (x * x).backward())
    assert read_texts(demo_logdir("vector_output")) == {"no gradient given": expected}
    assert not read_record(run, "no gradient given").table.present.any()
