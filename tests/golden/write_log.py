"""Write a small log directory with the package of any version: ``python write_log.py DIRECTORY``.

Needs nothing but torch and the package, so it is run with old ones as it stands, from a directory whose name
may be in the log: nodes tell their source lines. ``test_logs.py`` opens what was written.
"""

from __future__ import annotations

import pathlib
import sys

import torch
from torch import nn

import tb_gradgraph

STEPS = 3
MOST_NORM = 0.5


def make_net() -> nn.Sequential:
    """Return a net whose weights are the same under every torch."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    with torch.no_grad():
        for parameter in net.parameters():
            count = parameter.numel()
            parameter.copy_(torch.linspace(-0.8, 0.7, count).reshape(parameter.shape))
    return net


def make_input() -> torch.Tensor:
    """Return two rows of input."""
    return torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def write_graphs(directory: pathlib.Path) -> None:
    """Log a model at two steps, and tensors."""
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        net = make_net()
        for step in (0, 7):
            writer.add_grad_graph(net, make_input() * (step + 1), step)
        x = torch.tensor(3.0, requires_grad=True)
        y1 = x + 1
        y2 = 2 * x
        loss = (y1 - y2) ** 2
        writer.add_grad_graph(loss, tag="tensors")
        loss.backward()


def train(directory: pathlib.Path) -> None:
    """Log a training with clipping."""
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level="op")
        for _ in range(STEPS):
            optimizer.zero_grad()
            net(make_input()).square().mean().backward()
            nn.utils.clip_grad_norm_(net.parameters(), MOST_NORM)
            optimizer.step()


def main(directory: pathlib.Path) -> None:
    """Write all that the package knows of."""
    write_graphs(directory / "graphs")
    if hasattr(tb_gradgraph.SummaryWriter, "watch"):
        train(directory / "training")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
