"""Healthy trainings of sequences and pictures; some do what looks like a fault."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.diagnose.battery.case import Watch
from tests.diagnose.battery.third_part.collect import Cases, adam, fit, sgd
from tests.diagnose.battery.third_part.sequence_nets import (
    TOKENS,
    Gated,
    Speller,
    StateSpace,
    Translator,
    Wave,
    counting,
    padded,
    spell,
    tones,
    translate,
    walks,
)
from tests.diagnose.battery.third_part.vision_nets import (
    ConvNext,
    SkipCoder,
    Variational,
    Vit,
    denoise,
    quadrants,
)

CASES = Cases()


def classify(model: nn.Module, rows: int = 16) -> Tensor:
    pictures, labels = quadrants(rows)
    return F.cross_entropy(model(pictures), labels)


@CASES.add("translation: sentences of different lengths")
def lengths(watch: Watch) -> list[float]:
    torch.manual_seed(501)
    model = Translator()
    return fit(watch, model, adam(model, 0.01), lambda step: translate(model, padded()), 40, 1.0)


@CASES.add("translation: plain SGD with Nesterov's momentum")
def nesterov(watch: Watch) -> list[float]:
    torch.manual_seed(502)
    model = Translator()
    optimizer = sgd(model, 0.3, momentum=0.9, nesterov=True)
    return fit(watch, model, optimizer, lambda step: translate(model, padded()), 50, 1.0)


def hear(model: Wave) -> Tensor:
    wave = tones()
    return F.cross_entropy(model(wave[:, :-1]), wave[:, 1:])


@CASES.add("wave: Adam with one cycle")
def one_cycle(watch: Watch) -> list[float]:
    torch.manual_seed(503)
    model = Wave()
    optimizer = adam(model)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.02, total_steps=50)
    return fit(watch, model, optimizer, lambda step: hear(model), 50, schedule=schedule)


@CASES.add("wave: recomputed layers")
def recomputed(watch: Watch) -> list[float]:
    torch.manual_seed(504)
    model = Wave(depth=3)

    def loss_of(step: int) -> Tensor:
        wave = tones()
        x = model.embed(wave[:, :-1]).transpose(1, 2)
        total = 0.0
        for layer in model.layers:
            x, skip = checkpoint(layer, x, use_reentrant=False)
            total = total + skip
        return F.cross_entropy(model.out(F.relu(model.post(F.relu(total)))), wave[:, 1:])

    return fit(watch, model, adam(model, 0.01), loss_of, 40)


@CASES.add("state space: sums of a sequence")
def sums(watch: Watch) -> list[float]:
    torch.manual_seed(505)
    model = StateSpace(decay=0.97)

    def loss_of(step: int) -> Tensor:
        x = torch.randn(32, 20)
        return F.mse_loss(model(x), x.mean(1) * 4)

    return fit(watch, model, adam(model, 0.02), loss_of, 40)


@CASES.add("gates: state carried over, detached")
def carried(watch: Watch) -> list[float]:
    torch.manual_seed(506)
    model = Gated()
    state = torch.zeros(16, 16)

    def loss_of(step: int) -> Tensor:
        nonlocal state
        x, labels = walks(16, 6)
        logits, state = model(x, state.detach())
        return F.cross_entropy(logits, labels)

    return fit(watch, model, adam(model, 0.02), loss_of, 60)


@CASES.add("gates: the last layer begins at zero")
def zero_out(watch: Watch) -> list[float]:
    torch.manual_seed(507)
    model = Gated()
    nn.init.zeros_(model.out.weight)
    nn.init.zeros_(model.out.bias)

    def loss_of(step: int) -> Tensor:
        x, labels = walks(32, 6)
        return F.cross_entropy(model(x)[0], labels)

    return fit(watch, model, adam(model, 0.02), loss_of, 60)


class Tied(Speller):
    def __init__(self) -> None:
        super().__init__()
        self.out.weight = self.embed.weight
        nn.init.normal_(self.embed.weight, std=0.1)


@CASES.add("speller: output tied to the embedding, cosine schedule")
def tied(watch: Watch) -> list[float]:
    torch.manual_seed(508)
    model = Tied()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 8, 0.5 + 0.5 * math.cos(math.pi * step / 50))
    )
    return fit(watch, model, optimizer, lambda step: spell(model, counting()), 50, 1.0, schedule)


class Gaps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS + 1, 16)
        self.position = nn.Parameter(0.02 * torch.randn(8, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 32, 0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)  # layers that begin equal
        self.out = nn.Linear(16, TOKENS)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(self.encoder(self.embed(tokens) + self.position))


@CASES.add("gaps: masked tokens, torch's own encoder")
def masked_tokens(watch: Watch) -> list[float]:
    torch.manual_seed(509)
    model = Gaps()

    def loss_of(step: int) -> Tensor:
        tokens = counting(32)
        hidden = torch.rand(tokens.shape) < 0.3
        wanted = tokens.masked_fill(~hidden, -100)
        logits = model(tokens.masked_fill(hidden, TOKENS))
        return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=-100)

    return fit(watch, model, adam(model, 0.01), loss_of, 60)


@CASES.add("vit: class token from zero, warm-up")
def vit_warm_up(watch: Watch) -> list[float]:
    torch.manual_seed(510)
    model = Vit()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=8)
    return fit(watch, model, optimizer, lambda step: classify(model), 40, 1.0, schedule)


@CASES.add("vit: a new head on a frozen body, then all of it")
def unfrozen(watch: Watch) -> list[float]:
    torch.manual_seed(511)
    model = Vit()
    model.requires_grad_(False)
    model.head.requires_grad_(True)
    optimizer = adam(model.head, 0.01)

    def loss_of(step: int) -> Tensor:
        if step == 15:
            body = [p for name, p in model.named_parameters() if not name.startswith("head")]
            model.requires_grad_(True)
            optimizer.add_param_group({"params": body, "lr": 3e-3})
        return classify(model, 32)

    return fit(watch, model, optimizer, loss_of, 50)


@CASES.add("convnext: scales of a millionth, layers dropped at random")
def layer_scale(watch: Watch) -> list[float]:
    torch.manual_seed(512)
    model = ConvNext(drop=0.3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.05)
    return fit(watch, model, optimizer, lambda step: classify(model), 40)


@CASES.add("convnext: mixed labels and dropout")
def mixed_labels(watch: Watch) -> list[float]:
    torch.manual_seed(513)
    model = nn.Sequential(ConvNext(scale=0.1), nn.Dropout(0.1))

    def loss_of(step: int) -> Tensor:
        pictures, labels = quadrants(32)
        share, other = float(torch.rand(()) * 0.2), torch.randperm(32)
        mixed = (1 - share) * pictures + share * pictures[other]
        wanted = F.one_hot(labels, 4) * (1 - share) + F.one_hot(labels[other], 4) * share
        return F.cross_entropy(model(mixed), wanted, label_smoothing=0.05)

    return fit(watch, model, adam(model), loss_of, 40)


@CASES.add("convnext: bfloat16 autocast")
def bfloat_autocast(watch: Watch) -> list[float]:
    torch.manual_seed(514)
    model = ConvNext(scale=0.1)

    def loss_of(step: int) -> Tensor:
        pictures, labels = quadrants()
        with torch.autocast("cpu", torch.bfloat16):
            return F.cross_entropy(model(pictures), labels)

    return fit(watch, model, adam(model), loss_of, 40)


@CASES.add("skip coder: checked in evaluation between the steps")
def checked(watch: Watch) -> list[float]:
    torch.manual_seed(515)
    model = SkipCoder()

    def loss_of(step: int) -> Tensor:
        if step % 8 == 7:
            model.eval()
            with torch.no_grad():
                denoise(model)
            model.train()
        return denoise(model)

    return fit(watch, model, adam(model, 0.01), loss_of, 40)


@CASES.add("skip coder: a pretrained part stays in evaluation")
def pretrained_part(watch: Watch) -> list[float]:
    torch.manual_seed(516)
    model = SkipCoder()
    model.down1.requires_grad_(False).eval()
    rest = [p for p in model.parameters() if p.requires_grad]
    return fit(watch, model, torch.optim.Adam(rest, 0.01), lambda step: denoise(model), 40)


@CASES.add("variational: the prior comes in slowly")
def prior_slowly(watch: Watch) -> list[float]:
    torch.manual_seed(517)
    model = Variational()

    def loss_of(step: int) -> Tensor:
        pictures, _ = quadrants(noise=0.1)
        restored, kl = model(pictures)
        return F.mse_loss(restored, pictures) + min(step / 30, 1.0) * 0.003 * kl

    return fit(watch, model, adam(model, 5e-3), loss_of, 50)
