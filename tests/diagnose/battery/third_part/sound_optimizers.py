"""Healthy trainings with other loops and optimizers; some look like faults."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Watch
from tests.diagnose.battery.third_part.collect import Cases, adam, fit, sgd
from tests.diagnose.battery.third_part.other_nets import blobs, moons, perceptron

CASES = Cases()


def classify(model: nn.Module, rows: int = 32) -> Tensor:
    x, labels = blobs(rows)
    return F.cross_entropy(model(x), labels)


class Weighed(nn.Module):
    """Two tasks, each weighed by a learned uncertainty."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.kind, self.size = perceptron(6, 24, 24), nn.Linear(24, 4), nn.Linear(24, 1)
        self.log_variance = nn.Parameter(torch.zeros(2))

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        h = F.silu(self.body(x))
        losses = torch.stack(
            [F.cross_entropy(self.kind(h), labels), F.mse_loss(self.size(h)[:, 0], x.sum(1))]
        )
        return (losses * torch.exp(-self.log_variance) + self.log_variance).sum()


@CASES.add("tasks: weighed by learned uncertainty")
def weighed(watch: Watch) -> list[float]:
    torch.manual_seed(541)
    model = Weighed()
    return fit(watch, model, adam(model, 0.01), lambda step: model(*blobs()), 50)


@CASES.add("regression: L-BFGS with a line search")
def quasi_newton(watch: Watch) -> list[float]:
    torch.manual_seed(542)
    model = perceptron(6, 12, 1, act=nn.Tanh)
    x, _ = blobs(64)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")
    watch(model, optimizer=optimizer)
    losses = []

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x)[:, 0], x.prod(1) + x.sum(1))
        loss.backward()
        return loss

    for _ in range(20):
        losses.append(float(optimizer.step(closure)))
    return losses


@CASES.add("blobs: RMSprop with momentum")
def rmsprop(watch: Watch) -> list[float]:
    torch.manual_seed(543)
    model = perceptron(6, 24, 24, 4)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3, momentum=0.5)
    return fit(watch, model, optimizer, lambda step: classify(model), 40)


@CASES.add("scaler: begins too large, skips, then trains")
def scaler_skips(watch: Watch) -> list[float]:
    torch.manual_seed(544)
    model = perceptron(6, 24, 4)
    optimizer, scaler = adam(model, 0.01), torch.amp.GradScaler("cpu", init_scale=2.0**20)
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    losses = []
    for _ in range(45):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            loss = classify(model)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


@CASES.add("blobs: four parts a step")
def accumulated(watch: Watch) -> list[float]:
    torch.manual_seed(545)
    model = perceptron(6, 24, 4, act=nn.ReLU)
    optimizer = sgd(model, 0.2, momentum=0.9)
    watch(model, optimizer=optimizer)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(4):
            loss = classify(model, 8) / 4
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses.append(total)
    return losses


@CASES.add("blobs: the rate falls when the loss does not")
def plateau(watch: Watch) -> list[float]:
    torch.manual_seed(546)
    model = perceptron(6, 24, 4)
    optimizer = sgd(model, 0.5)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=3)
    watch(model, optimizer=optimizer)
    losses = []
    for _ in range(50):
        optimizer.zero_grad()
        loss = classify(model)
        loss.backward()
        optimizer.step()
        schedule.step(loss.item())
        losses.append(loss.item())
    return losses


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return torch.sign(x)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensor:
        return gradient


class Binary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(6, 32), nn.Linear(32, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(Rounded.apply(torch.tanh(self.into(x))))


@CASES.add("binary: gradients straight through the sign")
def straight_through(watch: Watch) -> list[float]:
    torch.manual_seed(547)
    model = Binary()
    return fit(watch, model, adam(model, 0.01), lambda step: classify(model), 40)


class Deep(nn.Module):
    """Two outputs on the way, both trained; a third is only for later."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 24), nn.Linear(24, 24)
        self.early, self.late, self.spare = (nn.Linear(24, 4) for _ in range(3))
        self.spare.requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.relu(self.first(x))
        return self.early(h), self.late(torch.relu(self.second(h)))


@CASES.add("deep: supervised on the way, a spare head")
def supervised_on_the_way(watch: Watch) -> list[float]:
    torch.manual_seed(548)
    model = Deep()
    trained = [p for p in model.parameters() if p.requires_grad]

    def loss_of(step: int) -> Tensor:
        x, labels = blobs()
        early, late = model(x)
        return F.cross_entropy(late, labels) + 0.3 * F.cross_entropy(early, labels)

    return fit(watch, model, torch.optim.NAdam(trained, lr=5e-3), loss_of, 40)


@CASES.add("bags: sparse gradients of an embedding")
def sparse_bags(watch: Watch) -> list[float]:
    torch.manual_seed(549)
    model = nn.ModuleDict(
        {"bag": nn.EmbeddingBag(20, 12, sparse=True), "out": nn.Linear(12, 2)},
    )

    def loss_of(step: int) -> Tensor:
        words = torch.randint(0, 20, (32, 5))
        labels = ((words < 10).sum(1) > 2).long()
        return F.cross_entropy(model["out"](model["bag"](words)), labels)

    return fit(watch, model, sgd(model, 1.0), loss_of, 60)


@CASES.add("moons: a wide net with weights normed by torch")
def weight_norm(watch: Watch) -> list[float]:
    torch.manual_seed(550)
    hidden = torch.nn.utils.parametrizations.weight_norm(nn.Linear(32, 32))
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), hidden, nn.Tanh(), nn.Linear(32, 2))

    def loss_of(step: int) -> Tensor:
        points, side = moons()
        return F.cross_entropy(model(points), side)

    return fit(watch, model, adam(model, 0.01), loss_of, 40)


@CASES.add("blobs: self-normalizing units, alpha dropout, Adagrad")
def self_normalizing(watch: Watch) -> list[float]:
    torch.manual_seed(551)
    model = nn.Sequential(
        *(nn.Linear(6, 24), nn.SELU(), nn.AlphaDropout(0.05), nn.Linear(24, 24), nn.SELU()),
        nn.Linear(24, 4),
    )
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    return fit(watch, model, optimizer, lambda step: classify(model), 40)


@CASES.add("blobs: memorized to a loss of nearly zero")
def memorized(watch: Watch) -> list[float]:
    torch.manual_seed(552)
    model = perceptron(6, 32, 4, act=nn.ReLU)
    x, labels = blobs(16)
    return fit(watch, model, adam(model, 0.05), lambda step: F.cross_entropy(model(x), labels), 60)
