"""Faults that show in the loss, the updates and the data over the steps."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import Batches, blobs, curves, images, tokens, waves
from tests.diagnose.battery.first_half.fit import fit, of_tokens
from tests.diagnose.battery.first_half.nets import GPT, MLP, ConvNet, PlainConvNet, Recurrent, ViT

Losses = list[float]


def regression(watch: Watch, seed: int, optimizer_of, **options) -> Losses:
    torch.manual_seed(seed)
    model = MLP(6, 32, 1)
    return fit(watch, model, curves(), F.mse_loss, optimizer_of(model.parameters()), **options)


def learning_rate_zero(watch: Watch) -> Losses:
    return regression(watch, 110, lambda p: torch.optim.SGD(p, lr=0.0))


def learning_rate_tiny(watch: Watch) -> Losses:
    torch.manual_seed(111)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-9)
    return fit(watch, model, tokens(), of_tokens, optimizer)


def schedule_ends_early(watch: Watch) -> Losses:
    torch.manual_seed(112)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def schedule(step: int) -> None:
        optimizer.param_groups[0]["lr"] = 0.05 * max(0.0, 1 - step / 20)

    return fit(watch, model, images(), optimizer=optimizer, before=schedule)


def learning_rate_huge(watch: Watch) -> Losses:
    torch.manual_seed(113)
    model = GPT()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0)
    return fit(watch, model, tokens(), of_tokens, optimizer)


def one_group_huge(watch: Watch) -> Losses:
    torch.manual_seed(114)
    model = Recurrent()
    optimizer = torch.optim.Adam(
        [
            {"params": model.rnn.parameters(), "name": "rnn"},
            {"params": model.head.parameters(), "lr": 3.0, "name": "head"},
        ],
        lr=3e-3,
    )
    return fit(watch, model, waves(), F.mse_loss, optimizer)


def one_huge_step(watch: Watch) -> Losses:
    """A typing mistake in a table of learning rates."""
    torch.manual_seed(135)
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def look_up(step: int) -> None:
        optimizer.param_groups[0]["lr"] = 500.0 if step == 8 else 0.05

    return fit(watch, model, blobs(), optimizer=optimizer, before=look_up)


def rate_grows(watch: Watch) -> Losses:
    """The decay of the learning rate is above one."""
    torch.manual_seed(115)
    model = PlainConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=1.3)
    return fit(watch, model, images(), optimizer=optimizer, before=lambda step: scheduler.step())


def warmed_too_far(watch: Watch) -> Losses:
    """A second warm-up, a hundred times too high."""
    torch.manual_seed(116)
    model = GPT()
    optimizer = torch.optim.Adam(model.parameters())

    def warm_up(step: int) -> None:
        optimizer.param_groups[0]["lr"] = 3e-3 if step < 20 else 2e-2 * (step - 19)

    return fit(watch, model, tokens(), of_tokens, optimizer, before=warm_up)


def ascending(watch: Watch) -> Losses:
    """Maximizes by mistake, so that the recorded loss itself rises."""
    torch.manual_seed(117)
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, maximize=True)
    return fit(watch, model, blobs(), optimizer=optimizer)


def with_wrong_labels() -> Batches:
    """Yield large points of which every third is labeled wrongly."""
    for x, y in blobs(128):
        y[::3] = 0
        yield x * 3 + 2, y


def oscillating(watch: Watch) -> Losses:
    """Each step goes too far, so that the next has to come back."""
    torch.manual_seed(118)
    model = nn.Sequential(nn.Linear(10, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    return fit(watch, model, with_wrong_labels(), optimizer=optimizer, steps=50)


def too_much_momentum(watch: Watch) -> Losses:
    torch.manual_seed(119)
    model = Recurrent()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    batches = ((x, y * 3 + 2) for x, y in waves(64))
    return fit(watch, model, batches, F.l1_loss, optimizer, steps=60)


def decay_dominates(watch: Watch) -> Losses:
    torch.manual_seed(120)
    model = MLP()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=20.0)
    return fit(watch, model, blobs(), optimizer=optimizer)


def decay_of_transformer(watch: Watch) -> Losses:
    """A decay of 0.1 was meant, and reached SGD, where it is times the learning rate twenty times."""
    torch.manual_seed(121)
    model = ViT()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=1.0)
    return fit(watch, model, images(), optimizer=optimizer)


def penalty_of_wrong_sign(watch: Watch) -> Losses:
    """A penalty of the weights is subtracted instead of added, and they grow and grow."""
    torch.manual_seed(136)
    model = Recurrent()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def penalized(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        penalty = sum(p.square().sum() for p in model.parameters())
        return F.mse_loss(output, target) - 0.2 * penalty

    return fit(watch, model, waves(), penalized, optimizer)


def lost_in_rounding(watch: Watch) -> Losses:
    torch.manual_seed(122)
    model = GPT().to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def in_float(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return of_tokens(logits.float(), targets)

    return fit(watch, model, tokens(), in_float, optimizer)


def lost_in_mlp(watch: Watch) -> Losses:
    torch.manual_seed(123)
    model = MLP().to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.0)
    batches = ((x.bfloat16(), y) for x, y in blobs())
    return fit(watch, model, batches, lambda o, y: F.cross_entropy(o.float(), y), optimizer)


UPDATE = ("large_update", "loss_rising", "loss_oscillating")
SWING = ("loss_oscillating", "large_update", "loss_rising")
CASES = [
    Case("mlp: learning rate 0", learning_rate_zero, ("no_update",), (), 0, "mlp"),
    Case("gpt: learning rate 1e-9", learning_rate_tiny, ("small_update",), (), 0, "transformer"),
    Case("conv: schedule ends early", schedule_ends_early, ("no_update",), (), 20, "conv"),
    Case("gpt: learning rate 1", learning_rate_huge, UPDATE, (), 0, "transformer"),
    Case(
        "lstm: one group's rate huge",
        one_group_huge,
        ("large_update",),
        ("head.*",),
        0,
        "recurrent",
    ),
    Case("mlp: one huge step", one_huge_step, ("large_update",), (), 8, "mlp"),
    Case("conv: learning rate grows", rate_grows, UPDATE, (), None, "conv"),
    Case("gpt: warmed up too far", warmed_too_far, UPDATE, (), None, "transformer"),
    Case("mlp: maximizes", ascending, ("loss_rising",), (), None, "mlp"),
    Case("mlp: loss swings", oscillating, SWING, (), None, "mlp"),
    Case("lstm: too much momentum", too_much_momentum, SWING, (), None, "recurrent"),
    Case("mlp: decay dominates", decay_dominates, ("weight_drift",), (), None, "mlp"),
    Case(
        "vit: decay of 1 in SGD", decay_of_transformer, ("weight_drift",), (), None, "transformer"
    ),
    Case(
        "gpt: bfloat16 updates lost",
        lost_in_rounding,
        ("lost_update", "no_update"),
        ("*weight",),
        None,
        "transformer",
    ),
    Case(
        "mlp: bfloat16 updates lost",
        lost_in_mlp,
        ("lost_update", "no_update"),
        ("*weight",),
        None,
        "mlp",
    ),
    Case(
        *("lstm: penalty of the wrong sign", penalty_of_wrong_sign, ("weight_drift",)),
        family="recurrent",
    ),
]
