"""Modules of unusual build: recurrent ones, parametrized, scripted, compiled, with odd attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations


class Rated(torch.Tensor):
    """A subclass of Tensor."""


class Subclassed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(3).as_subclass(Rated))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.as_subclass(Rated) * self.w).sum()


class Containers(nn.Module):
    """ParameterList, ParameterDict, ModuleDict, and a parameter as an output."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = nn.ParameterList([torch.ones(3), torch.zeros(3)])
        self.named = nn.ParameterDict({"scale": torch.tensor(2.0)})
        self.parts = nn.ModuleDict({"a": nn.Linear(3, 3), "b": GivesParameter()})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.parts["a"](x * self.listed[0] + self.listed[1])
        return (y * self.named["scale"] * self.parts["b"]()).sum()


class GivesParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self) -> torch.Tensor:
        return self.bias


class Recursive(nn.Module):
    """A module that calls itself."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, depth: int = 3) -> torch.Tensor:
        y = torch.tanh(self.lin(x))
        return self(y, depth - 1) if depth else y.sum()


class Stateful(nn.Module):
    """Attributes that a forward changes: a counter, a hidden state, a list, a dict, a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 3)
        self.calls = 0
        self.hidden: torch.Tensor | None = None
        self.history: list[float] = []
        self.cache: dict[str, list[int]] = {"sizes": []}
        self.register_buffer("seen", torch.zeros(1), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.hidden = self.cell(x, None if self.hidden is None else self.hidden.detach())
        self.history.append(1.0)
        self.cache["sizes"].append(len(x))
        self.seen += 1
        self.late = self.hidden.sum()
        return self.late


class Slotted(nn.Module):
    """``__slots__`` and a property beside what Module has."""

    __slots__ = ("factor",)

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.factor = 2.0

    @property
    def doubled(self) -> torch.Tensor:
        return self.lin.weight * self.factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x @ self.doubled).sum()


class SharedBuffer(nn.Module):
    """Two modules hold one buffer; both write to it."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
        self.b.running_mean = self.a.running_mean

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(x).sin()).pow(3).sum()


class SharedModule(nn.Module):
    """One submodule under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = self.first

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu()).sum()


class Arguments(nn.Module):
    """A list as one argument, None, keyword-only ones, a string."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 1)

    def forward(self, pair: list[Any], mask: Any = None, *, scale: float, mode: str) -> Any:
        y = self.lin(pair[0] + pair[1]) * scale
        return y.sum() if mask is None and mode == "sum" else y


class InPlaceInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return self.lin(x).sum()


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(7, 3, mode="sum")
        self.emb = nn.Embedding(7, 3, padding_idx=1, max_norm=1.0)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        offsets = torch.tensor([0, 2])
        weights = torch.tensor([0.5, 1.0, 2.0])
        return self.bag(tokens, offsets, weights).sum()


def lstm() -> nn.Module:
    return nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True)


def rnn_cell() -> nn.Module:
    return nn.RNNCell(3, 2)


def with_spectral_norm() -> nn.Module:
    return nn.Sequential(
        parametrizations.spectral_norm(nn.Linear(3, 3)), nn.LayerNorm(3), nn.Tanh()
    )


def with_orthogonal() -> nn.Module:
    return parametrizations.orthogonal(nn.Linear(3, 3))


def scripted() -> nn.Module:
    part = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    for _ in range(3):  # at first its operations run one by one, then as one node
        part(torch.ones(2, 3))
    return nn.Sequential(part, nn.Tanh())


def traced() -> nn.Module:
    part = nn.Sequential(nn.Linear(3, 3), nn.Sigmoid())
    return nn.Sequential(torch.jit.trace(part, torch.ones(2, 3)), nn.Linear(3, 1))


def compiled() -> nn.Module:
    part = torch.compile(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), backend="aot_eager")
    return nn.Sequential(part, nn.Linear(3, 1))


def frozen_part() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 3).requires_grad_(False), nn.ReLU(), nn.Linear(3, 1))


def evaluated() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout()).eval()


X, SEQUENCE = "x of (2, 3)", "x of (2, 4, 3)"
MODULES: dict[str, tuple[Callable[[], nn.Module], Any]] = {
    "subclass of Tensor": (Subclassed, X),
    "ParameterList and ParameterDict": (Containers, X),
    "module that calls itself": (Recursive, X),
    "attributes changed by the forward": (Stateful, X),
    "slots and properties": (Slotted, X),
    "shared buffer": (SharedBuffer, X),
    "module under two names": (SharedModule, X),
    "list, None and keywords": (
        Arguments,
        {"pair": [torch.ones(2, 3), torch.ones(3)], "scale": 2.0, "mode": "sum"},
    ),
    "input changed in place": (InPlaceInput, X),
    "embedding bag": (Bags, torch.tensor([1, 5, 5])),
    "LSTM of two layers": (lstm, SEQUENCE),
    "RNN cell": (rnn_cell, X),
    "spectral norm": (with_spectral_norm, X),
    "orthogonal": (with_orthogonal, X),
    "scripted part": (scripted, X),
    "traced part": (traced, X),
    "compiled part": (compiled, X),
    "frozen part": (frozen_part, X),
    "eval mode": (evaluated, X),
}
