"""Case 12: one module called many times; several forwards before one backward."""

from __future__ import annotations

import torch
from torch import nn

import tb_gradgraph


class Chain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = torch.relu(self.lin(x))
        return x.sum()


def test_three_calls_in_a_chain_and_one_parameter() -> None:
    graph = tb_gradgraph.capture(Chain(), torch.ones(1, 2))
    calls = [scope for scope in graph.scopes if scope.path == "lin"]
    assert [scope.call for scope in calls] == [0, 1, 2]
    names = [node.name for node in graph.nodes if node.operation == "AddmmBackward0"]
    assert names == ["lin/addmm", "lin#1/addmm", "lin#2/addmm"]
    assert len([node for node in graph.nodes if node.name == "lin.weight"]) == 1


def test_two_forwards_of_one_loss_and_one_without_gradient() -> None:
    lin = nn.Linear(2, 1)
    one, two, three = (torch.full((1, 2), value) for value in (1.0, 2.0, 3.0))
    first, second = lin(one), lin(two)
    with torch.no_grad():
        lin(three)
    loss = (first + second).sum()
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    assert len([node for node in graph.nodes if node.operation == "AddmmBackward0"]) == 2
    assert graph["lin.weight"].gradient.tolist() == lin.weight.grad.tolist() == [[3.0, 3.0]]
    assert len([node for node in graph.nodes if node.kind == "parameter"]) == 2
