"""Faults in trainings on pictures: classifiers that were set up or run wrongly."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import Pictures, fit
from tests.diagnose.battery.second_half.nets_of_pictures import (
    ConvNext,
    Mixer,
    PlainStack,
    SqueezeNet,
)


def probabilities_for_cross_entropy(watch: Watch) -> None:
    torch.manual_seed(1)
    data, model = Pictures(), ConvNext()
    model.head = nn.Sequential(nn.Linear(16, 4), nn.Softmax(dim=-1))
    criterion = nn.CrossEntropyLoss()

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return criterion(model(images), labels)

    fit(watch, model, torch.optim.AdamW(model.parameters(), lr=2e-3), loss_of)


def evaluate(model: nn.Module, data: Pictures) -> float:
    model.eval()
    with torch.no_grad():
        images, labels = data.batch(32)
        return (model(images).argmax(1) == labels).float().mean().item()


def left_in_eval_after_validation(watch: Watch) -> None:
    torch.manual_seed(2)
    data, model = Pictures(), SqueezeNet()
    model.train()

    def loss_of(step: int) -> torch.Tensor:
        if step == 10:
            evaluate(model, data)
        images, labels = data.batch()
        return F.cross_entropy(model(images), labels)

    fit(watch, model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), loss_of)


def decay_of_a_half(watch: Watch) -> None:
    torch.manual_seed(3)
    data, model = Pictures(), SqueezeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.5)

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return F.cross_entropy(model(images), labels)

    fit(watch, model, optimizer, loss_of, steps=60)


def gate_begun_too_wide(watch: Watch) -> None:
    torch.manual_seed(4)
    data, model = Pictures(), SqueezeNet()
    for block in model.layers:
        nn.init.normal_(block.bn2.weight, 1.0, 0.1)
        nn.init.normal_(block.gate[0].weight, std=5.0)
        nn.init.normal_(block.gate[2].weight, std=30.0)

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return F.cross_entropy(model(images), labels)

    fit(watch, model, torch.optim.SGD(model.parameters(), lr=0.02), loss_of)


def rate_a_hundred_times_too_large(watch: Watch) -> None:
    torch.manual_seed(5)
    data, model = Pictures(), ConvNext()

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return F.cross_entropy(model(images), labels)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=0.3), loss_of)


def warm_up_of_integers(watch: Watch) -> None:
    torch.manual_seed(6)
    data, model = Pictures(), Mixer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, step // 100))

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return F.cross_entropy(model(images), labels)

    fit(watch, model, optimizer, loss_of, steps=40, schedule=schedule)


def weights_in_bfloat16(watch: Watch) -> None:
    torch.manual_seed(7)
    data, model = Pictures(), Mixer().to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return F.cross_entropy(model(images.bfloat16()).float(), labels)

    fit(watch, model, optimizer, loss_of, steps=40)


def loader_that_returns_blanks(watch: Watch) -> None:
    torch.manual_seed(8)
    data, model = Pictures(), ConvNext()

    def load(size: int) -> tuple[torch.Tensor, torch.Tensor]:
        images, labels = data.batch(size)
        pixels = torch.zeros_like(images)  # filled later, in a branch that never runs
        return pixels, labels

    def loss_of(step: int) -> torch.Tensor:
        pixels, labels = load(16)
        return F.cross_entropy(model(pixels), labels)

    fit(watch, model, torch.optim.AdamW(model.parameters(), lr=2e-3), loss_of)


def deep_and_begun_too_small(watch: Watch) -> None:
    torch.manual_seed(9)
    data, model = Pictures(), PlainStack(depth=14, std=0.02)

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return F.cross_entropy(model(images), labels)

    fit(watch, model, torch.optim.SGD(model.parameters(), lr=0.05), loss_of, steps=30)


def deep_and_begun_too_large(watch: Watch) -> None:
    torch.manual_seed(10)
    data, model = Pictures(), PlainStack(depth=10, std=0.38)

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return F.cross_entropy(model(images), labels)

    fit(watch, model, torch.optim.SGD(model.parameters(), lr=1e-3), loss_of, steps=30, clip=1.0)


def pixels_up_to_255(watch: Watch) -> None:
    torch.manual_seed(11)
    data, model = Pictures(noise=0.3), SqueezeNet()

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        raw = (images * 40 + 128).clamp(0, 255).round()
        return F.cross_entropy(model(raw), labels)

    fit(watch, model, torch.optim.SGD(model.parameters(), lr=0.02), loss_of)


def optimizer_that_maximizes(watch: Watch) -> None:
    torch.manual_seed(12)
    data, model = Pictures(), Mixer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, maximize=True)

    def loss_of(step: int) -> torch.Tensor:
        images, labels = data.batch()
        return F.cross_entropy(model(images), labels)

    fit(watch, model, optimizer, loss_of, steps=50)


CASES = (
    Case(
        "convnext: softmax before cross entropy",
        probabilities_for_cross_entropy,
        ("softmax_twice",),
        ("*softmax*", "head*", "*cross_entropy*"),
        0,
        "conv",
    ),
    Case(
        "squeeze: left in evaluation mode after validation",
        left_in_eval_after_validation,
        ("batch_norm",),
        ("*bn*", "stem*", "*batch_norm*"),
        10,
        "conv",
    ),
    Case("squeeze: weight decay of 0.5", decay_of_a_half, ("weight_drift",), (), None, "conv"),
    Case(
        "squeeze: gates begun too wide",
        gate_begun_too_wide,
        ("saturated",),
        ("*gate*", "*sigmoid*"),
        0,
        "conv",
    ),
    Case(
        "convnext: learning rate a hundred times too large",
        rate_a_hundred_times_too_large,
        ("large_update", "loss_rising", "loss_oscillating"),
        (),
        None,
        "conv",
    ),
    Case(
        "mixer: a warm-up of integers leaves the rate at 0",
        warm_up_of_integers,
        ("no_update",),
        (),
        0,
        "mixer",
    ),
    Case(
        "mixer: bfloat16 weights lose their updates",
        weights_in_bfloat16,
        ("lost_update",),
        (),
        0,
        "mixer",
    ),
    Case(
        "convnext: the loader returns blank pictures",
        loader_that_returns_blanks,
        ("input_scale",),
        ("x*", "*input*", "images*", "pixels*", "stem*"),
        0,
        "conv",
    ),
    Case(
        "plain stack: begun too small",
        deep_and_begun_too_small,
        ("vanishing",),
        ("convs*", "stem*"),
        0,
        "conv",
    ),
    Case(
        "plain stack: begun too large",
        deep_and_begun_too_large,
        ("exploding",),
        ("convs*", "stem*"),
        0,
        "conv",
    ),
    Case(
        "squeeze: pixels up to 255",
        pixels_up_to_255,
        ("input_scale",),
        ("x*", "*input*", "images*", "raw*", "stem*"),
        0,
        "conv",
    ),
    Case(
        "mixer: the optimizer maximizes",
        optimizer_that_maximizes,
        ("loss_rising",),
        (),
        None,
        "mixer",
    ),
)
