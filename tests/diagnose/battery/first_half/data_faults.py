"""Faults of the data, of batch norm, and of how the terms of a loss are weighed."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, curves, images, tokens, waves
from tests.diagnose.battery.first_half.fit import STEPS, fit, of_tokens, spoilt
from tests.diagnose.battery.first_half.nets import GPT, MLP, ConvNet, PlainConvNet, Recurrent

Losses = list[float]


def corrupt_targets(watch: Watch) -> Losses:
    batches = ((x, y * 400 if n == 25 else y) for n, (x, y) in enumerate(curves()))
    torch.manual_seed(124)
    model = MLP(6, 32, 1)
    return fit(watch, model, batches, F.mse_loss)


def loud_batch(watch: Watch) -> Losses:
    torch.manual_seed(125)
    model = PlainConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = spoilt(images(), 32, lambda x: x * 60, 32)
    return fit(watch, model, batches, optimizer=optimizer)


def raw_pixels(watch: Watch) -> Losses:
    torch.manual_seed(126)
    batches = (((x * 40 + 128).clamp(0, 255), y) for x, y in images())
    return fit(watch, PlainConvNet(), batches)


def units_mixed(watch: Watch) -> Losses:
    """Features are in their own units: pascal, meters, dollars."""
    torch.manual_seed(127)
    units = torch.tensor([1e5, 1.0, 3e3, 0.1, 1e-3, 50.0])
    batches = ((x * units + units, y) for x, y in curves())
    return fit(watch, MLP(6, 32, 1), batches, F.mse_loss)


def constant_input(watch: Watch) -> Losses:
    """The loader returns the same picture in each place."""
    torch.manual_seed(128)
    batches = ((torch.full_like(x, 0.5), y) for x, y in images())
    return fit(watch, PlainConvNet(), batches)


def left_in_eval(watch: Watch) -> Losses:
    torch.manual_seed(129)
    model = ConvNet()
    held_out, _ = next(images(seed=5))

    def validate(step: int) -> None:
        if step == 20:
            model.eval()
            with torch.no_grad():
                model(held_out)

    return fit(watch, model, images(), before=validate)


def eval_from_the_start(watch: Watch) -> Losses:
    torch.manual_seed(130)
    return fit(watch, ConvNet().eval(), images())


class Normed(nn.Module):
    """An MLP with batch norm."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.norm, self.head = nn.Linear(10, 32), nn.BatchNorm1d(32), nn.Linear(32, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(F.relu(self.norm(self.fc1(x))))


def batches_of_two(watch: Watch) -> Losses:
    torch.manual_seed(131)
    return fit(watch, Normed(), blobs(2))


class TwoHeads(nn.Module):
    """One trunk, and a head for each of two tasks."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Linear(10, 32)
        self.labels, self.energy = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = torch.tanh(self.trunk(x))
        return self.labels(h), self.energy(h)


def unbalanced(watch: Watch) -> None:
    """The energy is in electron volts, and weighs ten thousand times as much."""
    torch.manual_seed(132)
    model = TwoHeads()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), blobs()):
        labels, energy = model(x)
        task = F.cross_entropy(labels, y)
        physics = 1e4 * F.mse_loss(energy, x.square().sum(-1, keepdim=True) / 10)
        loss = task + physics
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def conflicting(watch: Watch) -> None:
    """Two terms want opposite values of the same output."""
    torch.manual_seed(133)
    model = Recurrent()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), waves()):
        output = model(x)
        forecast = F.mse_loss(output, y + 2)
        smooth = F.mse_loss(output, y - 2)
        loss = forecast + smooth
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def rows_never_used(watch: Watch) -> Losses:
    """The tokenizer's ids are taken modulo twelve, so that most rows never occur."""
    torch.manual_seed(134)
    return fit(watch, GPT(vocabulary=400), tokens(), of_tokens)


INPUT = ("x", "inputs", "input")
BN = ("bn?*", "norm*")
CASES = [
    Case("mlp: corrupt targets", corrupt_targets, ("gradient_spike",), (), 25, "mlp"),
    Case("conv: loud batch", loud_batch, ("gradient_spike", "input_scale"), (), 32, "conv"),
    Case("conv: raw pixels", raw_pixels, ("input_scale",), INPUT, None, "conv"),
    Case("mlp: features in their own units", units_mixed, ("input_scale",), INPUT, None, "mlp"),
    Case("conv: constant input", constant_input, ("input_scale",), INPUT, None, "conv"),
    Case("conv: left in eval", left_in_eval, ("batch_norm",), BN, 20, "conv"),
    Case("conv: eval from the start", eval_from_the_start, ("batch_norm",), BN, 0, "conv"),
    Case("mlp: batch norm over two", batches_of_two, ("batch_norm",), BN, 0, "mlp"),
    Case(
        "mlp: one loss term 1e4 times the other", unbalanced, ("loss_imbalance",), (), None, "mlp"
    ),
    Case("lstm: terms in conflict", conflicting, ("loss_conflict",), (), None, "recurrent"),
    Case(
        "gpt: rows never used",
        rows_never_used,
        ("unused_rows",),
        ("embed.weight", "embed*"),
        None,
        "transformer",
    ),
]
