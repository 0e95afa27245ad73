"""Models that autograd treats in different ways, small enough to check every gradient of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from tests.autograd.custom import CUSTOM
from tests.autograd.modules import MODULES, SEQUENCE, X
from tests.autograd.operations import BUILT, OPERATIONS
from tests.autograd.programs import PROGRAMS, model_of


class Doubled(torch.autograd.Function):
    """A custom Function of several operations, one of them without gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clamp(min=0) * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * 2


class TwoOutputs(torch.autograd.Function):
    """A custom Function with two outputs."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + 1, x * 3

    @staticmethod
    def backward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a + 3 * b


class Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = Doubled.apply(self.lin(x))
        first, second = TwoOutputs.apply(h)
        return (first * second).sum()


class Tied(nn.Module):
    """Embedding and output share one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(6, 4)
        self.out = nn.Linear(4, 6, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.out(self.emb(tokens)), tokens)


class Shared(nn.Module):
    """One module called three times."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = torch.relu(self.lin(x))
        return x.sum()


class Residual(nn.Module):
    """An addition in place onto a view's base."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x)
        y += self.b(y.clone())
        y[:, 0] = 2 * y[:, 1]
        return (y * y).mean()


class Chunks(nn.Module):
    """Operations of several outputs, some unused."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second, _ = self.lin(x).chunk(3, dim=1)
        top, bottom = torch.stack([first, second]).unbind(0)
        values, _ = torch.max(top * bottom, dim=1)
        return values.sum()


class Islands(nn.Module):
    """A frozen part, a detach, and operations under no_grad."""

    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Linear(3, 3).requires_grad_(False)
        self.lin = nn.Linear(3, 3)
        self.dead = nn.Linear(3, 3)
        self.register_buffer("scale", torch.tensor([0.5, 1.0, 2.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.lin(self.frozen(x)) * self.scale
        with torch.no_grad():
            mask = (self.dead(h) > 0).float()
        return (h * mask + h.detach()).sum()


class Normalised(nn.Module):
    """Buffers that the forward writes, and random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.bn = nn.BatchNorm2d(2)
        self.drop = nn.Dropout(0.5)
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.drop(torch.relu_(self.bn(self.conv(x)))).flatten(1).sum(1).mean()


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(3, 4)
        self.gru = nn.GRU(4, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = None
        outputs = []
        for step in range(x.shape[1]):
            state = self.cell(x[:, step], state)
            outputs.append(state[0])
        found, _ = self.gru(torch.stack(outputs, 1))
        return found.square().sum()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.attention(x, x, x)[0].sum()


class Mixed(nn.Module):
    """Complex, double and half precision, a 0-d parameter, an empty tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.c = nn.Parameter(torch.tensor([1 + 2j, 3 - 1j]))
        self.d = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        self.h = nn.Parameter(torch.tensor([1.5, -2.0], dtype=torch.bfloat16))
        self.e = nn.Parameter(torch.zeros(0, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        real = (self.c * self.c.conj()).real.sum()
        return real * self.d + (self.h * 3).float().sum() + self.e.sum() + x.sum()


class Sparse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(50, 3, sparse=True)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.emb(tokens).square().sum()


class Hooked(nn.Module):
    """The user's own hooks: one changes a gradient, one a module's output."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
        self.lin.bias.register_hook(lambda gradient: gradient * 10)
        self.lin.register_forward_hook(lambda module, inputs, output: output * 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.lin(x)
        h.register_hook(lambda gradient: gradient.clamp(max=0.5))
        return (h * 3).sum()


class Fields(NamedTuple):
    """An output with names."""

    first: torch.Tensor
    second: torch.Tensor


class ManyOutputs(nn.Module):
    """Nested outputs, an integer one among them; no scalar."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 2)

    def forward(self, x: torch.Tensor, *, scale: int = 1, mask: Any = None) -> Any:
        h = self.lin(x) * scale
        return {"fields": Fields(h, h.sin()), "list": [h.exp()], "index": h.argmax(), "none": mask}


@dataclasses.dataclass(frozen=True)
class Case:
    """A model, its input, and how its loss is found."""

    make: Callable[[], nn.Module]
    input: Any
    loss_fn: Callable[[Any], torch.Tensor] | None = None


def _randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def _given(given: Any) -> Any:
    shapes = {X: (2, 3), SEQUENCE: (2, 4, 3)}
    return _randn(*shapes[given]) if isinstance(given, str) else given


def _inplace() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 1))


CASES = {
    "relu in place": Case(_inplace, _randn(4, 3), torch.sum),
    "custom Functions": Case(Custom, _randn(2, 3)),
    "tied weights": Case(Tied, torch.tensor([1, 2, 3, 2])),
    "module called three times": Case(Shared, _randn(2, 3)),
    "in place on views": Case(Residual, _randn(2, 3)),
    "several outputs": Case(Chunks, _randn(2, 4)),
    "frozen, detached, no_grad": Case(Islands, _randn(2, 3)),
    "batch norm and dropout": Case(Normalised, _randn(2, 1, 5, 5)),
    "recurrent": Case(Recurrent, _randn(2, 4, 3)),
    "attention": Case(Attention, _randn(2, 3, 4)),
    "mixed types": Case(Mixed, _randn(2)),
    "sparse": Case(Sparse, torch.tensor([1, 7, 7])),
    "user's hooks": Case(Hooked, _randn(2, 3)),
    "transformer layer": Case(
        lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), _randn(2, 3, 4), torch.sum
    ),
    "many outputs": Case(ManyOutputs, {"x": _randn(2, 3), "scale": 2}),
    **{
        name: Case(model_of(program), _randn(2, 3))
        for name, program in {**PROGRAMS, **CUSTOM, **OPERATIONS}.items()
    },
    **{name: Case(make, _randn(2, 3)) for name, make in BUILT.items()},
    **{name: Case(make, _given(given)) for name, (make, given) in MODULES.items()},
}  # fmt: skip
