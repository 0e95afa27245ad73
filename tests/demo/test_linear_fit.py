"""The linear fit, read back from what the demo wrote."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.demo.logged_texts import error_of, read_texts
from tests.logged import read_one_run, read_tensor

OPERATIONS = ["TBackward0", "MmBackward0", "AddBackward0", "SubBackward0", "PowBackward0"]
GRADIENTS = {"w": [[8, 8]], "b": [[1]], "Y_hat": [[-3.5], [4.5]], "loss": 1}
VALUES = {"w": [[3, 1]], "b": [[3]], "Y_hat": [[-1], [7]], "loss": 16.5}
PASSES = {"freed": [0], "retained": [0, 1]}


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("linear_fit"))


@pytest.mark.parametrize("tag", PASSES)
def test_every_operation_is_there_as_it_ran(run, tag: str):
    (graph,) = {record.graph_hash for record in run.records if record.tag == tag}
    operations = [node.operation for node in run.graphs[graph].nodes if node.kind == "operation"]
    assert operations == [*OPERATIONS, "MeanBackward0"]


@pytest.mark.parametrize("tag", PASSES)
def test_backward_passes_are_recorded_each_with_its_own_gradients(run, tag: str):
    records = [record for record in run.records if record.tag == tag]
    assert [record.backward_pass for record in records] == PASSES[tag]
    for record in records:
        for name, gradient in GRADIENTS.items():
            tensor = read_tensor(run, record, name)
            np.testing.assert_array_equal(tensor.gradient, gradient)
            np.testing.assert_array_equal(tensor.value, VALUES[name])


def test_error_of_the_freed_graph_is_torchs_own(demo_logdir):
    w = torch.ones(1, 2, requires_grad=True)
    loss = (w**2).mean()
    loss.backward()
    assert read_texts(demo_logdir("linear_fit")) == {"freed": error_of(loss.backward)}
