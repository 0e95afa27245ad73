"""The loop that everybody writes, for cases whose fault or peculiarity is not in the loop."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Watch
from tests.diagnose.battery.first_half.data import Batches

Criterion = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
STEPS = 40


def of_tokens(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy over all tokens."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def fit(
    watch: Watch,
    model: nn.Module,
    batches: Batches,
    criterion: Criterion = F.cross_entropy,
    optimizer: torch.optim.Optimizer | None = None,
    steps: int = STEPS,
    before: Callable[[int], None] = lambda step: None,
) -> list[float]:
    """Train ``model``, by Adam if no optimizer is given, and return the losses."""
    optimizer = optimizer or torch.optim.Adam(model.parameters(), lr=3e-3)
    watch(model, optimizer=optimizer)
    losses = []
    for step in range(steps):
        before(step)
        inputs, targets = next(batches)
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def spoilt(
    batches: Batches, step: int, spoil: Callable[[torch.Tensor], torch.Tensor], last: int = 10**6
) -> Batches:
    """Yield the batches, the inputs of some of them spoilt: from ``step`` on, up to ``last``."""
    for number, (inputs, targets) in enumerate(batches):
        yield (spoil(inputs) if step <= number <= last else inputs), targets
