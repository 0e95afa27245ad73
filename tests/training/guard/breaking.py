"""Small trainings that break at a step of their own."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.record import LoggedRun
from tests.logged import read_one_run

Loss = Callable[[int, torch.Tensor], torch.Tensor]


def small_net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def square(_step: int, y: torch.Tensor) -> torch.Tensor:
    return y.square().mean()


def root_of_zero(at: int) -> Loss:
    """Return a loss whose gradient is NaN at one step, while its value is finite."""
    return lambda step, y: torch.sqrt(y * 0).mean() if step == at else square(step, y)


def log_of_negative(at: int) -> Loss:
    """Return a loss that is NaN at one step, and so is its gradient."""

    def loss(step: int, y: torch.Tensor) -> torch.Tensor:
        return torch.log(-y.square() - 1).mean() * y.mean() if step == at else square(step, y)

    return loss


def train(
    directory: pathlib.Path,
    steps: int,
    loss_of: Loss,
    net: nn.Module | None = None,
    with_optimizer: bool = True,
    **options: Any,
) -> list[str]:
    """Train under a watch; return its warnings about the training."""
    net = small_net() if net is None else net
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with tb_gradgraph.SummaryWriter(str(directory)) as writer:
            given = {"optimizer": optimizer} if with_optimizer else {}
            watch = writer.watch(net, **given, **options)
            try:
                for step in range(steps):
                    optimizer.zero_grad()
                    loss_of(step, net(torch.randn(3, 4))).backward()
                    optimizer.step()
            finally:
                assert watch.failure is None
    return [str(one.message) for one in seen if str(one.message).startswith("tb_gradgraph, ")]


def recorded(directory: pathlib.Path) -> LoggedRun:
    return read_one_run(directory)


def steps_of(run: LoggedRun) -> list[int]:
    return sorted({record.step for record in run.records})
