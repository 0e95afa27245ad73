"""Faults of the signal: vanishing, exploding, dead, saturated, collapsed, cut."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, curves, images, tokens, waves
from tests.diagnose.battery.first_half.fit import fit, of_tokens
from tests.diagnose.battery.first_half.nets import GPT, MLP, ConvNet, Looped, PlainConvNet

Losses = list[float]


class Deep(nn.Module):
    """Many layers of one width without a normalization."""

    def __init__(self, depth: int, activation: nn.Module, gain: float = 1.0) -> None:
        super().__init__()
        self.stem = nn.Linear(10, 24)
        self.layers = nn.ModuleList(nn.Linear(24, 24) for _ in range(depth))
        self.act, self.head = activation, nn.Linear(24, 4)
        with torch.no_grad():
            for layer in self.layers:
                layer.weight.mul_(gain)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.act(self.stem(x))
        for layer in self.layers:
            x = self.act(layer(x))
        return self.head(x)


def vanishing_sigmoids(watch: Watch) -> Losses:
    torch.manual_seed(80)
    return fit(watch, Deep(10, nn.Sigmoid()), blobs())


def exploding_layers(watch: Watch) -> Losses:
    """He's initialization, and a gain besides: a factor of two a layer."""
    torch.manual_seed(81)
    model = Deep(12, nn.ReLU(), gain=5.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    return fit(watch, model, blobs(), optimizer=optimizer)


def vanishing_along_calls(watch: Watch) -> Losses:
    torch.manual_seed(82)
    model = Looped()
    with torch.no_grad():
        model.cell.weight_hh.mul_(0.6)
    return fit(watch, model, waves(length=60), F.mse_loss, steps=30)


def exploding_along_calls(watch: Watch) -> Losses:
    torch.manual_seed(83)
    model = Looped(nonlinearity="relu")
    with torch.no_grad():
        model.cell.weight_hh.copy_(1.35 * torch.eye(16))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    return fit(watch, model, waves(length=40), F.mse_loss, optimizer, steps=30)


def partly_dead(watch: Watch) -> Losses:
    torch.manual_seed(84)
    model = MLP(hidden=48)
    with torch.no_grad():
        model.fc2.bias[:32] = -15.0
    return fit(watch, model, blobs())


def dead_channels(watch: Watch) -> Losses:
    torch.manual_seed(85)
    model = PlainConvNet(channels=12)
    with torch.no_grad():
        model.conv2.bias[:9] = -20.0
    return fit(watch, model, images())


def dead_at_once(watch: Watch) -> Losses:
    torch.manual_seed(87)
    model = ConvNet()
    with torch.no_grad():
        model.bn2.weight.fill_(0.1)
        model.bn2.bias.fill_(-3.0)
    return fit(watch, model, images())


class Tanh(nn.Module):
    """Two hidden layers of tanh, initialized from a normal distribution of deviation 1."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2, self.head = nn.Linear(6, 64), nn.Linear(64, 64), nn.Linear(64, 1)
        nn.init.normal_(self.fc1.weight, std=4.0)
        nn.init.normal_(self.fc2.weight, std=4.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.fc2(torch.tanh(self.fc1(x)))))


def saturated_tanh(watch: Watch) -> Losses:
    torch.manual_seed(88)
    return fit(watch, Tanh(), curves(), F.mse_loss)


class Gated(nn.Module):
    """A gate whose bias was set to keep it open, and holds it wide open."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.gate = nn.Conv2d(1, 8, 3), nn.Conv2d(1, 8, 3)
        self.head = nn.Linear(8 * 64, 3)
        nn.init.constant_(self.gate.bias, 25.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head((self.conv(x) * torch.sigmoid(self.gate(x))).flatten(1))


def saturated_gate(watch: Watch) -> Losses:
    torch.manual_seed(89)
    return fit(watch, Gated(), images())


def collapsed_attention(watch: Watch) -> Losses:
    """The scores are not divided, and queries and keys are large."""
    torch.manual_seed(90)
    model = GPT(depth=2)
    with torch.no_grad():
        for block in model.blocks:
            block.attn.scale = 1.0
            block.attn.query.weight.mul_(12)
            block.attn.key.weight.mul_(12)
    return fit(watch, model, tokens(), of_tokens)


def collapsed_later(watch: Watch) -> Losses:
    """A temperature is taken for its inverse from a step on."""
    torch.manual_seed(91)
    model = GPT(depth=1)

    def cool(step: int) -> None:
        if step == 15:
            model.blocks[0].attn.scale = 600.0

    return fit(watch, model, tokens(), of_tokens, before=cool)


DEAD = ("dead_units", "zero_origin")
ATTENTION = ("attention_collapsed", "saturated")
CASES = [
    Case("mlp: ten sigmoids", vanishing_sigmoids, ("vanishing",), ("stem.*", "layers.*"), 0, "mlp"),
    Case(
        "mlp: gain of two a layer",
        exploding_layers,
        ("exploding",),
        ("stem.*", "layers.*", "act*"),
        0,
        "mlp",
    ),
    Case(
        "rnn: vanishing along 60 calls",
        vanishing_along_calls,
        ("vanishing",),
        ("cell*",),
        0,
        "recurrent",
    ),
    Case(
        "rnn: exploding along 40 calls",
        exploding_along_calls,
        ("exploding",),
        ("cell*",),
        0,
        "recurrent",
    ),
    Case("mlp: two thirds of the units dead", partly_dead, DEAD, ("relu*", "fc2*"), 0, "mlp"),
    Case(
        "conv: three quarters of the channels dead",
        dead_channels,
        DEAD,
        ("relu*", "conv2*"),
        0,
        "conv",
    ),
    Case(
        "conv: dead behind a batch norm",
        dead_at_once,
        (*DEAD, "zero_gradient"),
        ("relu*", "bn2*", "conv2*"),
        0,
        "conv",
    ),
    Case("mlp: saturated tanh", saturated_tanh, ("saturated",), ("tanh*",), 0, "mlp"),
    Case("conv: saturated gate", saturated_gate, ("saturated",), ("sigmoid*",), 0, "conv"),
    Case(
        "gpt: attention at one key",
        collapsed_attention,
        ATTENTION,
        ("*softmax*",),
        0,
        "transformer",
    ),
    Case(
        "gpt: attention collapses later",
        collapsed_later,
        ATTENTION,
        ("*softmax*",),
        15,
        "transformer",
    ),
]
