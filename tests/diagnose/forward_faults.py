"""Small trainings whose forward gives NaN or infinity, each with the place where torch's own values turn."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

Loss = Callable[[torch.Tensor], torch.Tensor]


class Between(nn.Module):
    """Does something of its own between two layers."""

    def __init__(self, do: Callable[[torch.Tensor], torch.Tensor], width: int = 8) -> None:
        super().__init__()
        self.first, self.do, self.last = nn.Linear(4, width), do, nn.Linear(width, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.do(self.first(x)))


class Doing(nn.Module):
    """Does it within a module."""

    def __init__(self, do: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.do = do

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.do(x)


class Attention(nn.Module):
    """Attends with a causal mask; with ``all_out`` one row is masked out entirely."""

    def __init__(self, how: str, all_out: bool) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.how, self.softmax = how, nn.Softmax(-1)
        mask = torch.ones(5, 5).triu(1).bool()
        mask[2] |= all_out
        self.register_buffer("mask", mask)
        self.register_buffer("added", torch.zeros(5, 5).masked_fill(mask, -torch.inf))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.q(x) @ self.k(x).transpose(-1, -2) / 8**0.5
        if self.how == "filled":
            scores = scores.masked_fill(self.mask, -torch.inf)
        elif self.how == "added":
            scores = scores + self.added
        elif self.how == "where":
            scores = torch.where(self.mask, -torch.inf, scores)
        else:
            scores = scores.clone()
            scores[:, self.mask] = -torch.inf
        return self.softmax(scores) @ self.v(x)


class OwnNorm(nn.Module):
    """A norm without an epsilon."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        centered = x - x.mean(-1, keepdim=True)
        return centered / centered.pow(2).mean(-1, keepdim=True).sqrt()


def dead(x: torch.Tensor) -> torch.Tensor:
    return x * 0


def between(do: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], nn.Module]:
    return lambda: Between(do)


def one_sample(x: torch.Tensor) -> torch.Tensor:
    x = x[:1]
    return (x - x.mean(0)) / (x.std(0) + 1e-5)


def with_weight(number: float) -> nn.Module:
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    with torch.no_grad():
        net[2].weight[1, 2] = number
    return net


def with_large_weights() -> nn.Module:
    net = nn.Sequential(nn.Linear(4, 6), nn.Linear(6, 3))
    with torch.no_grad():
        net[1].weight.fill_(3e4)
        net[0].bias.fill_(10.0)
    return net


def with_bad_statistics() -> nn.Module:
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3))
    net[1].running_var.fill_(torch.nan)
    net[1].eval()
    return net


def square(output: torch.Tensor) -> torch.Tensor:
    return output.float().square().mean()


def bad_input() -> torch.Tensor:
    x = torch.randn(6, 4)
    x[2, 1] = torch.nan
    return x


@dataclasses.dataclass(frozen=True)
class Fault:
    """A net, what is given to it, and the nodes that may be blamed at either level.

    Attributes:
        make: The net.
        op: The node named at level "op".
        module: The node named at level "module".
        says: A part of the text at either level.
        x: What is given to the net.
        loss: What is differentiated.
        half: Whether it runs under autocast in float16.
        kind: The kind of the finding.
    """

    make: Callable[[], nn.Module]
    op: str
    module: str
    says: str = ""
    x: Callable[[], torch.Tensor] = lambda: torch.randn(6, 4)
    loss: Loss = square
    half: bool = False
    kind: str = "nonfinite_value"


def sequence() -> torch.Tensor:
    return torch.randn(2, 5, 8)


def in_a_row(*modules: nn.Module) -> Callable[[], nn.Module]:
    return lambda: copy.deepcopy(nn.Sequential(*modules))


def masked_out(how: str) -> Fault:
    softmax = "softmax/softmax"
    return Fault(lambda: Attention(how, True), softmax, softmax, "masked out", x=sequence)


def bad_weight(number: float, count: str) -> Fault:
    kind = "nonfinite_weight"
    return Fault(lambda: with_weight(number), "2.weight", "2.weight", count, kind=kind)


def log_of_output(output: torch.Tensor) -> torch.Tensor:
    return -torch.log(output).mean()


def against_nan(output: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(output, output.detach() * torch.nan)


FAULTS: dict[str, Fault] = {
    "log of 0": Fault(between(lambda x: torch.log(dead(x))), "log", "log"),
    "log of 0 in a module": Fault(
        in_a_row(nn.Linear(4, 5), Doing(lambda x: torch.log(x * 0)), nn.Linear(5, 2)),
        *("1/log", "1/log"),
    ),
    "log of 0 in the loss": Fault(
        in_a_row(nn.Linear(4, 5), nn.ReLU()), "log", "log", loss=log_of_output
    ),
    "root of a negative": Fault(between(lambda x: torch.sqrt(-x.abs() - 1)), "sqrt", "sqrt", "NaN"),
    "0 / 0 in a norm": Fault(
        in_a_row(nn.Linear(4, 5), Doing(dead), OwnNorm(), nn.Linear(5, 2)), "2/div", "2/div"
    ),
    "0 / 0 of a length": Fault(
        between(lambda x: dead(x) / dead(x).norm(dim=-1, keepdim=True)), "div", "div"
    ),
    "overflow of exp": Fault(between(lambda x: torch.exp(x.abs() * 1e4 + 100)), "exp", "exp"),
    "overflow of float16": Fault(
        *(with_large_weights, "1/addmm", "1/addmm", "65,504"),
        half=True,
        x=lambda: torch.zeros(6, 4),
    ),
    "overflow of a square": Fault(
        *(between(lambda x: x * 1e25), "pow", "pow"),
        loss=lambda output: output.square().mean(),
    ),
    "infinite weight": bad_weight(torch.inf, "1 +inf of 18"),
    "weight that is NaN": bad_weight(torch.nan, "1 NaN of 18"),
    "input with NaN": Fault(
        *(in_a_row(nn.Linear(4, 5), nn.Linear(5, 2)), "x", "x", "1 NaN of 24"),
        x=bad_input,
    ),
    "one sample": Fault(between(one_sample), "std", "std"),
    "bad running statistics": Fault(
        *(with_bad_statistics, "1/native_batch_norm", "1/native_batch_norm", "1.running_var")
    ),
    **{f"masked out, {how}": masked_out(how) for how in ("filled", "added", "where", "written")},
    "mask that reaches the loss": Fault(
        between(lambda x: x.masked_fill(x > x.mean(), -torch.inf)), "masked_fill", "masked_fill"
    ),
    "target with NaN": Fault(in_a_row(nn.Linear(4, 5)), "mse_loss", "mse_loss", loss=against_nan),
}
