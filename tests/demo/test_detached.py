"""A pair of layers with a cut between them, read back from what the demo wrote."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.logged import read_one_run, read_record, read_tensor


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("detached"))


@pytest.mark.parametrize("name", ["A.weight", "A.bias"])
def test_parameters_behind_the_cut_say_where_it_is(run, name: str):
    tensor = read_tensor(run, read_record(run), name)
    assert tensor.statistics is None
    assert tensor.slot.requires_grad
    assert re.search(
        r"Cut off from the loss by detach \(.*detached\.py:\d+ in forward\)", tensor.node.note
    )


def test_parameters_before_it_have_gradients(run):
    record = read_record(run)
    features = read_tensor(run, record, "detach").value
    np.testing.assert_allclose(read_tensor(run, record, "B.weight").gradient, features.sum(0)[None])
    np.testing.assert_array_equal(read_tensor(run, record, "B.bias").gradient, [2])


def test_cut_is_a_node_between_the_two(run):
    graph = run.graphs[read_record(run).graph_hash]
    edges = [(graph.nodes[edge.source], graph.nodes[edge.target]) for edge in graph.edges]
    (source,) = (source for source, target in edges if target.operation == "detach")
    (user,) = (target for source, target in edges if source.operation == "detach")
    assert (source.slots[0].name, user.name) == ("features", "B/addmm")
    (cut,) = (node for node in graph.nodes if node.operation == "detach")
    assert not cut.requires_grad
