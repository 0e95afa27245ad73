"""The small training that ``tb-gradgraph demo`` logs."""

from __future__ import annotations

import pathlib
from functools import partial

import torch
from torch import nn
from torch.nn.functional import mse_loss

from tb_gradgraph.api import SummaryWriter

WEIGHT = [[3.0], [1.0]]
BIAS = [[3.0]]
BATCH = 64
EVERY_N_STEPS = 10


class Net(nn.Module):
    """The line ``x @ w + b`` with trainable parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(2, 1))
        self.b = nn.Parameter(torch.randn(1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Predict one number for each row of ``x``."""
        return x @ self.w + self.b


def train(logdir: str | pathlib.Path, steps: int = 300) -> Net:
    """Fit ``Net`` to rows of ``y = 3*x0 + x1 + 3`` and log graph, values, gradients and loss.

    Writes into ``logdir``. The data and the result are the same at every call;
    torch's global random state is left as it was.

    Returns:
        The trained net, its ``w`` close to ``WEIGHT`` and its ``b`` to ``BIAS``.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return _train(pathlib.Path(logdir), steps)


def _train(logdir: pathlib.Path, steps: int) -> Net:
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    with SummaryWriter(str(logdir)) as writer:
        writer.add_graph(net, torch.rand(BATCH, 2))
        for step in range(steps):
            x = torch.randn(BATCH, 2)
            y = x @ torch.tensor(WEIGHT) + torch.tensor(BIAS)
            if step % EVERY_N_STEPS == 0:
                loss_fn = partial(mse_loss, target=y)
                writer.add_grad_graph(net, x, step, loss_fn=loss_fn, values=True)
            loss = mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("loss", loss.item(), step)
    return net
