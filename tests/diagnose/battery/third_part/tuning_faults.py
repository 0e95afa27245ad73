"""Faults in adapters, experts, teachers, tasks, mixed precision and optimizers."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Watch
from tests.diagnose.battery.third_part.collect import Cases, adam, fit, sgd
from tests.diagnose.battery.third_part.other_nets import Router, adapted, blobs, perceptron

CASES = Cases()


def classify(model: nn.Module) -> Tensor:
    x, labels = blobs()
    return F.cross_entropy(model(x), labels)


@CASES.add("adapters: both factors are zero", "zero_gradient zero_origin", "*lora*", 0)
def both_factors_zero(watch: Watch) -> None:
    torch.manual_seed(391)
    model = adapted()
    for layer in (model[0], model[2]):
        nn.init.zeros_(layer.lora_a)
    fit(watch, model, adam(model, 0.01), lambda step: classify(model))


@CASES.add("adapters: optimizer of the frozen part", "not_optimized", "*lora*")
def optimizer_of_frozen(watch: Watch) -> None:
    torch.manual_seed(392)
    model = adapted()
    frozen = [p for name, p in model.named_parameters() if "base" in name or name.startswith("4")]
    model[4].requires_grad_()
    optimizer = torch.optim.Adam(frozen, lr=3e-3)
    fit(watch, model, optimizer, lambda step: classify(model))


class TwoTasks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = perceptron(6, 24, 24), nn.Linear(24, 1)
        self.other = nn.Linear(24, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.body(x)
        return self.head(h)[:, 0], self.other(h)[:, 0]


@CASES.add("tasks: two targets that contradict", "loss_conflict")
def contradicting(watch: Watch) -> None:
    torch.manual_seed(393)
    model = TwoTasks()

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        y = model(x)[0]
        wanted = 2 * x[:, 0]
        return F.mse_loss(y, wanted) + F.mse_loss(y, -wanted)

    model.other.requires_grad_(False)
    fit(watch, model, adam(model), loss_of, steps=40)


@CASES.add("tasks: one in cents", "loss_imbalance", "", 0)
def task_in_cents(watch: Watch) -> None:
    torch.manual_seed(394)
    model = TwoTasks()

    def loss_of(step: int) -> Tensor:
        x, labels = blobs()
        sign, price = model(x)
        hit = F.binary_cross_entropy_with_logits(sign, (labels > 1).float())
        return hit + F.mse_loss(price, 9000 * x[:, 1])

    fit(watch, model, adam(model), loss_of)


@CASES.add("tasks: a body in two optimizers", "optimized_twice", "body*")
def body_twice(watch: Watch) -> None:
    torch.manual_seed(395)
    model = TwoTasks()
    first = torch.optim.Adam([*model.body.parameters(), *model.head.parameters()], lr=3e-3)
    second = torch.optim.SGD([*model.body.parameters(), *model.other.parameters()], lr=0.02)
    watch(model, optimizer=[first, second])
    for _ in range(30):
        x, _ = blobs()
        a, b = model(x)
        first.zero_grad()
        second.zero_grad()
        (F.mse_loss(a, x[:, 0]) + F.mse_loss(b, x[:, 1])).backward()
        first.step()
        second.step()


@CASES.add(
    "scaler: a root of zeros in every step", "nonfinite_origin scale_collapse", "*sqrt* *Sqrt*", 0
)
def root_of_zeros(watch: Watch) -> None:
    torch.manual_seed(396)
    model = perceptron(6, 24, 4)
    nn.init.zeros_(model[2].bias)
    optimizer, scaler = adam(model), torch.amp.GradScaler("cpu")
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    for _ in range(25):
        optimizer.zero_grad()
        penalty = model[2].bias.square().sum().sqrt()
        scaler.scale(classify(model) + 0.01 * penalty).backward()
        scaler.step(optimizer)
        scaler.update()


@CASES.add("scaler: every batch holds a NaN", "scale_collapse nonfinite_value", "", 0)
def nan_in_every_batch(watch: Watch) -> None:
    torch.manual_seed(397)
    model = perceptron(6, 24, 4)
    optimizer, scaler = sgd(model, 0.05), torch.amp.GradScaler("cpu")
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    for _ in range(25):
        x, labels = blobs()
        x[0, 0] = torch.nan
        optimizer.zero_grad()
        scaler.scale(F.cross_entropy(model(x), labels)).backward()
        scaler.step(optimizer)
        scaler.update()


@CASES.add("regression: a target is missing", "nonfinite_value", "*mse* *Mse* *sub*", 20)
def target_missing(watch: Watch) -> None:
    torch.manual_seed(398)
    model = perceptron(6, 24, 1)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        target = x.sum(1)
        if step == 20:
            target[9] = torch.nan
        return F.mse_loss(model(x)[:, 0], target)

    fit(watch, model, adam(model), loss_of, steps=28)


@CASES.add("regression: logarithm of a count that is 0", "nonfinite_value", "*mse* *Mse* *sub*", 13)
def log_of_count(watch: Watch) -> None:
    torch.manual_seed(399)
    model = perceptron(6, 24, 1)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        counts = x[:, :2].abs().sum(1).ceil()
        if step == 13:
            counts[0] = 0.0
        return F.mse_loss(model(x)[:, 0], counts.log())

    fit(watch, model, adam(model), loss_of, steps=20)


@CASES.add("pairs: a pair of equal ones", "nonfinite_origin", "*sqrt* *Sqrt*", 10)
def equal_pair(watch: Watch) -> None:
    torch.manual_seed(400)
    model = perceptron(6, 24, 4)

    def loss_of(step: int) -> Tensor:
        a, b = blobs()[0], blobs()[0]
        if step == 10:
            b[6] = a[6]
        distance = (model(a) - model(b)).square().sum(1).sqrt()
        return F.mse_loss(distance, (a - b).norm(dim=1))

    fit(watch, model, adam(model), loss_of, steps=16)


@CASES.add("regression: lr of 1e-8", "small_update")
def lr_too_small(watch: Watch) -> None:
    torch.manual_seed(401)
    model = perceptron(6, 24, 1)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        return F.mse_loss(model(x)[:, 0], x.sum(1))

    fit(watch, model, sgd(model, 1e-8), loss_of)


@CASES.add("regression: RMSprop at 0.5", "large_update loss_oscillating loss_rising")
def rmsprop_too_fast(watch: Watch) -> None:
    torch.manual_seed(402)
    model = perceptron(6, 24, 24, 1)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        return F.mse_loss(model(x)[:, 0], x.sum(1))

    fit(watch, model, torch.optim.RMSprop(model.parameters(), lr=0.5), loss_of, steps=40)


@CASES.add("regression: SGD beyond its stable rate", "loss_oscillating loss_rising large_update")
def sgd_unstable(watch: Watch) -> None:
    torch.manual_seed(403)
    model = nn.Linear(6, 1)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        return F.mse_loss(model(x)[:, 0], x.sum(1))

    fit(watch, model, sgd(model, 0.9), loss_of, steps=40)


@CASES.add("regression: the loss is maximized", "loss_rising")
def sign_flipped(watch: Watch) -> None:
    torch.manual_seed(404)
    model = perceptron(6, 24, 1)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        return F.mse_loss(model(x)[:, 0], x.sum(1))

    optimizer = sgd(model, 0.01, maximize=True)
    fit(watch, model, optimizer, loss_of, steps=45)


@CASES.add("regression: half of the units are dead", "dead_units", "*relu* *Relu* 0* 1*", 0)
def half_dead(watch: Watch) -> None:
    torch.manual_seed(405)
    model = perceptron(6, 32, 16, 1, act=nn.ReLU)
    with torch.no_grad():
        model[0].bias[:24] = -40.0

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        return F.mse_loss(model(x)[:, 0], x.sum(1))

    fit(watch, model, adam(model), loss_of)


@CASES.add("teacher: the student's body runs without gradients", "no_gradient", "body*")
def student_without_gradient(watch: Watch) -> None:
    torch.manual_seed(406)
    student, teacher = TwoTasks(), perceptron(6, 24, 1).requires_grad_(False)
    student.other.requires_grad_(False)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        with torch.no_grad():
            wanted = teacher(x)[:, 0]
            hidden = student.body(x)
        return F.mse_loss(student.head(hidden)[:, 0], wanted)

    fit(watch, student, adam(student), loss_of)


@CASES.add("experts: begun as copies", "equal_weights", "experts*")
def experts_copied(watch: Watch) -> None:
    torch.manual_seed(376)
    model = Router(top=4)
    nn.init.zeros_(model.gate.weight)
    nn.init.zeros_(model.gate.bias)
    for expert in model.experts:
        expert.load_state_dict(model.experts[0].state_dict())

    def loss_of(step: int) -> Tensor:
        x, labels = blobs()
        return F.cross_entropy(model(x)[0], labels)

    fit(watch, model, adam(model), loss_of)


@CASES.add("experts: one that is never chosen", "no_gradient", "experts.2*")
def expert_never_chosen(watch: Watch) -> None:
    torch.manual_seed(377)
    model = Router()
    nn.init.constant_(model.gate.bias[2:3], -1000.0)

    def loss_of(step: int) -> Tensor:
        x, labels = blobs()
        return F.cross_entropy(model(x)[0], labels)

    fit(watch, model, adam(model), loss_of, steps=50)
