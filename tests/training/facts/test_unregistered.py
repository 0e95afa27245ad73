"""Facts of a watch: tensors that learn but do not belong to the model."""

from __future__ import annotations

import pathlib

import torch
from torch import nn

from tests.training.facts.test_facts_of_watch import facts_of, names


class Lists(nn.Module):
    """Layers in containers of Python."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 1)
        self.again = [self.first]  # registered too
        self.losses = [nn.MSELoss()]  # without parameters
        self.layers = [nn.Sequential(nn.Linear(1, 1))]
        self.inner = nn.Module()
        self.inner.table = {"scale": nn.Parameter(torch.ones(1))}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers[0](self.first(x)) * self.inner.table["scale"]


def test_of_layers_in_plain_lists(tmp_path: pathlib.Path):
    net = Lists()
    facts = facts_of(tmp_path, net, torch.optim.SGD(net.parameters(), 0.1))
    assert facts.unregistered == names("layers", "inner.table")


def test_of_tensors_that_need_not_be_registered(tmp_path: pathlib.Path):
    """A frozen teacher, what an optimizer has, and an input that the forward keeps."""

    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 1)
            self.teacher = [nn.Linear(3, 1).requires_grad_(False)]
            self.masters = [nn.Parameter(torch.ones(1))]
            self.delta = torch.zeros(1, requires_grad=True)
            self.prompt = torch.zeros(1, requires_grad=True)
            self.seen = torch.zeros(3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = x.clone().detach().requires_grad_()
            return self.first(self.seen) * self.masters[0] + self.delta + self.prompt

    net = Keeps()
    held = [*net.first.parameters(), *net.masters, net.delta]
    facts = facts_of(tmp_path, net, torch.optim.SGD(held, 0.1))
    assert facts.unregistered == names("prompt")
