"""NaN and infinity that the forward makes, at a stated step."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, curves, images, tokens, waves
from tests.diagnose.battery.first_half.fit import fit, of_tokens, spoilt
from tests.diagnose.battery.first_half.nets import GPT, MLP, ConvNet, PlainConvNet, SelfAttention

Losses = list[float]


def bad_batch(watch: Watch) -> Losses:
    def scratch(images: torch.Tensor) -> torch.Tensor:
        images = images.clone()
        images[3, 0, 4, 5] = float("nan")
        return images

    torch.manual_seed(1)
    return fit(watch, ConvNet(), spoilt(images(), 10, scratch, 10))


class Probabilities(nn.Module):
    """A language model that some tokens are forbidden to."""

    def __init__(self) -> None:
        super().__init__()
        self.gpt = GPT()
        self.forbidden = torch.zeros(12, dtype=torch.bool)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self.gpt(ids).masked_fill(self.forbidden, float("-inf"))
        return torch.softmax(logits, -1)


def log_of_zero(watch: Watch) -> Losses:
    torch.manual_seed(2)
    model = Probabilities()

    def forbid(step: int) -> None:
        model.forbidden[7] = step >= 20

    def likelihood(probabilities: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        picked = probabilities.gather(-1, targets[..., None])
        return -torch.log(picked).mean()

    return fit(watch, model, tokens(), likelihood, before=forbid)


class Padded(nn.Module):
    """Attention over sequences of which a part is padding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, 16, padding_idx=0)
        self.attn = SelfAttention(causal=False)
        self.head = nn.Linear(16, 12)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        padding = ids == 0
        return self.head(self.attn(self.embed(ids), padding))


def empty_row(watch: Watch) -> Losses:
    def empty(ids: torch.Tensor) -> torch.Tensor:
        ids = ids.clone()
        ids[2] = 0
        return ids

    torch.manual_seed(3)
    return fit(watch, Padded(), spoilt(tokens(), 15, empty, 15), of_tokens)


class Variational(nn.Module):
    """An encoder that gives mean and log variance, and a decoder of what is drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(10, 16)
        self.mean, self.logvar = nn.Linear(16, 4), nn.Linear(16, 4)
        self.decoder = nn.Linear(4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu(self.encoder(x))
        mean, logvar = self.mean(h), self.logvar(h)
        z = mean + torch.exp(0.5 * logvar) * torch.randn_like(mean)
        return self.decoder(z)


def with_itself(n: int = 32) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for x, _ in blobs(n):
        yield x, x


def outlier(watch: Watch) -> Losses:
    def multiply(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x[:1] * 1e4, x[1:]])

    torch.manual_seed(4)
    return fit(watch, Variational(), spoilt(with_itself(), 18, multiply, 18), F.mse_loss)


class RootMeanSquare(nn.Module):
    """Divides by the root of the mean square, without an epsilon."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True))


def silent_wave(watch: Watch) -> Losses:
    torch.manual_seed(5)
    model = nn.Sequential(
        *(nn.Linear(20, 32, bias=False), RootMeanSquare(), nn.Linear(32, 32), nn.Tanh()),
        nn.Linear(32, 1),
    )
    flat = ((x[..., 0], y) for x, y in waves())
    return fit(watch, model, spoilt(flat, 12, lambda x: torch.cat([x[:1] * 0, x[1:]])), F.mse_loss)


class MeanOverTime(nn.Module):
    """A GRU, and the mean of its states over the elements that a mask keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(1, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.gru(x)
        kept = (x.abs() < 5).float()
        pooled = (states * kept).sum(1) / kept.sum(1)
        return self.head(pooled)


def nothing_kept(watch: Watch) -> Losses:
    torch.manual_seed(6)
    lost = spoilt(waves(), 9, lambda x: torch.cat([x[:2], x[2:4] * 0 + 99, x[4:]]), 9)
    return fit(watch, MeanOverTime(), lost, F.mse_loss)


class Standardized(nn.Module):
    """Standardizes its features over the batch by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.head = nn.Linear(6, 32), nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.fc1(x)
        std = h.std(0)
        return self.head(torch.tanh((h - h.mean(0)) / std))


