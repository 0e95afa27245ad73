"""Small trainings that are recorded by the product: healthy ones, broken ones, and one with hostile names."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import torch
from torch import nn

from tb_gradgraph import SummaryWriter

STEPS = 20
#: The step from which on ``RootedNet`` gives NaN.
BAD_STEP = 12
#: What a terminal, GitHub, Markdown and HTML could obey.
HOSTILE = (
    "a|b`c<script>alert(1)</script>\x1b[31m\n::error::%25, **x** @someone [l](http://x.y)\u202e"
)


class RootedNet(nn.Module):
    """A net that takes the root of what it makes, which is negative from ``BAD_STEP`` on."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 1)
        self.offset = 40.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Predict one number for each row of ``x``."""
        hidden = torch.tanh(self.first(x))
        return self.second(torch.sqrt(hidden + self.offset))


class IdleNet(nn.Module):
    """A net with a layer that it does not use, whose name is ``HOSTILE`` if one likes."""

    def __init__(self, name: str = "idle") -> None:
        super().__init__()
        self.body = make_net()
        self.add_module(name, nn.Linear(2, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Predict one number for each row of ``x``."""
        return self.body(x)


def make_net() -> nn.Sequential:
    """Make a small net with an activation."""
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))


def train(
    logdir: pathlib.Path,
    model: nn.Module,
    *,
    tag: str = "net",
    values: bool = True,
    before: Callable[[int], None] = lambda step: None,
) -> None:
    """Fit a model to the sum of its inputs, and record every step below ``logdir``."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    draw = torch.Generator().manual_seed(1)
    with SummaryWriter(str(logdir)) as writer:
        writer.watch(
            model, optimizer=optimizer, every_n_steps=1, level="op", values=values, tag=tag
        )
        for step in range(STEPS):
            before(step)
            x = torch.randn(32, 4, generator=draw)
            loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def train_to_nan(logdir: pathlib.Path) -> None:
    """Record a training of a ``RootedNet``."""
    model = RootedNet()

    def spoil(step: int) -> None:
        model.offset = 40.0 if step < BAD_STEP else -40.0

    train(logdir, model, before=spoil)


def record_trainings(logdir: pathlib.Path) -> None:
    """Record the runs "healthy", "rooted" (an error), "idle" (a warning) and "blind" (without values)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        train(logdir / "healthy", make_net())
        train_to_nan(logdir / "rooted")
        train(logdir / "idle", IdleNet())
        train(logdir / "blind", make_net(), values=False)


def record_hostile(logdir: pathlib.Path) -> None:
    """Record a run whose own name, tag and module are hostile, with a warning."""
    run = logdir / "r|s`<img src=x onerror=alert(1)>"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        train(run, IdleNet(HOSTILE.replace(".", "-")), tag=HOSTILE)
