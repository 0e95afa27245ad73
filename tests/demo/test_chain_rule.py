"""The chain rule at x = 3, read back from what the demo wrote."""

from __future__ import annotations

import pytest

from tests.logged import read_one_run, read_record, read_shares, read_tensor

EXPECTED = {"x": (3, 4), "y1": (4, -4), "y2": (6, 4), "loss": (4, 1)}


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("chain_rule"))


@pytest.mark.parametrize("name", EXPECTED)
def test_values_and_gradients(run, name: str):
    tensor = read_tensor(run, read_record(run, step=0), name)
    assert (tensor.value, tensor.gradient) == EXPECTED[name]
    assert tensor.statistics.l2_norm == abs(EXPECTED[name][1])
    assert tensor.statistics.mean == EXPECTED[name][1]


def test_each_path_into_x_has_its_own_share(run):
    shares = read_shares(run, read_record(run), "x")
    assert shares == {"y1": -4, "y2": 8}


def test_leaf_is_told_from_non_leaves(run):
    record = read_record(run)
    tensors = {name: read_tensor(run, record, name) for name in EXPECTED}
    assert {name: tensor.node.is_leaf for name, tensor in tensors.items()} == {
        "x": True,
        "y1": False,
        "y2": False,
        "loss": False,
    }
    assert all(tensor.slot.requires_grad for tensor in tensors.values())
    assert not any(tensor.slot.retains_grad for tensor in tensors.values())
    assert "chain_rule.py:12" in tensors["y1"].node.source or tensors["y1"].node.source == ""


def test_output_says_the_same_numbers(tmp_path):
    from tests.demo.run_demo import run_demo

    printed = run_demo("chain_rule", tmp_path / "log")
    for name, (value, gradient) in EXPECTED.items():
        assert f"{name:4} = {value:3g}, d loss/d {name:4} = {gradient:3g}" in printed
