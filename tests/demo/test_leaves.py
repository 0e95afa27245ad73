"""Leaf and non-leaf, read back from what the demo wrote."""

from __future__ import annotations

import pytest

from tests.demo.run_demo import run_demo
from tests.logged import read_one_run, read_record, read_tensor

# Gradient, whether a leaf, whether the user asked to retain it.
EXPECTED = {
    "x": (4, True, False),
    "y1": (-4, False, False),
    "y2": (4, False, False),
    "loss": (1, False, True),
}


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("leaves"))


@pytest.mark.parametrize("name", EXPECTED)
def test_each_tensor_is_marked_and_has_its_gradient(run, name: str):
    tensor = read_tensor(run, read_record(run), name)
    if name == "loss":  # the root stands for it; what retains is the tensor itself
        graph = run.graphs[read_record(run).graph_hash]
        (node,) = (node for node in graph.nodes if node.operation == "PowBackward0")
        assert (node.slots[0].name, node.slots[0].retains_grad) == ("loss", True)
    else:
        assert tensor.slot.retains_grad is EXPECTED[name][2]
    assert (tensor.gradient, tensor.node.is_leaf) == EXPECTED[name][:2]
    assert tensor.slot.requires_grad


def test_nothing_is_left_in_grad_that_was_not_asked_for(tmp_path):
    printed = run_demo("leaves", tmp_path / "log")
    assert "y1.grad is None, y2.grad is None" in printed
    for name, (gradient, _, _) in EXPECTED.items():
        assert any(
            line.startswith(name) and line.endswith(f"{gradient:g}, torch's own {gradient:g}")
            for line in printed.splitlines()
        )
