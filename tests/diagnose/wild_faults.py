"""Further forwards that give NaN or infinity, and sound ones with infinity, as they are met in the wild."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.forward_faults import Between, Doing, Fault, between, in_a_row
from tests.diagnose.healthy_nets import Sound, sequence, squared


class MeanSquare(nn.Module):
    """Divides by the root of the mean square, without an epsilon."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))


class Cell(nn.Module):
    """Multiplies its state by a million at each of twelve calls."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.RNNCell(4, 6, nonlinearity="relu")
        with torch.no_grad():
            self.cell.weight_hh.copy_(torch.eye(6) * 1e6)
            self.cell.bias_hh.fill_(1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = None
        for _ in range(12):
            state = self.cell(x, state)
        return state


class Gate(nn.Module):
    """Divides by what a ReLU may make zero."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(x) / F.relu(self.down(x))


class Growing(nn.Module):
    """Multiplies by 1e5 after each of twelve layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(12))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x) * 1e5
        return x


def without_direction() -> nn.Module:
    net = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    with torch.no_grad():
        net.parametrizations.weight.original1[1] = 0
    return net


def entropy(x: torch.Tensor) -> torch.Tensor:
    p = torch.softmax(x * 1e4, -1)
    return -(p * torch.log(p)).sum(-1)


def reparametrized(x: torch.Tensor) -> torch.Tensor:
    return torch.randn_like(x) * torch.exp(x * 1e3 + 200)


def of_masked_class(output: torch.Tensor) -> torch.Tensor:
    masked = output.masked_fill(torch.arange(3) == 2, -torch.inf)
    return F.cross_entropy(masked, torch.full((len(output),), 2))


NORM = "parametrizations.weight.0/weight_norm_interface"
WILD_FAULTS: dict[str, Fault] = {
    "mean square of zeros": Fault(
        in_a_row(nn.Linear(4, 5), Doing(lambda x: x * 0), MeanSquare()), "2/rsqrt", "2/rsqrt"
    ),
    "state that explodes": Fault(Cell, "cell#7/addmm", "cell#7/addmm"),
    "gate of zero": Fault(Gate, "div", "div"),
    "layers that grow": Fault(Growing, "mul.8", "mul.8"),
    "weight of no length": Fault(without_direction, NORM, NORM),
    "arc cosine": Fault(between(lambda x: torch.acos(x * 3)), "acos", "acos"),
    "root as a power": Fault(between(lambda x: (-x.abs() - 1) ** 0.5), "pow", "pow"),
    "entropy of one choice": Fault(in_a_row(nn.Linear(4, 5), Doing(entropy)), "1/log", "1/log"),
    "exponential of a variance": Fault(between(reparametrized), "exp", "exp"),
    "conversion to float16": Fault(
        lambda: Between(lambda x: (x * 1e6).half().float()), "to_copy", "to_copy"
    ),
    "wanted class masked out": Fault(
        *(lambda: nn.Linear(4, 3), "log_softmax", "log_softmax", "is masked out"),
        loss=of_masked_class,
    ),
}


class Translating(nn.Module):
    """Torch's own transformer, with a causal mask and padding."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(5)
        padded = torch.arange(5) > torch.tensor([[2], [3]])
        masks = {"tgt_mask": causal, "src_key_padding_mask": padded}
        return self.net(x, x.flip(0), memory_key_padding_mask=padded, **masks)


def best_two(x: torch.Tensor) -> torch.Tensor:
    best = x.topk(2)
    chosen = torch.full_like(x, -torch.inf).scatter(-1, best.indices, best.values)
    return torch.softmax(chosen, -1)


def filled_in_place(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.masked_fill_(torch.ones(5, 8).triu(1).bool(), -torch.inf), -1)


def added_here(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x + torch.triu(torch.full((5, 8), -torch.inf), 1), -1)


def partition(x: torch.Tensor) -> torch.Tensor:
    return torch.logsumexp(x.masked_fill(torch.arange(8) > 3, -torch.inf), -1)


WILD_SOUND: dict[str, Sound] = {
    "translation": (Translating, sequence, squared),
    **{
        name: (in_a_row(nn.Linear(8, 8), Doing(do)), sequence, squared)
        for name, do in {
            "best two": best_two,
            "mask written in place": filled_in_place,
            "mask added where it is made": added_here,
            "partition function": partition,
        }.items()
    },
    "pooling": (
        in_a_row(nn.Conv2d(1, 3, 3, padding=1), nn.MaxPool2d(3, 2, 1), nn.Flatten()),
        lambda: torch.randn(2, 1, 8, 8),
        squared,
    ),
}
