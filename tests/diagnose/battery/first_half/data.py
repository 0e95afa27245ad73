"""Synthetic data that small nets can learn in a few dozen steps, without end."""

from __future__ import annotations

from collections.abc import Iterator

import torch

Batches = Iterator[tuple[torch.Tensor, torch.Tensor]]


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def blobs(n: int = 32, features: int = 10, classes: int = 4, seed: int = 0) -> Batches:
    """Yield points around one center for each class."""
    source = _generator(seed)
    centers = torch.randn(classes, features, generator=source)
    while True:
        labels = torch.randint(classes, (n,), generator=source)
        yield centers[labels] + 0.4 * torch.randn(n, features, generator=source), labels


def curves(n: int = 32, features: int = 6, seed: int = 0) -> Batches:
    """Yield points and a smooth function of them."""
    source = _generator(seed)
    direction = torch.randn(features, 1, generator=source) / features**0.5
    while True:
        x = torch.randn(n, features, generator=source)
        yield x, torch.sin(2 * x @ direction) + 0.5 * x[:, :1]


def images(n: int = 16, size: int = 10, classes: int = 3, seed: int = 0) -> Batches:
    """Yield noisy pictures of one pattern for each class, in one channel."""
    source = _generator(seed)
    patterns = torch.randn(classes, 1, size, size, generator=source)
    while True:
        labels = torch.randint(classes, (n,), generator=source)
        yield patterns[labels] + 0.5 * torch.randn(n, 1, size, size, generator=source), labels


def tokens(n: int = 12, length: int = 10, vocabulary: int = 12, seed: int = 0) -> Batches:
    """Yield sequences that count upward from a random token, and the same one token later."""
    source = _generator(seed)
    while True:
        start = torch.randint(vocabulary, (n, 1), generator=source)
        ids = (start + torch.arange(length + 1)) % vocabulary
        yield ids[:, :-1], ids[:, 1:]


def waves(n: int = 16, length: int = 20, seed: int = 0) -> Batches:
    """Yield sine waves of random phase, and their next value."""
    source = _generator(seed)
    while True:
        phase = 6.28 * torch.rand(n, 1, generator=source)
        wave = torch.sin(phase + 0.4 * torch.arange(length + 1))
        yield wave[:, :-1, None], wave[:, -1:]
