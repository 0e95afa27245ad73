"""A step in which two optimizers use different backward passes, with what each of them saw."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping

import torch
from torch import nn

from tb_gradgraph import SummaryWriter

STEPS = 3


def write_gan(directory: pathlib.Path) -> Mapping[tuple[int, str], float]:
    """Train two nets with two losses; give the norm of each gradient by step and parameter."""
    torch.manual_seed(0)
    gan = nn.ModuleDict({"g": nn.Linear(2, 3), "d": nn.Linear(3, 1)})
    of_d = torch.optim.SGD(gan["d"].parameters(), 0.1)
    of_g = torch.optim.SGD(gan["g"].parameters(), 0.1)
    seen: dict[tuple[int, str], float] = {}
    with SummaryWriter(str(directory)) as writer:
        writer.watch(gan, optimizer=[of_d, of_g], every_n_steps=1, level="param", tag="gan")
        for step in range(STEPS):
            fake = gan["g"](torch.randn(4, 2)).detach()
            of_d.zero_grad()
            (gan["d"](fake) - gan["d"](torch.ones(4, 3))).square().mean().backward()
            seen |= {(step, f"d.{name}"): _norm(p) for name, p in gan["d"].named_parameters()}
            of_d.step()
            of_g.zero_grad()
            gan["d"](gan["g"](torch.randn(4, 2))).square().mean().backward()
            seen |= {(step, f"g.{name}"): _norm(p) for name, p in gan["g"].named_parameters()}
            of_g.step()
    return seen


def _norm(parameter: torch.Tensor) -> float:
    return parameter.grad.double().norm().item()
