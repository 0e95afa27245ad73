"""NaN and infinity that the backward makes, the optimizer's step, or what stands between the two."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, curves, images, tokens, waves
from tests.diagnose.battery.first_half.fit import STEPS, fit, of_tokens, spoilt
from tests.diagnose.battery.first_half.nets import GPT, MLP, Looped, PlainConvNet, Recurrent

Losses = list[float]


class Siamese(nn.Module):
    """The distance of two embeddings, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = MLP(classes=8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = self.encoder(x).chunk(2)
        return torch.sqrt((left - right).square().sum(-1))


def equal_pair(watch: Watch) -> Losses:
    def repeat(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x[:-1], x[len(x) // 2 - 1 :][:1]])

    def contrast(distance: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        left, right = labels.chunk(2)
        same = (left == right).float()
        return (same * distance.square() + (1 - same) * F.relu(2 - distance)).mean()

    torch.manual_seed(20)
    return fit(watch, Siamese(), spoilt(blobs(), 12, repeat, 12), contrast)


class Angle(nn.Module):
    """The angle between a direction and what is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(256, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        direction = F.normalize(self.fc(F.relu(self.conv(x)).flatten(1)), dim=-1)
        cosine = direction @ torch.eye(3)
        return torch.acos(cosine.clamp(-1, 1))


def angle_of_zero(watch: Watch) -> Losses:
    torch.manual_seed(21)
    model = Angle()

    def align(step: int) -> None:
        if step == 11:
            with torch.no_grad():
                model.fc.weight.zero_()
                model.fc.bias.copy_(torch.tensor([1.0, 0.0, 0.0]))

    return fit(watch, model, images(), lambda a, y: F.cross_entropy(-a, y), before=align)


class Amplitude(nn.Module):
    """Compresses amplitudes by a root."""

    def __init__(self) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(1, 16, batch_first=True), nn.Linear(16, 1)
        self.gain = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        loudness = (x * self.gain).abs() ** 0.5
        return self.head(self.gru(torch.cat([loudness * x.sign()], -1))[0][:, -1])


def root_of_silence(watch: Watch) -> Losses:
    def silence(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x[:1] * 0, x[1:]])

    torch.manual_seed(22)
    return fit(watch, Amplitude(), spoilt(waves(), 16, silence, 16), F.mse_loss)


class SafeLog(nn.Module):
    """Looks safe: the logarithm is taken only where it exists, by where()."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.head = nn.Linear(6, 32), nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.fc1(x).clamp(min=0)
        logarithm = torch.log(h)
        return self.head(torch.where(h > 0, logarithm.clamp(min=-3), -3.0))


def guarded_log(watch: Watch) -> Losses:
    torch.manual_seed(23)
    return fit(watch, SafeLog(), curves(), F.mse_loss)


def adam_without_epsilon(watch: Watch) -> Losses:
    torch.manual_seed(24)
    model = GPT(vocabulary=16)  # the data has twelve tokens
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=0.0)
    return fit(watch, model, tokens(), of_tokens, optimizer)


def schedule_that_divides(watch: Watch) -> Losses:
    torch.manual_seed(25)
    model = PlainConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def schedule(step: int) -> None:
        left = 20 - step
        optimizer.param_groups[0]["lr"] = 0.05 * left / left if left else float("nan")

    return fit(watch, model, images(), optimizer=optimizer, before=schedule)


def restored_broken(watch: Watch) -> Losses:
    """A checkpoint with a NaN in it is loaded while the training runs."""
    torch.manual_seed(26)
    model = Recurrent()
    state = copy.deepcopy(model.state_dict())
    state["rnn.weight_hh_l0"][3, 5] = float("nan")

    def restore(step: int) -> None:
        if step == 14:
            model.load_state_dict(state)

    return fit(watch, model, waves(), F.mse_loss, before=restore)


def mean_over_no_worker(watch: Watch) -> Losses:
    """Gradients are divided by a count that is zero once."""
    torch.manual_seed(27)
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch(model, optimizer=optimizer)
    losses = []
    for step, (x, y) in zip(range(STEPS), blobs()):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        workers = torch.tensor(0.0 if step == 17 else 2.0)
        for parameter in model.parameters():
            parameter.grad.div_(workers)
        optimizer.step()
        losses.append(loss.item())
    return losses


class Swish(torch.autograd.Function):
    """An activation with a backward by hand, which divides by its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        y = x * torch.sigmoid(x)
        return grad * (y + y / x * (1 - y))


class ByHand(nn.Module):
    """A net with that activation."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 32, bias=False)
        self.head = nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(Swish.apply(self.fc1(x)))


def backward_by_hand(watch: Watch) -> Losses:
    torch.manual_seed(28)
    zeros = spoilt(curves(), 13, lambda x: torch.cat([x[:-1], x[-1:] * 0]), 13)
    return fit(watch, ByHand(), zeros, F.mse_loss)


def state_that_overflows(watch: Watch) -> Losses:
    """A recurrent weight is set too high, and the state overflows within a sequence."""
    torch.manual_seed(29)
    model = Looped(nonlinearity="relu")

    def grow(step: int) -> None:
        if step == 15:
            with torch.no_grad():
                model.cell.weight_hh.copy_(1e3 * torch.eye(16))
                model.cell.bias_hh.fill_(1.0)

    return fit(watch, model, waves(), F.mse_loss, before=grow)


ORIGIN = ("nonfinite_origin",)
EITHER = ("nonfinite_origin", "nonfinite_value")
WEIGHT = ("nonfinite_weight",)
CASES = [
    Case("siamese: root of the distance of equals", equal_pair, ORIGIN, ("sqrt",), 12, "mlp"),
    Case("conv: angle of parallel vectors", angle_of_zero, ORIGIN, ("acos",), 11, "conv"),
    Case("gru: root of silence", root_of_silence, ORIGIN, ("pow",), 16, "recurrent"),
    Case("mlp: where() around a logarithm", guarded_log, EITHER, ("log",), 0, "mlp"),
    Case(
        "gpt: Adam without epsilon",
        adam_without_epsilon,
        WEIGHT,
        ("embed.weight",),
        1,
        "transformer",
    ),
    Case("conv: schedule gives NaN", schedule_that_divides, WEIGHT, (), 21, "conv"),
    Case(
        "lstm: broken checkpoint", restored_broken, WEIGHT, ("rnn.weight_hh_l0",), 14, "recurrent"
    ),
    Case(
        "mlp: gradients divided by zero", mean_over_no_worker, ("nonfinite", *WEIGHT), (), 17, "mlp"
    ),
    Case("mlp: backward by hand", backward_by_hand, ORIGIN, ("*Swish*",), 13, "mlp"),
    Case(
        *("rnn: state overflows", state_that_overflows, ("nonfinite_value", "exploding")),
        *(("cell*",), 15, "recurrent"),
    ),
]
