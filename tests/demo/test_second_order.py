"""The second derivative in four ways, read back from what the demo wrote."""

from __future__ import annotations

import pytest

from tests.demo.run_demo import run_demo
from tests.logged import read_one_run, read_record, read_tensor

WAYS = ["grad, grad", "grad, backward", "backward, grad", "backward, backward"]
IN_GRAD = dict(zip(WAYS, ["nothing", "6", "12", "18"]))


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("second_order"))


@pytest.mark.parametrize("way", WAYS)
def test_first_and_second_derivative_are_two_records(run, way: str):
    first, second = (read_record(run, f"{way}: {of}") for of in ("z", "dx"))
    assert read_tensor(run, first, "x").gradient == 12
    assert read_tensor(run, second, "x").gradient == 6
    assert read_tensor(run, second, "dx").value == 12


@pytest.mark.parametrize("way", WAYS)
def test_what_create_graph_made_is_of_second_order(run, way: str):
    orders = {
        of: {
            node.order
            for node in run.graphs[read_record(run, f"{way}: {of}").graph_hash].nodes
            if node.kind == "operation"
        }
        for of in ("z", "dx")
    }
    assert orders == {"z": {1}, "dx": {2}}


def test_backward_adds_to_grad_and_the_record_shows_the_parts(tmp_path):
    printed = run_demo("second_order", tmp_path / "log")
    for way, left in IN_GRAD.items():
        assert f"{way}: dz/dx 12, d2z/dx2 6; in x.grad: {left}\n" in printed
