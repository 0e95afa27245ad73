"""Faults of the loop: what is cleared, clipped, scaled and stepped, and when."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, images, tokens, waves
from tests.diagnose.battery.first_half.fit import STEPS, of_tokens
from tests.diagnose.battery.first_half.nets import GPT, MLP, ConvNet, PlainConvNet, Recurrent, ViT


def never_zeroed(watch: Watch) -> None:
    torch.manual_seed(40)
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), blobs()):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def zeroed_only_at_first(watch: Watch) -> None:
    """The zero_grad() moved out of the loop over batches, into that over epochs."""
    torch.manual_seed(41)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    watch(model, optimizer=optimizer)
    batches = tokens()
    for _epoch in range(4):
        optimizer.zero_grad()
        for _ in range(10):
            ids, targets = next(batches)
            loss = of_tokens(model(ids), targets)
            loss.backward()
            optimizer.step()


def wrong_optimizer_zeroed(watch: Watch) -> None:
    """Of two optimizers only one clears its gradients."""
    torch.manual_seed(42)
    model = ConvNet()
    body = [p for name, p in model.named_parameters() if not name.startswith("head")]
    slow = torch.optim.SGD(body, lr=0.01)
    fast = torch.optim.SGD(model.head.parameters(), lr=0.05)
    watch(model, optimizer=[slow, fast])
    for _, (x, y) in zip(range(STEPS), images()):
        fast.zero_grad()
        F.cross_entropy(model(x), y).backward()
        slow.step()
        fast.step()


def zeroed_before_step(watch: Watch) -> None:
    torch.manual_seed(43)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    watch(model, optimizer=optimizer)
    for _, (ids, targets) in zip(range(STEPS), tokens()):
        loss = of_tokens(model(ids), targets)
        loss.backward()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()


def none_before_step(watch: Watch) -> None:
    torch.manual_seed(44)
    model = Recurrent()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), waves()):
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()


def never_stepped(watch: Watch) -> None:
    torch.manual_seed(45)
    model = PlainConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), images()):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()


def scheduler_stepped_instead(watch: Watch) -> None:
    torch.manual_seed(46)
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), blobs()):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        scheduler.step()


def clipped_too_early(watch: Watch) -> None:
    torch.manual_seed(47)
    model = Recurrent(nn.GRU)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), waves()):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        loss.backward()
        optimizer.step()


def clipped_to_nothing(watch: Watch) -> None:
    torch.manual_seed(48)
    model = ViT()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    watch(model, optimizer=optimizer)
    for _, (x, y) in zip(range(STEPS), images()):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-5)
        optimizer.step()


def clipped_while_scaled(watch: Watch) -> None:
    """The gradients are clipped before they are unscaled."""
    torch.manual_seed(49)
    model = MLP()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    for _, (x, y) in zip(range(STEPS), blobs()):
        optimizer.zero_grad()
        scaler.scale(F.cross_entropy(model(x), y)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def scale_collapses(watch: Watch) -> None:
    """From a step on something in the model divides by zero, and each step is skipped."""
    torch.manual_seed(50)
    model = PlainConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    for step, (x, y) in zip(range(STEPS), images()):
        optimizer.zero_grad()
        logits = model(x)
        margin = (logits - logits.detach()).abs() if step >= 15 else logits.abs() + 1
        loss = F.cross_entropy(logits, y) + 1e-3 * margin.sqrt().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


class Half(nn.Module):
    """A head whose gradients pass through float16."""

    def __init__(self) -> None:
        super().__init__()
        self.gpt = GPT()

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return (1e4 * self.gpt(ids).half()).float() * 1e-4 * 1e8


def always_skipped(watch: Watch) -> None:
    torch.manual_seed(51)
    model = Half()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    for _, (ids, targets) in zip(range(STEPS), tokens()):
        optimizer.zero_grad()
        scaler.scale(of_tokens(model(ids), targets)).backward()
        scaler.step(optimizer)
        scaler.update()


NOT_ZEROED = ("not_zeroed",)
COLLAPSE = ("scale_collapse",)
CASES = [
    Case("mlp: no zero_grad", never_zeroed, NOT_ZEROED, (), 1, "mlp"),
    Case("gpt: zero_grad once an epoch", zeroed_only_at_first, NOT_ZEROED, (), 1, "transformer"),
    Case("conv: one of two optimizers zeroed", wrong_optimizer_zeroed, NOT_ZEROED, (), 1, "conv"),
    Case("gpt: zeroed before the step", zeroed_before_step, ("cleared",), (), 0, "transformer"),
    Case("lstm: None before the step", none_before_step, ("cleared",), (), 0, "recurrent"),
    Case("conv: no step", never_stepped, ("never_stepped",), (), 0, "conv"),
    Case(
        "mlp: scheduler stepped, not optimizer",
        scheduler_stepped_instead,
        ("never_stepped",),
        (),
        0,
        "mlp",
    ),
    Case(
        "gru: clip before backward",
        clipped_too_early,
        ("clip_before_backward",),
        (),
        None,
        "recurrent",
    ),
    Case(
        "vit: clipped to nothing",
        clipped_to_nothing,
        ("clipped", "small_update"),
        (),
        0,
        "transformer",
    ),
    Case(
        "mlp: clipped while scaled", clipped_while_scaled, ("clipped", "small_update"), (), 0, "mlp"
    ),
    Case(
        *("conv: infinite gradient, each step skipped", scale_collapses),
        *((*COLLAPSE, "nonfinite_origin"), (), 15, "conv"),
    ),
    Case("gpt: float16 gradients overflow", always_skipped, COLLAPSE, (), None, "transformer"),
]
