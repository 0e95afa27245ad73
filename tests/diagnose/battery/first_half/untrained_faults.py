"""Parts that do not learn: frozen, forgotten, cut off, or without an optimizer."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, images, tokens, waves
from tests.diagnose.battery.first_half.fit import fit, of_tokens
from tests.diagnose.battery.first_half.nets import GPT, ConvNet, Looped, Recurrent

Losses = list[float]


def part_forgotten(watch: Watch) -> Losses:
    torch.manual_seed(64)
    model = Recurrent()
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    return fit(watch, model, waves(), F.mse_loss, optimizer)


def frozen_by_mistake(watch: Watch) -> Losses:
    """The backbone was frozen for another experiment, and is random."""
    torch.manual_seed(68)
    model = ConvNet()
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith("head")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return fit(watch, model, images(), optimizer=optimizer)


class Unfinished(nn.Module):
    """A layer that the forward forgets."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.rnn = nn.Embedding(12, 16), nn.LSTM(16, 16, batch_first=True)
        self.project = nn.Linear(16, 16)
        self.head = nn.Linear(16, 12)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        states, _ = self.rnn(self.embed(ids))
        self.project(states)
        return self.head(states)


def forgotten_layer(watch: Watch) -> Losses:
    torch.manual_seed(69)
    return fit(watch, Unfinished(), tokens(), of_tokens)


class Features(nn.Module):
    """Its encoder runs without gradients, as if it were pretrained."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.norm = Looped(), nn.LayerNorm(1)
        self.head = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(len(x), 16)
        with torch.no_grad():
            for t in range(x.shape[1]):
                state = self.encoder.cell(x[:, t], state)
        return self.head(state)


def without_gradient(watch: Watch) -> Losses:
    torch.manual_seed(70)
    return fit(watch, Features(), waves(), F.mse_loss)


class Detached(nn.Module):
    """A stem that is cut off in the middle, and a harmless cut beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.block, self.head = nn.Linear(10, 16), nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu(self.stem(x))
        scale = h.detach().abs().mean() + 1e-3
        features = (h / scale).detach()
        return self.head(F.relu(self.block(features)))


def detached(watch: Watch) -> Losses:
    torch.manual_seed(71)
    return fit(watch, Detached(), blobs())


def stale_after_freeze(watch: Watch) -> Losses:
    """The optimizer has what was trainable when it was made; the body was thawed later."""
    torch.manual_seed(72)
    model = GPT()
    for parameter in model.blocks.parameters():
        parameter.requires_grad = False
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=3e-3)
    for parameter in model.blocks.parameters():
        parameter.requires_grad = True
    return fit(watch, model, tokens(), of_tokens, optimizer)


MISSING = ("not_optimized",)
NONE = ("no_gradient",)
CASES = [
    Case(
        "lstm: only the head is optimized", part_forgotten, MISSING, ("rnn.*",), None, "recurrent"
    ),
    Case(
        "conv: frozen by mistake",
        frozen_by_mistake,
        ("frozen",),
        ("conv?.*", "bn?.*"),
        None,
        "conv",
    ),
    Case(
        "lstm: layer forgotten in the forward",
        forgotten_layer,
        NONE,
        ("project.*",),
        0,
        "recurrent",
    ),
    Case(
        "rnn: encoder without gradients",
        without_gradient,
        NONE,
        ("encoder.cell.*",),
        0,
        "recurrent",
    ),
    Case("mlp: detached in the middle", detached, NONE, ("stem.*", "detach*"), 0, "mlp"),
    Case(
        "gpt: thawed after the optimizer was made",
        stale_after_freeze,
        MISSING,
        ("blocks.*",),
        None,
        "transformer",
    ),
]
