"""Faults in trainings on graphs, clouds, densities and fields."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import fit
from tests.diagnose.battery.second_half.nets_of_points import (
    Field,
    Flow,
    GraphNet,
    Mixture,
    PointNet,
    TableNet,
    arcs,
    clouds,
    communities,
    rows,
)


def node_without_neighbours(watch: Watch) -> None:
    torch.manual_seed(61)
    model = GraphNet()

    def loss_of(step: int) -> Tensor:
        features, edges, labels = communities()
        if step == 17:
            edges[7], edges[:, 7] = 0, 0
        return F.cross_entropy(model(features, edges), labels)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-2), loss_of, steps=25)


def likelihood_of_an_outlier(watch: Watch) -> None:
    torch.manual_seed(62)
    model = Mixture()

    def loss_of(step: int) -> Tensor:
        x, y = arcs()
        if step == 30:
            y[11] = 900.0  # a missing value, written as 900
        weights, means, widths = model(x)
        density = torch.exp(-0.5 * ((y - means) / widths) ** 2) / (widths * math.sqrt(2 * math.pi))
        likelihood = (weights.softmax(1) * density).sum(1)
        return -torch.log(likelihood).mean()

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=5e-3), loss_of, steps=40)


def rate_that_kills_units(watch: Watch) -> None:
    torch.manual_seed(63)
    model = PointNet()
    with torch.no_grad():
        model.local[2].bias -= 8.0  # as after one step that was far too large

    def loss_of(step: int) -> Tensor:
        points, labels = clouds()
        return F.cross_entropy(model(points), labels)

    fit(watch, model, torch.optim.SGD(model.parameters(), lr=0.02), loss_of)


def some_units_dead(watch: Watch) -> None:
    torch.manual_seed(64)
    model = PointNet(width=40)
    with torch.no_grad():
        model.whole[0].bias[:28] = -30.0

    def loss_of(step: int) -> Tensor:
        points, labels = clouds()
        return F.cross_entropy(model(points), labels)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=2e-3), loss_of)


def infinite_gradient_under_a_scaler(watch: Watch) -> None:
    torch.manual_seed(65)
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    for _ in range(40):
        x = torch.randn(32, 4) @ torch.tensor([[1.0, 0.5, 0, 0]] * 2 + [[0, 0, 2.0, 0.3]] * 2)
        shift = model.couplings[0].net(torch.zeros(1, 2))
        smoothness = (shift - shift.detach()).abs().sqrt().sum()
        optimizer.zero_grad()
        loss = model(x + 0.1 * torch.randn(32, 4)) + 1e-3 * smoothness
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def column_in_currency(watch: Watch) -> None:
    torch.manual_seed(66)
    model = TableNet(norm=False)

    def loss_of(step: int) -> Tensor:
        numbers, kinds, target = rows()
        numbers[:, 3] = 52_000 + 18_000 * numbers[:, 3]
        return F.mse_loss(model(numbers, kinds), target)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of)


def batches_of_two(watch: Watch) -> None:
    torch.manual_seed(67)
    model = TableNet()

    def loss_of(step: int) -> Tensor:
        numbers, kinds, target = rows(2)
        return F.mse_loss(model(numbers, kinds), target)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, steps=60)


def boundary_far_too_heavy(watch: Watch) -> None:
    torch.manual_seed(68)
    model = Field(inputs=1, omega=3.0)

    def loss_of(step: int) -> Tensor:
        x = torch.rand(32, 1, requires_grad=True)
        u = model(x)
        slope = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        residual = (slope - torch.cos(3 * x)).square().mean()
        boundary = (model(torch.zeros(1, 1)) - 1).square().mean()
        return residual + 1e6 * boundary

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of)


def output_clamped_to_a_range(watch: Watch) -> None:
    torch.manual_seed(69)
    model = TableNet(norm=False)
    with torch.no_grad():
        model.out.bias.fill_(-6.0)  # log odds, from an older head

    def loss_of(step: int) -> Tensor:
        numbers, kinds, target = rows()
        share = torch.clamp(model(numbers, kinds), 0.0, 1.0)
        return F.mse_loss(share, (target > 0).float())

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of)


class Hyper(nn.Module):
    """A net whose last layer is the output of another net."""

    def __init__(self) -> None:
        super().__init__()
        self.task = nn.Linear(3, 16)
        self.make = nn.Linear(16, 8)

    def forward(self, task: Tensor, x: Tensor) -> Tensor:
        return (self.make(torch.tanh(self.task(task))) * x).sum(1)


def rates_for_a_hypernet(watch: Watch, criterion: nn.Module, lr: float, momentum: float) -> None:
    torch.manual_seed(70)
    model, truth = Hyper(), torch.randn(3, 8)
    tasks, x = torch.randn(64, 3), torch.randn(64, 8)

    def loss_of(step: int) -> Tensor:
        return criterion(model(tasks, x), ((tasks @ truth) * x).sum(1))

    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    fit(watch, model, optimizer, loss_of, steps=45)


def rate_at_the_edge(watch: Watch) -> None:
    rates_for_a_hypernet(watch, nn.L1Loss(), lr=1.5, momentum=0.0)


def rate_over_the_edge(watch: Watch) -> None:
    rates_for_a_hypernet(watch, nn.MSELoss(), lr=0.2, momentum=0.9)


def terms_in_conflict(watch: Watch) -> None:
    torch.manual_seed(71)
    model = TableNet(norm=False)
    model.drop.p = 0.0

    def loss_of(step: int) -> Tensor:
        numbers, kinds, target = rows()
        output = model(numbers, kinds)
        fit_term = F.mse_loss(output, target)
        consistency = F.mse_loss(output, -target)  # the sign of an older convention
        return fit_term + consistency

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=3e-3), loss_of, steps=60)


CASES = (
    Case(
        "graph: a node without neighbours",
        node_without_neighbours,
        ("nonfinite_value",),
        ("*div*", "*mean*"),
        17,
        "graph",
    ),
    Case(
        "mixture: the likelihood of an outlier",
        likelihood_of_an_outlier,
        ("nonfinite_value",),
        ("*log*",),
        30,
        "mlp",
    ),
    Case(
        "points: a layer of dead units",
        rate_that_kills_units,
        ("dead_units", "zero_origin", "zero_gradient"),
        ("local*",),
        0,
        "points",
    ),
    Case("points: 28 of 40 units dead", some_units_dead, ("dead_units",), ("whole*",), 0, "points"),
    Case(
        "flow: an infinite gradient under a scaler",
        infinite_gradient_under_a_scaler,
        ("scale_collapse", "nonfinite_origin"),
        ("*sqrt*", "*smoothness*"),
        0,
        "flow",
    ),
    Case(
        "table: a column in currency",
        column_in_currency,
        ("input_scale",),
        ("numbers*", "*input*", "x*", "fc1*"),
        0,
        "mlp",
    ),
    Case(
        "table: batch norm of two rows",
        batches_of_two,
        ("batch_norm",),
        ("*bn*", "*batch_norm*"),
        0,
        "mlp",
    ),
    Case(
        "field: a boundary term far too heavy",
        boundary_far_too_heavy,
        ("loss_imbalance",),
        (),
        0,
        "field",
    ),
    Case(
        "table: outputs clamped to a range",
        output_clamped_to_a_range,
        ("zero_origin", "zero_gradient"),
        ("*clamp*", "*share*"),
        0,
        "mlp",
    ),
    Case(
        "hypernet: a rate at the edge",
        rate_at_the_edge,
        ("loss_oscillating", "large_update"),
        (),
        None,
        "mlp",
    ),
    Case(
        "hypernet: a rate over the edge",
        rate_over_the_edge,
        ("loss_rising", "exploding", "large_update"),
        (),
        None,
        "mlp",
    ),
    Case("table: terms in conflict", terms_in_conflict, ("loss_conflict",), (), None, "mlp"),
)
