"""Faults of what is connected: softmax twice, gradients cut off, factors of zero."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, images, waves
from tests.diagnose.battery.first_half.fit import fit
from tests.diagnose.battery.first_half.nets import MLP, ConvNet

Losses = list[float]


class Classifier(nn.Module):
    """Gives probabilities, which its loss takes for logits."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.softmax = MLP(), nn.Softmax(-1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.softmax(self.net(x))


def softmax_twice(watch: Watch) -> Losses:
    torch.manual_seed(92)
    return fit(watch, Classifier(), blobs())


class Scored(nn.Module):
    """Gives sigmoids of its scores to a cross entropy."""

    def __init__(self) -> None:
        super().__init__()
        self.net = ConvNet()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.net(x))


def sigmoid_then_softmax(watch: Watch) -> Losses:
    torch.manual_seed(93)
    return fit(watch, Scored(), images())


class Rounded(nn.Module):
    """A code that is rounded without passing the gradient on; a statistic is detached, as it may."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(10, 12), nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.encoder(x)
        scale = h.abs().amax().detach() / 7
        code = torch.round(h / scale) * scale
        return self.decoder(F.relu(code))


def rounded(watch: Watch) -> Losses:
    torch.manual_seed(94)
    return fit(watch, Rounded(), blobs())


class Quantized(nn.Module):
    """Nearest entries of a codebook; the way around the choice is written wrongly."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Conv2d(1, 4, 3), nn.Linear(4 * 64, 3)
        self.codebook = nn.Parameter(torch.randn(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.encoder(x).permute(0, 2, 3, 1)
        distances = (h.detach()[..., None, :] - self.codebook).square().sum(-1)
        nearest = self.codebook[distances.argmin(-1)]
        quantized = nearest + (h - nearest).detach()
        return self.decoder(quantized.flatten(1))


def wrong_straight_through(watch: Watch) -> Losses:
    torch.manual_seed(95)
    return fit(watch, Quantized(), images())


def all_zero(watch: Watch) -> Losses:
    torch.manual_seed(96)
    model = MLP()
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    return fit(watch, model, blobs())


class Adapted(nn.Module):
    """A low-rank addition of which both factors are zero."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 1)
        self.lora_a, self.lora_b = (
            nn.Parameter(torch.zeros(4, 16)),
            nn.Parameter(torch.zeros(16, 4)),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.gru(x)[0][:, -1]
        return self.head(h + h @ self.lora_a.t() @ self.lora_b.t())


def both_factors_zero(watch: Watch) -> Losses:
    torch.manual_seed(97)
    return fit(watch, Adapted(), waves(), F.mse_loss)


ZERO = ("zero_gradient", "zero_origin")
CUT = ("no_gradient", "zero_gradient", "zero_origin")
CASES = [
    Case("mlp: softmax twice", softmax_twice, ("softmax_twice",), ("*softmax*",), None, "mlp"),
    Case(
        "conv: sigmoid, then softmax",
        sigmoid_then_softmax,
        ("softmax_twice",),
        ("*softmax*", "sigmoid*"),
        None,
        "conv",
    ),
    Case("mlp: rounded code", rounded, CUT, ("round", "encoder*"), 0, "mlp"),
    Case(
        "conv: straight-through to the wrong side",
        wrong_straight_through,
        CUT,
        ("encoder*",),
        0,
        "conv",
    ),
    Case("mlp: all weights zero", all_zero, ZERO, ("fc1.*", "fc2.*", "head.weight"), 0, "mlp"),
    Case("gru: both factors zero", both_factors_zero, ZERO, ("lora_?",), 0, "recurrent"),
]
