"""A net of one weight and one bias, as a script."""

from __future__ import annotations

import numpy as np
import torch

from tb_gradgraph.record.read.event_file import list_event_files, read_event_file
from tests.logged import read_one_run, read_record, read_tensor


def test_gradients_are_those_of_the_sum_of_the_outputs(demo_logdir):
    run = read_one_run(demo_logdir("notebook_net"))
    record = read_record(run)
    torch.manual_seed(0)
    torch.randn(2, 1)  # the net's weight
    x = torch.rand(10, 2)
    w = read_tensor(run, record, "w")
    assert (w.node.kind, w.slot.shape) == ("parameter", (2, 1))
    np.testing.assert_allclose(w.gradient, x.sum(0, keepdim=True).T.numpy(), rtol=1e-6)
    np.testing.assert_array_equal(read_tensor(run, record, "b").gradient, [[10]])
    assert record.objective == "sum of the output"


def test_users_own_graph_is_in_the_same_file(demo_logdir):
    (path,) = list_event_files(demo_logdir("notebook_net"))
    events = list(read_event_file(path))
    assert sum(bool(event.graph_def) for event in events) == 1
