"""The custom Function, read back from what the demo wrote."""

from __future__ import annotations

import numpy as np
import pytest

from tests.demo.run_demo import ROOT
from tests.logged import read_one_run, read_record, read_tensor

GRADIENTS = {"w": [[4.5, 4.5]], "b": [[4.5]], "Y_hat": [[-2.5], [4.5]], "loss": 1}


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("custom_function"))


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(run, name: str):
    tensor = read_tensor(run, read_record(run), name)
    np.testing.assert_array_equal(tensor.gradient, GRADIENTS[name])


def test_function_masks_what_it_clamped(run):
    record = read_record(run)
    np.testing.assert_array_equal(read_tensor(run, record, "Y_hat").value, [[0], [7]])
    np.testing.assert_array_equal(read_tensor(run, record, "add").gradient, [[0], [4.5]])


def test_node_has_the_name_of_the_class_and_says_where_that_is(run):
    node = read_tensor(run, read_record(run), "Y_hat").node
    assert node.operation == "MyReLU"
    lines = (ROOT / "demo" / "custom_function.py").read_text().splitlines()
    line = next(nr for nr, text in enumerate(lines, 1) if text.startswith("class MyReLU"))
    assert node.note.endswith(f"custom_function.py:{line}")
