"""The second derivative without a graph, read back from what the demo wrote."""

from __future__ import annotations

import torch

from tests.demo.logged_texts import error_of, read_texts
from tests.logged import read_one_run, read_record, read_tensor


def test_error_is_torchs_own(demo_logdir):
    x = torch.tensor(2.0, requires_grad=True)
    (dx,) = torch.autograd.grad(x * x * 3, x)
    expected = error_of(lambda: torch.autograd.grad(dx, x))
    assert read_texts(demo_logdir("without_create_graph")) == {"second derivative": expected}


def test_first_derivative_is_recorded(demo_logdir):
    run = read_one_run(demo_logdir("without_create_graph"))
    record = read_record(run)
    assert read_tensor(run, record, "x").gradient == 12
    assert {node.order for node in run.graphs[record.graph_hash].nodes} == {1}
