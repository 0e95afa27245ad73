"""Three small trainings as people write them: schedules, dropout, mixed precision, accumulation."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence

STEPS = 200
Watchers = Callable[[nn.Module, torch.optim.Optimizer, Any], Any]


class Convolutions(nn.Module):
    """Digits of 8 x 8 points; its normalization keeps buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3)
        self.norm, self.drop = nn.BatchNorm2d(4), nn.Dropout2d(0.1)
        self.out = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(self.norm(self.first(x)).relu(), 2)
        return self.out(self.drop(self.second(x).relu()).mean((2, 3)))


class Attention(nn.Module):
    """Sequences of several lengths, filled up to the longest; output tied to the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(11, 8, padding_idx=0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1)
        self.register_buffer("fixed", torch.randn(1, 8, 8))
        self.out = nn.Linear(8, 11, bias=False)
        self.out.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        padding = tokens == 0
        found = self.layers(self.tokens(tokens) @ self.fixed, src_key_padding_mask=padding)
        return self.out(found).flatten(0, 1)


class Recurrent(nn.Module):
    """A fused LSTM over packed sequences, then a cell in a loop whose length changes."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.cell = nn.LSTM(3, 8, batch_first=True), nn.GRUCell(16, 5)
        self.register_buffer("fixed", torch.randn(1, 8, 16))
        self.drop, self.out = nn.Dropout(0.2), nn.Linear(5, 1)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor, times: int) -> torch.Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        hidden = (self.lstm(packed)[1][0][0][:, None] @ self.fixed)[:, 0]
        state = torch.zeros(len(x), 5)
        for _ in range(times):
            state = self.cell(self.drop(hidden), state)
        norm = torch.linalg.matrix_norm(self.out.weight.detach(), 2)
        return functional.linear(state, self.out.weight / (norm + 1), self.out.bias)[:, 0]


def digits(watch: Watchers) -> Any:
    """Train with autocast, momentum, steps of the rate, and two batches to a step."""
    net = Convolutions()
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 50, 0.5)
    watch(net, optimizer, None)
    losses = []
    for _ in range(STEPS):
        for _ in range(2):
            x, y = torch.rand(8, 1, 8, 8), torch.randint(0, 10, (8,))
            with torch.autocast("cpu", torch.bfloat16):
                loss = functional.cross_entropy(net(x), y) / 2
            loss.backward()
            losses.append(loss.detach())
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
    return state_of(net, optimizer, schedule), losses


def sequences(watch: Watchers) -> Any:
    """Train with autocast and a scale whose first steps are too large, and gradients clipped."""
    net = Attention()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, STEPS)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=30)
    watch(net, optimizer, scaler)
    losses = []
    for _ in range(STEPS):
        tokens = torch.randint(1, 11, (4, 7))
        tokens[torch.arange(7) >= torch.randint(3, 8, (4, 1))] = 0
        with torch.autocast("cpu", torch.bfloat16):
            found = net(tokens[:, :-1])
            loss = functional.cross_entropy(found, tokens[:, 1:].flatten(), ignore_index=0)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    return state_of(net, optimizer, schedule, scaler), losses


def series(watch: Watchers) -> Any:
    """Train in full precision with a scale, two batches to a step, and a rate that follows the loss."""
    net = Recurrent()
    optimizer = torch.optim.Adam(net.parameters(), 1e-2, amsgrad=True)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=5)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=50)
    watch(net, optimizer, scaler)
    losses = []
    for _ in range(STEPS):
        for _ in range(2):
            x, lengths = torch.randn(4, 6, 3), torch.randint(1, 7, (4,))
            found = net(x, lengths, random.randrange(1, 4))
            loss = functional.mse_loss(found, x.sum((1, 2))) / 2
            scaler.scale(loss).backward()
            losses.append(loss.detach())
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=False)
        schedule.step(losses[-1])
    return state_of(net, optimizer, schedule, scaler), losses


def state_of(net: nn.Module, *others: Any) -> Any:
    """Return all that a training leaves, random state included."""
    gradients = {name: parameter.grad for name, parameter in net.named_parameters()}
    legacy = np.random.get_state()
    return (
        [dict(net.state_dict()), gradients],
        [other.state_dict() for other in others],
        [torch.get_rng_state(), random.getstate(), (legacy[0], legacy[1].tolist(), *legacy[2:])],
    )
