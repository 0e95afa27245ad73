"""A plain training loop, and small data that can be learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.diagnose.battery.case import Watch


def fit(
    watch: Watch,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss_of: Callable[[int], Tensor],
    steps: int = 50,
    clip: float | None = None,
    schedule: Any = None,
) -> None:
    """Train as most scripts do. ``loss_of`` computes the loss of a step."""
    watch(model, optimizer=optimizer)
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if schedule is not None:
            schedule.step()


def warm_up(optimizer: torch.optim.Optimizer, steps: int) -> Any:
    """Return a schedule that begins at a small learning rate."""
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / steps))


class Pictures:
    """Noisy pictures of a few classes, 3 x 12 x 12."""

    def __init__(self, classes: int = 4, noise: float = 0.6) -> None:
        self.means = torch.randn(classes, 3, 12, 12)
        self.noise = noise

    def batch(self, size: int = 16) -> tuple[Tensor, Tensor]:
        labels = torch.randint(len(self.means), (size,))
        return self.means[labels] + self.noise * torch.randn(size, 3, 12, 12), labels

    def two_views(self, size: int = 16) -> tuple[Tensor, Tensor]:
        labels = torch.randint(len(self.means), (size,))
        first = self.means[labels] + self.noise * torch.randn(size, 3, 12, 12)
        return first, self.means[labels] + self.noise * torch.randn(size, 3, 12, 12)


class Phrases:
    """Sentences of tokens in which each token follows from the one before; 0 is padding."""

    def __init__(self, words: int = 24, length: int = 10) -> None:
        self.words, self.length = words, length
        self.follows = torch.randperm(words - 2) + 2

    def batch(self, size: int = 12) -> Tensor:
        tokens = [torch.randint(2, self.words, (size,))]
        for _ in range(self.length - 1):
            tokens.append(self.follows[tokens[-1] - 2])
        return torch.stack(tokens, 1)

    def padded(self, size: int = 12) -> tuple[Tensor, Tensor]:
        tokens = self.batch(size)
        lengths = torch.randint(self.length // 2, self.length + 1, (size,))
        padding = torch.arange(self.length) >= lengths[:, None]
        return tokens.masked_fill(padding, 0), padding
