"""Faults in trainings of experts, adapters, temporal convolutions and recurrences."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import Phrases, fit
from tests.diagnose.battery.second_half.nets_of_phrases import (
    Encoder,
    ExpertModel,
    Experts,
    LinearRecurrence,
    TemporalNet,
    next_token_loss,
    signals,
)


class ListedExperts(Experts):
    def __init__(self, width: int, count: int = 4) -> None:
        super().__init__(width, count)
        del self.experts
        self.experts = [self.make_expert(width) for _ in range(count)]


def experts_in_a_list(watch: Watch) -> None:
    torch.manual_seed(45)
    data, model = Phrases(), ExpertModel()
    model.ffn = ListedExperts(24)

    def loss_of(step: int) -> Tensor:
        return next_token_loss(model, data.batch()) + 0.01 * model.ffn.balance

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=3e-3), loss_of)


def router_that_chooses_one(watch: Watch) -> None:
    torch.manual_seed(46)
    data, model = Phrases(), ExpertModel()
    with torch.no_grad():
        model.ffn.router.bias[2] = 12.0  # as after a collapse, and no loss for the balance

    def loss_of(step: int) -> Tensor:
        return next_token_loss(model, data.batch())

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=3e-3), loss_of)


def classify(model: nn.Module, data: Phrases) -> Tensor:
    tokens = data.batch()
    return F.cross_entropy(model(tokens), tokens[:, 0] % 3)


def both_factors_begin_at_zero(watch: Watch) -> None:
    torch.manual_seed(47)
    data, model = Phrases(), Encoder()
    model.adapt()
    for layer in model.body.layers:
        for linear in (layer.linear1, layer.linear2):
            nn.init.zeros_(linear.lora_a)
    trained = [p for p in model.parameters() if p.requires_grad]
    fit(watch, model, torch.optim.AdamW(trained, lr=5e-3), lambda step: classify(model, data))


def adapters_frozen_with_the_rest(watch: Watch) -> None:
    torch.manual_seed(48)
    data, model = Phrases(), Encoder()
    model.adapt()
    for name, parameter in model.named_parameters():
        parameter.requires_grad = "classifier" in name or "adapter" in name  # they are "lora_"
    trained = [p for p in model.parameters() if p.requires_grad]
    fit(watch, model, torch.optim.AdamW(trained, lr=5e-3), lambda step: classify(model, data))


def head_replaced_after_the_optimizer(watch: Watch) -> None:
    torch.manual_seed(49)
    data, model = Phrases(), Encoder(classes=10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.classifier = nn.Linear(32, 3)
    fit(watch, model, optimizer, lambda step: classify(model, data))


def sensor_that_drops_out(watch: Watch) -> None:
    torch.manual_seed(50)
    model = TemporalNet()

    def loss_of(step: int) -> Tensor:
        signal, target = signals()
        if step == 23:
            signal[2, 0, 11:15] = float("nan")
        return F.mse_loss(model(signal), target)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=3e-3), loss_of, steps=32)


def memory_fades(watch: Watch) -> None:
    torch.manual_seed(51)
    model = LinearRecurrence(gain=0.4)

    def loss_of(step: int) -> Tensor:
        signal, _ = signals(length=80)
        return F.mse_loss(model(signal), signal[:, 0, :1])  # what came first, 80 moments ago

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, steps=30)


def memory_grows(watch: Watch) -> None:
    torch.manual_seed(52)
    model = LinearRecurrence(gain=1.2)

    def loss_of(step: int) -> Tensor:
        signal, target = signals(length=60)
        return F.mse_loss(model(signal), target[:, :, -1])

    fit(watch, model, torch.optim.SGD(model.parameters(), lr=1e-4), loss_of, 30, clip=1.0)


class Transcriber(nn.Module):
    def __init__(self, width: int = 16, symbols: int = 6) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, width, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * width, symbols)

    def forward(self, frames: Tensor) -> Tensor:
        return self.out(self.lstm(frames)[0]).log_softmax(-1)


def transcript_longer_than_its_frames(watch: Watch) -> None:
    torch.manual_seed(53)
    model, sounds, criterion = Transcriber(), torch.randn(6, 8), nn.CTCLoss()

    def loss_of(step: int) -> Tensor:
        text = torch.randint(1, 6, (6, 5))
        frames = sounds[text].repeat_interleave(4, 1) + 0.3 * torch.randn(6, 20, 8)
        lengths = torch.full((6,), 20)
        if step == 18:
            lengths[1] = 3
        log_probabilities = model(frames).transpose(0, 1)
        return criterion(log_probabilities, text, lengths, torch.full((6,), 5))

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-2), loss_of, steps=30)


CASES = (
    Case(
        "experts: kept in a list",
        experts_in_a_list,
        ("unregistered", "not_optimized"),
        (),
        0,
        "experts",
    ),
    Case(
        "experts: the router chooses one",
        router_that_chooses_one,
        ("no_gradient", "saturated"),
        ("ffn*",),
        0,
        "experts",
    ),
    Case(
        "adapters: both factors begin at zero",
        both_factors_begin_at_zero,
        ("zero_gradient", "zero_origin"),
        ("*lora*", "*linear1*", "*linear2*"),
        0,
        "lora",
    ),
    Case(
        "adapters: frozen with the rest",
        adapters_frozen_with_the_rest,
        ("frozen",),
        (),
        0,
        "lora",
    ),
    Case(
        "encoder: head replaced after the optimizer was made",
        head_replaced_after_the_optimizer,
        ("stale_optimizer", "not_optimized"),
        (),
        None,
        "transformer",
    ),
    Case(
        "temporal: a sensor drops out",
        sensor_that_drops_out,
        ("nonfinite_value",),
        ("signal*", "*input*", "stem*", "x*"),
        23,
        "conv",
    ),
    Case("recurrence: memory fades", memory_fades, ("vanishing",), (), 0, "recurrent"),
    Case("recurrence: memory grows", memory_grows, ("exploding",), (), 0, "recurrent"),
    Case(
        "ctc: a transcript longer than its frames",
        transcript_longer_than_its_frames,
        ("nonfinite_value",),
        ("*ctc*", "*loss*"),
        18,
        "recurrent",
    ),
)
