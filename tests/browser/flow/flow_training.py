"""The training that the tests of the heat map look at, and runs that are odd."""

from __future__ import annotations

import math
import pathlib

import torch
from torch import nn
from torch.nn.functional import mse_loss

import tb_gradgraph

STEPS, EVERY, EXPLODES, BREAKS = 40, 2, 20, 30


class Net(nn.Module):
    """Three layers, of which one is frozen and one is not used."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8))
        self.head, self.spare = nn.Linear(8, 1), nn.Linear(1, 1)
        self.body[0].bias.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(x))


def train(directory: pathlib.Path) -> None:
    """Train with one explosion and one step that is not finite; the loss is logged at every step."""
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=EVERY, level="op", on_finding=None)
        for step in range(STEPS):
            x = torch.randn(16, 4)
            loss = mse_loss(net(x), x.sum(1, keepdim=True))
            loss = loss * 1e6 if step == EXPLODES else loss
            loss = loss * math.inf if step == BREAKS else loss
            optimizer.zero_grad()
            loss.backward()
            if step in (EXPLODES, BREAKS):
                net.zero_grad()  # the weights stay as they are
            optimizer.step()
            writer.add_scalar("train/loss", loss.item(), step)
            writer.add_scalar("lr", 0.05, step)


def write_odd_runs(root: pathlib.Path) -> None:
    """One step, only NaN, no gradient at all."""
    with tb_gradgraph.SummaryWriter(str(root / "one")) as writer:
        writer.add_grad_graph(nn.Linear(2, 1), torch.ones(1, 2))
    with tb_gradgraph.SummaryWriter(str(root / "nan")) as writer:
        net = nn.Linear(2, 1)
        for step in range(3):
            writer.add_grad_graph(net, torch.full((1, 2), math.nan), step)
            writer.add_scalar("loss", math.nan, step)
    with tb_gradgraph.SummaryWriter(str(root / "none")) as writer:
        writer.add_grad_graph(nn.Linear(2, 1)(torch.ones(1, 2)).sum())
