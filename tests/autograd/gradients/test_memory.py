"""Nothing piles up, with Python's collector off too; nodes of several threads keep their order."""

from __future__ import annotations

import gc
import json
import threading

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests import warm


def _objects() -> int:
    return len(gc.get_objects())


@pytest.mark.parametrize("form", ["loss", "loss without backward", "model"])
def test_memory_is_flat_without_the_collector(form: str) -> None:
    """No reference cycles: with the collector off, everything is freed all the same."""
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    x = torch.ones(1, 2)

    def once() -> None:
        if form == "model":
            tb_gradgraph.capture(net, x)
            return
        loss = net(x).sum()
        tb_gradgraph.capture(loss)
        if form == "loss":
            loss.backward()

    for _ in range(5):
        once()
    gc.collect()
    gc.disable()
    try:
        before = _objects()
        for _ in range(200):
            once()
        assert _objects() - before < 200
    finally:
        gc.enable()
    assert not net[0].weight._backward_hooks


@pytest.mark.parametrize(
    "form",
    # A writer's captures are captures of models.
    [*(pytest.param(form, marks=pytest.mark.slow) for form in ("model", "loss")), "writer"],
)
def test_hundreds_of_captures_leave_nothing(form: str) -> None:
    """In a process of its own: live tensors, our objects, reference cycles, resident memory.

    Memory is the resident pages after 200 captures and after 500, with the
    collector off in between. One weight's gradient takes 256 KiB, so a leak
    would show as 75 MiB.
    """
    finished = warm.run("-m", "tests.autograd.gradients.leak_process", form, limit_s=180)
    assert finished.returncode == 0, finished.stderr
    found = json.loads(finished.stdout)
    early, late = found["200"], found["500"]
    assert late["tensors"] <= early["tensors"] and late["ours"] <= early["ours"]
    assert late["objects"] - early["objects"] < 300, "less than one object a capture"
    assert late["mib"] - early["mib"] < 20
    assert found["cycles"] == 0


def test_nodes_made_on_several_threads_are_in_forward_order() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    for _ in range(500):
        _ = w * 1  # numbers of this thread run ahead
    made = [w * 3]

    def other() -> None:
        made.append((made[0] * 5).exp())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    loss = made[1] + made[0]
    graph = tb_gradgraph.capture(loss)
    assert all(edge.source < edge.target for edge in graph.edges)
    loss.backward()
    assert graph["w"].gradient == float(w.grad)
