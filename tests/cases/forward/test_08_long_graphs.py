"""Case 8: a chain of 100,000 operations is captured and written without recursion."""

from __future__ import annotations

import pathlib

import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.record.read.read_logdir import read_logdir


class Chain(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(1))
        self.length = length

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.w
        for _ in range(self.length):
            y = y + 1
        return y.sum()


def test_a_loss_behind_a_hundred_thousand_operations(tmp_path: pathlib.Path) -> None:
    w = torch.ones(1, requires_grad=True)
    y = w
    for _ in range(100_000):
        y = y + 1
    loss = y.sum()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        graph = writer.add_grad_graph(loss)
        loss.backward()
    assert len(graph.nodes) == 100_003 and graph["w"].gradient.tolist() == [1.0]
    (run,) = read_logdir(tmp_path)
    assert len(run.graphs[graph.hash].nodes) == 100_003


def test_a_model_of_five_thousand_operations() -> None:
    graph = tb_gradgraph.capture(Chain(5000), torch.ones(1))
    assert graph["w"].gradient.tolist() == [1.0]
    assert len([node for node in graph.nodes if node.operation == "AddBackward0"]) == 5000
