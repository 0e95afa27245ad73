"""Faults in trainings on pictures."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Watch
from tests.diagnose.battery.third_part.collect import Cases, adam, fit, sgd
from tests.diagnose.battery.third_part.vision_nets import (
    ConvNext,
    SkipCoder,
    Variational,
    Vit,
    contrasted,
    denoise,
    quadrants,
)

CASES = Cases()


def classify(model: nn.Module, rows: int = 16, gain: float = 1.0) -> Tensor:
    pictures, labels = quadrants(rows)
    return F.cross_entropy(model(pictures * gain), labels)


@CASES.add("vit: positions never added", "no_gradient", "position*")
def positions_unused(watch: Watch) -> None:
    torch.manual_seed(331)
    model = Vit(uses_position=False)
    fit(watch, model, adam(model), lambda step: classify(model))


@CASES.add("vit: pictures from 0 to 255", "input_scale", "*patch* *pictures* *input*", 0)
def raw_pictures(watch: Watch) -> None:
    torch.manual_seed(332)
    model = Vit()

    def loss_of(step: int) -> Tensor:
        pictures, labels = quadrants()
        return F.cross_entropy(model((pictures * 60 + 110).clamp(0, 255)), labels)

    fit(watch, model, adam(model), loss_of)


@CASES.add("vit: head replaced after the optimizer", "stale_optimizer not_optimized", "head*")
def head_replaced(watch: Watch) -> None:
    torch.manual_seed(333)
    model = Vit()
    optimizer = adam(model)
    model.head = nn.Linear(24, 4)
    fit(watch, model, optimizer, lambda step: classify(model))


@CASES.add("vit: heads of an ensemble are copies", "equal_weights", "heads*")
def equal_heads(watch: Watch) -> None:
    torch.manual_seed(334)
    model = Vit()
    heads = nn.ModuleList(copy.deepcopy(model.head) for _ in range(3))
    model.head = nn.Identity()
    both = nn.ModuleDict({"body": model, "heads": heads})

    def loss_of(step: int) -> Tensor:
        pictures, labels = quadrants()
        features = model(pictures)
        return sum(F.cross_entropy(head(features), labels) for head in heads)

    fit(watch, both, adam(both), loss_of)


@CASES.add("vit: warm-up by whole division", "no_update small_update", "", 0)
def warm_up_zero(watch: Watch) -> None:
    torch.manual_seed(335)
    model = Vit()
    optimizer = adam(model)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 1000)
    fit(watch, model, optimizer, lambda step: classify(model), schedule=schedule)


@CASES.add("contrast: a blank picture", "nonfinite_value", "*div* *Div*", 14)
def blank_picture(watch: Watch) -> None:
    torch.manual_seed(336)
    model = contrasted()

    def loss_of(step: int) -> Tensor:
        pictures, labels = quadrants()
        if step == 14:
            pictures[5] = 0.0
        return F.cross_entropy(model(pictures), labels)

    fit(watch, model, adam(model), loss_of, steps=22)


@CASES.add("contrast: epsilon outside the root", "nonfinite_origin", "*sqrt* *Sqrt*", 8)
def epsilon_outside(watch: Watch) -> None:
    torch.manual_seed(337)
    model = contrasted(eps=1e-5)

    def loss_of(step: int) -> Tensor:
        pictures, labels = quadrants()
        if step == 8:
            pictures[5] = 0.0
        return F.cross_entropy(model(pictures), labels)

    fit(watch, model, adam(model), loss_of, steps=18)


@CASES.add("convnext: deep, begun too large", "exploding", "blocks* stem*", 0)
def begun_too_large(watch: Watch) -> None:
    torch.manual_seed(338)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1))
    for _ in range(9):
        layer = nn.Conv2d(8, 8, 3, padding=1)
        nn.init.normal_(layer.weight, std=0.6)
        model += nn.Sequential(nn.ReLU(), layer)
    model += nn.Sequential(nn.Flatten(), nn.Linear(8 * 144, 4))
    net = nn.ModuleDict({"blocks": model})
    fit(watch, net, sgd(net, 1e-9), lambda step: classify(model, 8), steps=20)


@CASES.add("convnext: decay stronger than the gradient", "weight_drift")
def decay_wins(watch: Watch) -> None:
    torch.manual_seed(339)
    model = ConvNext(scale=0.1)
    optimizer = sgd(model, 0.05, weight_decay=2.0)
    fit(watch, model, optimizer, lambda step: classify(model), steps=60)


@CASES.add("convnext: the stem is frozen at random", "frozen not_optimized", "stem*")
def stem_frozen(watch: Watch) -> None:
    torch.manual_seed(340)
    model = ConvNext(scale=0.1)
    model.stem.requires_grad_(False)
    fit(watch, model, adam(model), lambda step: classify(model))


@CASES.add("convnext: step and zero_grad swapped", "cleared no_update")
def swapped(watch: Watch) -> None:
    torch.manual_seed(341)
    model = ConvNext(scale=0.1)
    optimizer = adam(model)
    watch(model, optimizer=optimizer)
    for _ in range(25):
        classify(model).backward()
        optimizer.zero_grad()
        optimizer.step()


@CASES.add("convnext: cleared before each part of a batch", "cleared")
def cleared_between(watch: Watch) -> None:
    torch.manual_seed(342)
    model = ConvNext(scale=0.1)
    optimizer = adam(model)
    watch(model, optimizer=optimizer)
    for _ in range(20):
        for _ in range(3):
            optimizer.zero_grad()
            (classify(model, 8) / 3).backward()
        optimizer.step()


@CASES.add("skip coder: norms left in evaluation", "batch_norm", "*down*")
def norms_in_eval(watch: Watch) -> None:
    torch.manual_seed(343)
    model = SkipCoder().eval()
    fit(watch, model, adam(model), lambda step: denoise(model))


@CASES.add("siamese: batch norm over two", "batch_norm", "1*")
def norm_over_two(watch: Watch) -> None:
    torch.manual_seed(344)
    model = nn.Sequential(nn.Linear(144, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))

    def loss_of(step: int) -> Tensor:
        pictures, labels = quadrants(2)
        return F.cross_entropy(model(pictures.flatten(1)), labels)

    fit(watch, model, adam(model), loss_of, steps=40)


@CASES.add("coder: output begun saturated", "saturated", "*sigmoid* *Sigmoid* 3* 2*", 0)
def output_saturated(watch: Watch) -> None:
    torch.manual_seed(345)
    model = nn.Sequential(nn.Linear(144, 16), nn.Tanh(), nn.Linear(16, 144), nn.Sigmoid())
    nn.init.normal_(model[2].weight, std=40.0)

    def loss_of(step: int) -> Tensor:
        pictures = (quadrants()[0] * 0.4 + 0.3).clamp(0, 1).flatten(1)
        return F.mse_loss(model(pictures), pictures)

    fit(watch, model, adam(model, 1e-3), loss_of)


@CASES.add("variational: the prior weighs 20000", "loss_imbalance", "", 0)
def prior_too_heavy(watch: Watch) -> None:
    torch.manual_seed(346)
    model = Variational()

    def loss_of(step: int) -> Tensor:
        pictures, _ = quadrants(noise=0.1)
        restored, kl = model(pictures)
        return F.mse_loss(restored, pictures) + 20000.0 * kl

    fit(watch, model, adam(model), loss_of)


@CASES.add("variational: one picture of huge numbers", "nonfinite_value input_scale", "*exp*", 18)
def huge_picture(watch: Watch) -> None:
    torch.manual_seed(347)
    model = Variational()

    def loss_of(step: int) -> Tensor:
        pictures, _ = quadrants(noise=0.1)
        if step == 18:
            pictures[4] *= 1e6
        restored, kl = model(pictures)
        return F.mse_loss(restored, pictures) + 0.01 * kl

    fit(watch, model, adam(model), loss_of, steps=26)


@CASES.add("convnext: an unread picture is NaN", "nonfinite_value", "*stem* *pictures* *input*", 15)
def unread_picture(watch: Watch) -> None:
    torch.manual_seed(348)
    model = ConvNext(scale=0.1)

    def loss_of(step: int) -> Tensor:
        pictures, labels = quadrants()
        if step == 15:
            pictures[7] = torch.nan
        return F.cross_entropy(model(pictures), labels)

    fit(watch, model, adam(model), loss_of, steps=22)


@CASES.add("student: log of chances that are 0", "nonfinite_value nonfinite_origin", "*log*", 0)
def log_of_chances(watch: Watch) -> None:
    torch.manual_seed(349)
    teacher, student = ConvNext(scale=0.1).requires_grad_(False), ConvNext(scale=0.1)
    nn.init.normal_(student.head.weight, std=30.0)

    def loss_of(step: int) -> Tensor:
        pictures, _ = quadrants()
        wanted = teacher(pictures).softmax(1)
        return -(wanted * student(pictures).softmax(1).log()).sum(1).mean()

    fit(watch, student, adam(student), loss_of, steps=15)
