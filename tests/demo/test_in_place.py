"""Changes in place, read back from what the demo wrote."""

from __future__ import annotations

import pytest
import torch

from tests.demo.logged_texts import error_of, read_texts
from tests.logged import read_one_run, read_record


@pytest.fixture(scope="module")
def run(demo_logdir):
    return read_one_run(demo_logdir("in_place"))


def test_versions_of_one_tensor_are_two_nodes(run):
    record = read_record(run, "versions")
    graph = run.graphs[record.graph_hash]
    rows = [
        int(graph.slot_offsets[index])
        for index, node in enumerate(graph.nodes)
        if node.slots[0].name == "y"
    ]
    assert [record.values[row].tolist() for row in rows] == [[1, 2], [3, 6]]
    assert [record.gradients[row].tolist() for row in rows] == [[3, 3], [1, 1]]


def change_what_backward_needs() -> None:
    y = torch.tensor([0.0, 1.0], requires_grad=True).exp()
    loss = y.sum()
    y += 1
    loss.backward()


def change_a_leaf() -> None:
    x = torch.ones(2, requires_grad=True)
    x += 1


@pytest.mark.parametrize(
    ("tag", "change"), [("modified", change_what_backward_needs), ("leaf", change_a_leaf)]
)
def test_errors_are_torchs_own(run, demo_logdir, tag: str, change):
    assert read_texts(demo_logdir("in_place"))[tag] == error_of(change)
    assert not read_record(run, tag).table.present.any()
