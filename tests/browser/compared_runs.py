"""Trainings that the panel compares, and their numbers in plain torch."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import mse_loss

import tb_gradgraph

STEPS, CALLS = 12, 9

#: Norm of the gradient by step and name of the parameter.
Norms = dict[int, dict[str, float]]


class Net(nn.Module):
    """A trunk and a head; the deep one has a layer more, the other a gate."""

    def __init__(self, deep: bool) -> None:
        super().__init__()
        extra = [nn.Linear(8, 8), nn.Tanh()] if deep else []
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), *extra)
        self.gate = None if deep else nn.Linear(4, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.trunk(x)
        return self.head(hidden if self.gate is None else hidden * torch.sigmoid(self.gate(x)))


class Unrolled(nn.Module):
    """A cell that is called once a time step."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.RNNCell(3, 6), nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = x.new_zeros(x.shape[1], 6)
        for part in x:
            hidden = self.cell(part, hidden)
        return self.out(hidden)


class Tied(nn.Module):
    """One weight that is used three times; ``copies`` gives each use a tensor of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 5) * 0.4)

    def forward(self, x: torch.Tensor, copies: list[torch.Tensor] | None = None) -> torch.Tensor:
        first, second, third = copies or [self.weight] * 3
        return torch.tanh(torch.tanh(x @ first) @ second) @ third


def train(deep: bool, begin: Callable[[nn.Module, torch.optim.Optimizer], object]) -> Norms:
    """Train, after ``begin`` had the chance to watch; the norms are of ``.grad`` before each step."""
    torch.manual_seed(0)
    net = Net(deep)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.3 if deep else 0.05)
    begin(net, optimizer)
    norms: Norms = {}
    for step in range(STEPS):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        norms[step] = {
            name: parameter.grad.norm().item()
            for name, parameter in net.named_parameters()
            if parameter.grad is not None
        }
        optimizer.step()
    return norms


def plain_norms(deep: bool) -> Norms:
    """Train without anything of ours."""
    return train(deep, lambda net, optimizer: None)


def watched(directory: pathlib.Path, deep: bool) -> None:
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        train(
            deep,
            lambda net, optimizer: writer.watch(
                net, optimizer=optimizer, every_n_steps=1, level="op", tag="net"
            ),
        )


def unrolled() -> tuple[Unrolled, torch.Tensor]:
    torch.manual_seed(1)
    return Unrolled(), torch.randn(CALLS, 4, 3)


def write_unrolled(directory: pathlib.Path) -> None:
    net, x = unrolled()
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        writer.watch(net, every_n_steps=1)
        net(x).square().mean().backward()


def plain_profile() -> list[float]:
    """The norm of the loss's gradient with respect to what each call of the cell gave."""
    net, x = unrolled()
    states: list[torch.Tensor] = []
    net.cell.register_forward_hook(lambda module, inputs, output: states.append(output))
    loss = net(x).square().mean()
    return [gradient.norm().item() for gradient in torch.autograd.grad(loss, states)]


def tied(step: int) -> tuple[Tied, torch.Tensor]:
    torch.manual_seed(step)
    return Tied(), torch.randn(6, 5)


def write_tied(directory: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        for step in range(4):
            net, x = tied(step)
            writer.add_grad_graph(net, x, step, loss_fn=lambda y: y.square().sum(), tag="tied")


def plain_parts(step: int) -> list[float]:
    """Each use's part of the sum of the norms, as if each had a weight of its own."""
    net, x = tied(step)
    copies = [net.weight.detach().clone().requires_grad_() for _ in range(3)]
    loss = net(x, copies).square().sum()
    norms = [gradient.norm().item() for gradient in torch.autograd.grad(loss, copies)]
    return [norm / sum(norms) for norm in norms]
