"""One graph as plain tensors and as a module, read back from what the demo wrote."""

from __future__ import annotations

import numpy as np
import pytest

from tests.logged import read_one_run, read_record, read_tensor

VALUES = {"w1": 2, "w2": 3, "w3": 4, "l1": 2, "l2": 5, "l3": 8, "l4": 40, "loss": 40}
GRADIENTS = {"w1": 28, "w2": 8, "w3": 10, "l1": 7, "l2": 2, "l3": 1.25, "l4": 0.25, "loss": 1}
OF_ALL_ELEMENTS = ("l1", "l2", "l3", "l4")
TAGS = ("tensors", "module")


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("two_drawings"))


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("name", VALUES)
def test_values_and_gradients(run, tag: str, name: str):
    if (tag, name) == ("module", "loss"):
        name = "output"
    tensor = read_tensor(run, read_record(run, tag), name)
    expected = "loss" if name == "output" else name
    shape = (2, 2) if name in OF_ALL_ELEMENTS else ()
    np.testing.assert_array_equal(tensor.value, np.full(shape, VALUES[expected]))
    np.testing.assert_array_equal(tensor.gradient, np.full(shape, GRADIENTS[expected]))


@pytest.mark.parametrize("tag", TAGS)
def test_input_is_drawn_though_it_needs_no_gradient(run, tag: str):
    tensor = read_tensor(run, read_record(run, tag), "input")
    assert not tensor.slot.requires_grad
    assert tensor.node.is_leaf
    assert tensor.statistics is None
    np.testing.assert_array_equal(tensor.value, np.ones((2, 2)))


@pytest.mark.parametrize("tag", TAGS)
def test_weights_are_leaves(run, tag: str):
    record = read_record(run, tag)
    kinds = {read_tensor(run, record, name).node.kind for name in ("w1", "w2", "w3")}
    assert kinds == {"parameter" if tag == "module" else "leaf"}
