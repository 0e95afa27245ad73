"""Case 13: two models in one run are kept apart; the same model again is a new step."""

from __future__ import annotations

import pathlib

import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.record.read.read_logdir import read_logdir


def test_two_instances_of_one_class_and_a_second_step(tmp_path: pathlib.Path) -> None:
    first, second = nn.Linear(2, 1), nn.Linear(2, 1)
    x = torch.ones(1, 2)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        one = writer.add_grad_graph(first, x)
        two = writer.add_grad_graph(second, 2 * x)
        again = writer.add_grad_graph(first, x)
        given = writer.add_grad_graph(second, x, tag="critic", global_step=7)
    assert (one.tag, two.tag, again.tag) == ("Linear", "Linear_2", "Linear")
    assert one.hash == again.hash and given.tag == "critic"
    (run,) = read_logdir(tmp_path)
    assert sorted((record.tag, record.step) for record in run.records) == [
        ("Linear", 0), ("Linear", 1), ("Linear_2", 0), ("critic", 7),
    ]  # fmt: skip