def last_batch_of_one(watch: Watch) -> Losses:
    torch.manual_seed(7)
    batches = ((x[:1], y[:1]) if n == 16 else (x, y) for n, (x, y) in enumerate(curves()))
    return fit(watch, Standardized(), batches, F.mse_loss)


class Halved(nn.Module):
    """A head that computes in float16."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head = nn.Linear(6, 32), nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = F.relu(self.fc(x)).to(torch.float16)
        return self.head(features.float())


def beyond_float16(watch: Watch) -> Losses:
    torch.manual_seed(8)
    batches = spoilt(curves(), 14, lambda x: torch.cat([x[:-1], x[-1:] * 1e6]), 14)
    return fit(watch, Halved(), batches, F.mse_loss)


def all_ignored(watch: Watch) -> Losses:
    torch.manual_seed(9)

    def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)

    batches = (
        (ids, torch.full_like(ids, -100) if n == 13 else targets)
        for n, (ids, targets) in enumerate(tokens())
    )
    return fit(watch, GPT(), batches, loss_of)


class Energy(nn.Module):
    """Computes log sum exp without subtracting the maximum."""

    def __init__(self) -> None:
        super().__init__()
        self.net = PlainConvNet()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.net(x)
        partition = torch.log(torch.exp(logits).sum(-1, keepdim=True))
        return logits - partition


def overflowing_partition(watch: Watch) -> Losses:
    torch.manual_seed(10)
    bright = spoilt(images(), 11, lambda x: torch.cat([x[:1] * 3e3, x[1:]]), 11)
    return fit(watch, Energy(), bright, F.nll_loss)


class Ratio(nn.Module):
    """Normalizes attention by hand, by a sum of what a ReLU left."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.value, self.head = nn.Linear(10, 1), nn.Linear(10, 8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bags = x.unflatten(0, (-1, 4))
        weights = F.relu(self.score(bags) + 0.5)
        shares = weights / weights.sum(1, keepdim=True)
        return self.head((shares * self.value(bags)).sum(1))


def sum_of_nothing(watch: Watch) -> Losses:
    torch.manual_seed(11)
    bags = ((x, y[::4]) for x, y in blobs(64, seed=3))

    def far(x: torch.Tensor) -> torch.Tensor:
        direction = model.score.weight.detach()
        return torch.cat([x[:-4], -30 * direction.expand(4, -1) / direction.norm()])

    model = Ratio()
    return fit(watch, model, spoilt(bags, 17, far, 17))


def constant_divisor(watch: Watch) -> Losses:
    """A temperature falls to zero."""
    torch.manual_seed(12)
    model = MLP()
    temperature = torch.ones(())

    def cool(step: int) -> None:
        temperature.fill_(max(0.0, 1 - step / 25))

    def loss_of(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(logits / temperature, labels)

    return fit(watch, model, blobs(), loss_of, before=cool)


VALUE = ("nonfinite_value",)
CASES = [
    Case("conv: NaN in a batch", bad_batch, VALUE, ("x", "images", "inputs"), 10, "conv"),
    Case("gpt: log of zero in the loss", log_of_zero, VALUE, ("log",), 20, "transformer"),
    Case("attention: row masked out", empty_row, VALUE, ("attn/softmax",), 15, "transformer"),
    Case("vae: exp of a large log variance", outlier, VALUE, ("exp",), 18, "mlp"),
    Case("mlp: root mean square of zeros", silent_wave, VALUE, ("1/rsqrt",), 12, "mlp"),
    Case("gru: mean over no element", nothing_kept, VALUE, ("div",), 9, "recurrent"),
    Case("mlp: deviation of one sample", last_batch_of_one, VALUE, ("std",), 16, "mlp"),
    Case("mlp: overflow of float16", beyond_float16, VALUE, ("to_copy",), 14, "mlp"),
    Case("gpt: every target ignored", all_ignored, VALUE, ("nll_loss*",), 13, "transformer"),
    Case("conv: log sum exp by hand", overflowing_partition, VALUE, ("exp",), 11, "conv"),
    Case("mlp: shares of nothing", sum_of_nothing, VALUE, ("div",), 17, "mlp"),
    Case("mlp: temperature of zero", constant_divisor, VALUE, ("div",), 25, "mlp"),
]
