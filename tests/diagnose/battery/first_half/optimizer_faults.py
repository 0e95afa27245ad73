"""Faults of who is trained, and by whom: optimizers, parameters, copies, freezing."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, curves, images, tokens
from tests.diagnose.battery.first_half.fit import STEPS, fit, of_tokens
from tests.diagnose.battery.first_half.nets import MLP, ConvNet, ViT

Losses = list[float]


class Stacked(nn.Module):
    """Its hidden layers are in a Python list."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(10, 24)
        self.layers = [nn.Linear(24, 24) for _ in range(3)]
        self.head = nn.Linear(24, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.stem(x))
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.head(x)


def plain_list(watch: Watch) -> Losses:
    torch.manual_seed(60)
    return fit(watch, Stacked(), blobs())


class Prompted(nn.Module):
    """A learned prompt that is a tensor, not a Parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt = torch.zeros(1, 1, 16, requires_grad=True)
        self.embed, self.rnn = nn.Embedding(12, 16), nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 12)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = torch.cat([self.prompt.expand(len(ids), -1, -1), self.embed(ids)], 1)
        return self.head(self.rnn(x)[0][:, 1:])


def tensor_for_parameter(watch: Watch) -> Losses:
    torch.manual_seed(61)
    return fit(watch, Prompted(), tokens(), of_tokens)


def head_replaced(watch: Watch) -> Losses:
    """The head is replaced for another task after the optimizer was made."""
    torch.manual_seed(62)
    model = ViT(classes=10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model.head = nn.Linear(16, 3)
    return fit(watch, model, images(), optimizer=optimizer)


def copied_afterwards(watch: Watch) -> None:
    torch.manual_seed(63)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model = copy.deepcopy(model)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), images()):
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def in_two_optimizers(watch: Watch) -> None:
    torch.manual_seed(65)
    model = MLP()
    adam = torch.optim.Adam(model.parameters(), lr=2e-3)
    sgd = torch.optim.SGD([*model.fc2.parameters(), *model.head.parameters()], lr=0.05)
    watch(model, optimizer=[adam, sgd])
    for _, (x, y) in zip(range(STEPS), blobs()):
        adam.zero_grad()
        F.cross_entropy(model(x), y).backward()
        adam.step()
        sgd.step()


class Distilled(nn.Module):
    """A student that follows its teacher, which is part of the module."""

    def __init__(self) -> None:
        super().__init__()
        self.student = MLP(classes=8)
        self.teacher = copy.deepcopy(self.student)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.student(x + 0.3 * torch.randn_like(x)), self.teacher(x)


def trained_teacher(watch: Watch) -> None:
    torch.manual_seed(66)
    model = Distilled()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    watch(model, optimizer=optimizer)
    for _, (x, _y) in zip(range(STEPS), blobs()):
        student, teacher = model(x)
        optimizer.zero_grad()
        F.mse_loss(student, teacher).backward()
        optimizer.step()


class TwoBranches(nn.Module):
    """Two experts that began as copies, and whose outputs are added."""

    def __init__(self) -> None:
        super().__init__()
        expert = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
        self.left, self.right = expert, copy.deepcopy(expert)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.5 * (self.left(x) + self.right(x))


def equal_experts(watch: Watch) -> Losses:
    torch.manual_seed(67)
    return fit(watch, TwoBranches(), curves(), F.mse_loss)


MISSING = ("not_optimized",)
UNREGISTERED = ("unregistered", "not_optimized")
CASES = [
    Case("mlp: layers in a Python list", plain_list, UNREGISTERED, (), None, "mlp"),
    Case(
        "gru: prompt is no Parameter",
        tensor_for_parameter,
        UNREGISTERED,
        ("*prompt*", "leaf*"),
        None,
        "recurrent",
    ),
    Case(
        "vit: head replaced",
        head_replaced,
        ("stale_optimizer", *MISSING),
        ("head.*",),
        None,
        "transformer",
    ),
    Case(
        "conv: copied after the optimizer was made",
        copied_afterwards,
        ("stale_optimizer",),
        (),
        None,
        "conv",
    ),
    Case(
        "mlp: in two optimizers",
        in_two_optimizers,
        ("optimized_twice",),
        ("fc2.*", "head.*"),
        None,
        "mlp",
    ),
    Case(
        "mlp: teacher is trained",
        trained_teacher,
        ("equal_weights",),
        ("teacher.*", "student.*"),
        None,
        "mlp",
    ),
    Case(
        "mlp: experts begin equal",
        equal_experts,
        ("equal_weights",),
        ("left.*", "right.*"),
        None,
        "mlp",
    ),
]
