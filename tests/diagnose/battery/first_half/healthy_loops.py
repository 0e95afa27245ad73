"""Healthy trainings of recurrent nets, and of loops that are not the usual one."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, curves, images, tokens, waves
from tests.diagnose.battery.first_half.fit import STEPS, fit, of_tokens
from tests.diagnose.battery.first_half.nets import GPT, MLP, ConvNet, PlainConvNet, Recurrent

Losses = list[float]


def lstm(watch: Watch) -> Losses:
    torch.manual_seed(260)
    optimizer = torch.optim.Adam((model := Recurrent()).parameters(), lr=1e-2)
    return fit(watch, model, waves(), F.mse_loss, optimizer)


class Stepwise(nn.Module):
    """A GRU cell that a loop calls, with an output for each element."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(1, 16), nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state, outputs = torch.zeros(len(x), 16), []
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
            outputs.append(self.head(state))
        return torch.stack(outputs, 1)


def over_fifty_steps(watch: Watch) -> Losses:
    """Guesses the next element at each of fifty; gradients are clipped."""
    torch.manual_seed(261)
    model = Stepwise()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    watch(model, optimizer=optimizer)
    losses = []
    for _, (x, _) in zip(range(30), waves(12, 51)):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x[:, :-1]), x[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def truncated(watch: Watch) -> Losses:
    """Backpropagates through pieces of a sequence; the state goes on, detached."""
    torch.manual_seed(262)
    rnn, head = nn.LSTM(1, 16, batch_first=True), nn.Linear(16, 1)
    model = nn.ModuleDict({"rnn": rnn, "head": head})
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    watch(model, optimizer=optimizer)
    wave = torch.sin(6.28 * torch.rand(8, 1) + 0.4 * torch.arange(10 * STEPS + 1))[..., None]
    state, losses = None, []
    for step in range(STEPS):
        piece = wave[:, 10 * step : 10 * step + 11]
        states, state = rnn(piece[:, :-1], state)
        state = tuple(part.detach() for part in state)
        loss = F.mse_loss(head(states), piece[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Tagger(nn.Module):
    """A GRU of two directions and two layers over words."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(12, 12)
        self.gru = nn.GRU(12, 12, num_layers=2, bidirectional=True, dropout=0.1, batch_first=True)
        self.head = nn.Linear(24, 12)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.gru(self.embed(ids))[0])


def tagger(watch: Watch) -> Losses:
    torch.manual_seed(263)
    optimizer = torch.optim.Adam((model := Tagger()).parameters(), lr=1e-2)
    return fit(watch, model, tokens(length=6), of_tokens, optimizer)


def accumulated(watch: Watch) -> Losses:
    """Four small batches a step."""
    torch.manual_seed(264)
    model = PlainConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    watch(model, optimizer=optimizer)
    batches, losses = images(8), []
    for _ in range(25):
        optimizer.zero_grad()
        total = 0.0
        for _ in range(4):
            x, y = next(batches)
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
            total += loss.item()
        optimizer.step()
        losses.append(total)
    return losses


def scaled(watch: Watch) -> Losses:
    """A GradScaler whose scale grows until it overflows now and then, as it should."""
    torch.manual_seed(265)
    model = GPT(depth=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=8, growth_factor=16.0)
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    losses = []
    for _, (ids, targets) in zip(range(50), tokens()):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.float16):
            logits = model(ids)
        loss = of_tokens(logits, targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses


def master_copies(watch: Watch) -> Losses:
    """The model is in bfloat16; the optimizer has copies in float32, written back at each step."""
    torch.manual_seed(266)
    model = MLP().to(torch.bfloat16)
    masters = [p.detach().float().requires_grad_() for p in model.parameters()]
    optimizer = torch.optim.AdamW(masters, lr=3e-3)
    watch(model, optimizer=optimizer)
    losses = []
    for _, (x, y) in zip(range(STEPS), blobs()):
        loss = F.cross_entropy(model(x.bfloat16()).float(), y)
        model.zero_grad()
        loss.backward()
        for master, parameter in zip(masters, model.parameters()):
            master.grad = parameter.grad.float()
        optimizer.step()
        with torch.no_grad():
            for master, parameter in zip(masters, model.parameters()):
                parameter.copy_(master)
        losses.append(loss.item())
    return losses


class MeanTeacher(nn.Module):
    """A student, and a teacher that is its moving average."""

    def __init__(self) -> None:
        super().__init__()
        self.student = MLP()
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)

    def follow(self) -> None:
        with torch.no_grad():
            for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
                slow.lerp_(fast, 0.02)


def mean_teacher(watch: Watch) -> Losses:
    torch.manual_seed(267)
    model = MeanTeacher()
    optimizer = torch.optim.Adam(model.student.parameters(), lr=3e-3)
    watch(model, optimizer=optimizer)
    losses = []
    for _, (x, y) in zip(range(STEPS), blobs()):
        logits = model.student(x)
        with torch.no_grad():
            wanted = model.teacher(x + 0.1 * torch.randn_like(x)).softmax(-1)
        supervised = F.cross_entropy(logits, y)
        consistency = F.cross_entropy(logits, wanted)
        loss = supervised + 0.3 * consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.follow()
        losses.append(supervised.item())
    return losses


def every_other_validated(watch: Watch) -> Losses:
    """Validates between steps, in eval() and without gradients, and goes back to train()."""
    torch.manual_seed(268)
    model = ConvNet()
    held_out, _ = next(images(seed=5))

    def validate(step: int) -> None:
        if step % 10 == 9:
            model.eval()
            with torch.no_grad():
                model(held_out)
            model.train()

    return fit(watch, model, images(), before=validate)


def huber_with_outliers(watch: Watch) -> Losses:
    """Now and then a target is wrong, and the loss is robust against it."""
    torch.manual_seed(269)
    batches = (
        (x, torch.cat([y[:-1], y[-1:] + 4 * (n % 5 == 0)])) for n, (x, y) in enumerate(curves())
    )
    model = MLP(6, 32, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    return fit(watch, model, batches, F.smooth_l1_loss, optimizer, steps=60)


CASES = [
    Case("lstm: next value", lstm, family="recurrent"),
    Case("gru: fifty calls, clipped", over_fifty_steps, family="recurrent"),
    Case("lstm: truncated", truncated, family="recurrent"),
    Case("gru: tagger", tagger, family="recurrent"),
    Case("conv: accumulated", accumulated, family="conv"),
    Case("gpt: float16 with a scaler", scaled, family="transformer"),
    Case("mlp: master copies in float32", master_copies, family="mlp"),
    Case("mlp: mean teacher", mean_teacher, family="mlp"),
    Case("conv: validated between steps", every_other_validated, family="conv"),
    Case("mlp: robust loss", huber_with_outliers, family="mlp"),
]
