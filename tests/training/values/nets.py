"""Nets whose values are compared, and what plain torch says that their modules put out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Conv(nn.Sequential):
    """Writes in place, and ends in views."""

    def __init__(self) -> None:
        super().__init__(
            *(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Linear(36, 5)),
        )


class Cells(nn.Module):
    """Calls one module again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.LSTMCell(3, 6), nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = None
        for step in range(4):
            state = self.cell(x[:, step], state)
        return self.head(state[0])


class Attention(nn.Module):
    """Gets whole numbers, and puts out several tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.attend = nn.Embedding(11, 8), nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(8), nn.Linear(8, 11)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.embed(x)
        h = h + self.attend(h, h, h)[0]
        return self.head(self.norm(h))


class Recomputed(nn.Module):
    """Runs its first part again in the backward."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(checkpoint(self.first, x, use_reentrant=False))


class Frozen(nn.Sequential):
    """Has a part without gradient, and one weight that is used twice."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.Softmax(-1))
        self[0].requires_grad_(False)
        self[2].weight = self[0].weight


class Broken(nn.Sequential):
    """Makes NaN and infinity."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 40), nn.ReLU(), nn.Linear(40, 5))
        with torch.no_grad():
            self[0].bias[:3] = torch.tensor([torch.inf, -torch.inf, torch.nan])


NETS: dict[str, tuple[type[nn.Module], Any]] = {
    "in place": (Conv, lambda: torch.randn(6, 1, 8, 8)),
    "loop": (Cells, lambda: torch.randn(5, 4, 3)),
    "attention": (Attention, lambda: torch.randint(0, 11, (2, 7))),
    "recomputed": (Recomputed, lambda: torch.randn(5, 4)),
    "frozen": (Frozen, lambda: torch.randn(3, 4)),
    "not finite": (Broken, lambda: torch.randn(30, 4)),
    "empty": (Frozen, lambda: torch.randn(0, 4)),
    "0-d": (
        lambda: nn.Sequential(nn.Flatten(0), nn.Linear(4, 1), nn.Tanh()),
        lambda: torch.randn(4),
    ),  # type: ignore[dict-item]
}


@contextlib.contextmanager
def noted_outputs(net: nn.Module) -> Iterator[dict[tuple[str, int], torch.Tensor]]:
    """Copy what each module without children puts out first, by path and call; hooks of the user's."""
    found: dict[tuple[str, int], torch.Tensor] = {}

    def note(path: str) -> Any:
        def hook(_module: nn.Module, _inputs: Any, output: Any) -> None:
            first = output if isinstance(output, torch.Tensor) else output[0]
            if torch._C._current_graph_task_id() == -1:
                call = sum(known == path for known, _ in found)
                found[path, call] = first.detach().clone()

        return hook

    handles = [
        module.register_forward_hook(note(path))
        for path, module in net.named_modules()
        if not list(module.children())
    ]
    yield found
    for handle in handles:
        handle.remove()
