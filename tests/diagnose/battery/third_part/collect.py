"""The loop that most trainings of the third part share, and how their cases are collected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.diagnose.battery.case import Case, Watch

Train = Callable[[Watch], Any]
LossOf = Callable[[int], Tensor]


class Cases(list[Case]):
    """Cases in the order of their functions; the family is the name's part before the colon."""

    def add(
        self, name: str, kinds: str = "", nodes: str = "", step: int | None = None
    ) -> Callable[[Train], Train]:
        """Return a decorator that adds a training; kinds and patterns of nodes are words."""

        def add(train: Train) -> Train:
            family = name.partition(":")[0]
            self.append(Case(name, train, (*kinds.split(),), (*nodes.split(),), step, family))
            return train

        return add


def fit(
    watch: Watch,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_of: LossOf,
    steps: int = 30,
    clip: float | None = None,
    schedule: Any = None,
    **options: Any,
) -> list[float]:
    """Train as most loops do, and return the loss of each step."""
    watch(model, optimizer=optimizer, **options)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if schedule is not None:
            schedule.step()
        losses.append(loss.item())
    return losses


def adam(model: nn.Module, lr: float = 3e-3, **options: Any) -> torch.optim.Optimizer:
    """Return Adam over all parameters."""
    return torch.optim.Adam(model.parameters(), lr=lr, **options)


def sgd(model: nn.Module, lr: float = 0.05, **options: Any) -> torch.optim.Optimizer:
    """Return SGD over all parameters."""
    return torch.optim.SGD(model.parameters(), lr=lr, **options)
