"""Healthy trainings of plain nets: heads, gates, weights that begin at zero, frozen parts."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, curves
from tests.diagnose.battery.first_half.fit import STEPS, fit
from tests.diagnose.battery.first_half.nets import MLP

Losses = list[float]


def plain(watch: Watch) -> Losses:
    torch.manual_seed(200)
    return fit(watch, MLP(), blobs())


def momentum(watch: Watch) -> Losses:
    torch.manual_seed(201)
    model = MLP(6, 32, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    return fit(watch, model, curves(), F.mse_loss, optimizer, steps=60)


class Dropped(nn.Module):
    """Dropout, GELU and layer norm: its first layer's bias is taken out only in part."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.norm, self.fc2 = nn.Linear(10, 48), nn.LayerNorm(48), nn.Linear(48, 48)
        self.drop, self.head = nn.Dropout(0.3), nn.Linear(48, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(F.gelu(self.norm(self.fc1(x))))
        return self.head(self.drop(F.gelu(self.fc2(x))))


def dropped(watch: Watch) -> Losses:
    torch.manual_seed(202)
    model = Dropped()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    return fit(watch, model, blobs(), optimizer=optimizer)


class ResidualBlock(nn.Module):
    """Its last layer begins at zero, so that the block begins as the identity."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 48),
            nn.Linear(48, width),
        )
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(F.silu(self.up(self.norm(x))))


def zero_residuals(watch: Watch) -> Losses:
    torch.manual_seed(203)
    model = nn.Sequential(
        nn.Linear(6, 24), *(ResidualBlock(24) for _ in range(5)), nn.Linear(24, 1)
    )
    return fit(watch, model, curves(), F.mse_loss)


class LoRA(nn.Module):
    """A frozen layer, and an addition of low rank of which one factor begins at zero."""

    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + F.linear(F.linear(x, self.lora_a), self.lora_b)


def low_rank(watch: Watch) -> Losses:
    """Adapts a net that was trained on other data."""
    torch.manual_seed(204)
    model = MLP()
    fit(lambda *_, **__: None, model, blobs(seed=9), steps=60)
    model.requires_grad_(False)
    model.fc1, model.fc2, model.head = LoRA(model.fc1), LoRA(model.fc2), LoRA(model.head)
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=1e-2)
    return fit(watch, model, blobs(), optimizer=optimizer)


def linear_probe(watch: Watch) -> Losses:
    """A pretrained body is frozen, and only the head learns."""
    torch.manual_seed(205)
    model = MLP()
    fit(lambda *_, **__: None, model, blobs(classes=4, seed=9), steps=60)
    for layer in (model.fc1, model.fc2):
        layer.requires_grad_(False)
    model.head.reset_parameters()
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    return fit(watch, model, blobs(), optimizer=optimizer)


def first_steps_of_rmsprop(watch: Watch) -> Losses:
    torch.manual_seed(206)
    model = MLP(6, 32, 1)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
    return fit(watch, model, curves(), F.mse_loss, optimizer, steps=60)


def lbfgs(watch: Watch) -> Losses:
    torch.manual_seed(207)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)
    watch(model, optimizer=optimizer)
    x, y = next(curves(64))
    losses = []

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(15):
        losses.append(float(optimizer.step(closure)))
    return losses


def mixed_optimizers(watch: Watch) -> Losses:
    """SGD with momentum for the matrices, Adam for the rest."""
    torch.manual_seed(208)
    model = MLP()
    matrices = [p for p in model.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    sgd = torch.optim.SGD(matrices, lr=0.03, momentum=0.9)
    adam = torch.optim.Adam(rest, lr=3e-3)
    watch(model, optimizer=[sgd, adam])
    losses = []
    for _, (x, y) in zip(range(STEPS), blobs()):
        sgd.zero_grad()
        adam.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        sgd.step()
        adam.step()
        losses.append(loss.item())
    return losses


class Tasks(nn.Module):
    """One trunk, and heads for labels, size and sign."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk, self.norm = nn.Linear(10, 32), nn.LayerNorm(32)
        self.label, self.size, self.sign = nn.Linear(32, 4), nn.Linear(32, 1), nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        h = F.relu(self.norm(self.trunk(x)))
        return self.label(h), self.size(h), self.sign(h)


def three_tasks(watch: Watch) -> Losses:
    torch.manual_seed(209)
    model = Tasks()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    watch(model, optimizer=optimizer)
    losses = []
    for _, (x, y) in zip(range(STEPS), blobs()):
        label, size, sign = model(x)
        loss_label = F.cross_entropy(label, y)
        loss_size = F.mse_loss(size, x.square().mean(-1, keepdim=True))
        loss_sign = F.binary_cross_entropy_with_logits(sign, (x[:, :1] > 0).float())
        loss = loss_label + 0.5 * loss_size + loss_sign
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Experts(nn.Module):
    """Four experts of which a gate picks one for each sample; some are idle at times."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(10, 4)
        self.experts = nn.ModuleList(nn.Linear(10, 4) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shares = torch.softmax(self.gate(x), -1)
        best, chosen = shares.max(-1)
        out = torch.zeros(len(x), 4)
        for number, expert in enumerate(self.experts):
            (rows,) = torch.where(chosen == number)
            if len(rows):
                out = out.index_add(0, rows, best[rows, None] * expert(x[rows]))
        return out


def experts(watch: Watch) -> Losses:
    torch.manual_seed(210)
    model = Experts()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return fit(watch, model, blobs(12), optimizer=optimizer)


class Scaled(nn.Module):
    """A learned temperature and a gate that begins at zero (ReZero)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.inner, self.head = nn.Linear(6, 24), nn.Linear(24, 24), nn.Linear(24, 1)
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.tanh(self.stem(x))
        return self.head(h + self.alpha * torch.tanh(self.inner(h)))


def gate_from_zero(watch: Watch) -> Losses:
    torch.manual_seed(211)
    optimizer = torch.optim.Adam((model := Scaled()).parameters(), lr=1e-2)
    return fit(watch, model, curves(), F.mse_loss, optimizer, steps=50)


CASES = [
    Case("mlp: Adam", plain, family="mlp"),
    Case("mlp: Nesterov's momentum", momentum, family="mlp"),
    Case("mlp: dropout and layer norm", dropped, family="mlp"),
    Case("mlp: residuals that begin at zero", zero_residuals, family="mlp"),
    Case("mlp: LoRA", low_rank, family="mlp"),
    Case("mlp: linear probe", linear_probe, family="mlp"),
    Case("mlp: RMSprop", first_steps_of_rmsprop, family="mlp"),
    Case("mlp: LBFGS", lbfgs, family="mlp"),
    Case("mlp: two optimizers", mixed_optimizers, family="mlp"),
    Case("mlp: three tasks", three_tasks, family="mlp"),
    Case("mlp: experts, some idle", experts, family="mlp"),
    Case("mlp: a gate that begins at zero", gate_from_zero, family="mlp"),
]
