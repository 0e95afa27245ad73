"""Case 1: an in-place operation under observation works, and is recorded."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x)
        y += self.b(y.clone())
        return y


def _relu() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 1))


@pytest.mark.parametrize("make", [_relu, Residual])
def test_training_is_bit_equal(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    model, x = make(), torch.randn(2, 3)
    twin = copy.deepcopy(model)
    tb_gradgraph.capture(model, x)
    for watched, net in ((True, model), (False, twin)):
        loss = net(x).square().sum()
        if watched:
            tb_gradgraph.capture(loss)
        loss.backward()
    for ours, plain in zip(model.parameters(), twin.parameters()):
        assert torch.equal(ours, plain) and torch.equal(ours.grad, plain.grad)


def test_gradients_at_the_relu_and_at_the_residual_add() -> None:
    torch.manual_seed(0)
    model, x = _relu(), torch.randn(2, 3)
    graph = tb_gradgraph.capture(model, x)
    h = torch.relu(model[0](x))
    (expected,) = torch.autograd.grad(model[2](h).sum(), h)
    assert graph["1/relu"].gradient.tolist() == expected.tolist()

    residual = Residual()
    graph = tb_gradgraph.capture(residual, x)
    first, second = (n for n in graph.nodes if n.slots[0].name == "y" and n.kind == "operation")
    assert (first.name, second.name) == ("a/addmm", "add")
    assert graph["add"].gradient.tolist() == torch.ones(2, 3).tolist()
    expected = torch.ones(2, 3) + torch.ones(2, 3) @ residual.b.weight
    np.testing.assert_allclose(graph["a/addmm"].gradient, expected.detach(), rtol=1e-6)
