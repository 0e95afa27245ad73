"""Trainings whose records the pictures of ``docs/`` show: small, and trained for real."""

from __future__ import annotations

import pathlib

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tb_gradgraph import SummaryWriter
from tb_gradgraph.commands.demo import GPT, LENGTH, TOKENS, make_batch

BLOCKS, WIDTH, GPT_STEPS = 12, 64, 70
#: Steps at which the learning rate of the GPT is by mistake forty times too high.
MISTAKE = range(40, 43)
CALLS, LOOP_STEPS = 16, 60


class Loop(nn.Module):
    """A cell that reads a sequence, and a guess at its end."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(TOKENS, 32), nn.RNNCell(32, 32)
        self.out = nn.Linear(32, TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = torch.zeros(tokens.shape[0], 32)
        for x in self.embed(tokens).unbind(1):
            hidden = self.cell(x, hidden)
        return self.out(hidden)


def train_gpt(directory: pathlib.Path) -> None:
    """Train a small GPT, with clipping, and with a learning rate that is far too high for a moment."""
    torch.manual_seed(0)
    model = GPT(BLOCKS, WIDTH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with SummaryWriter(str(directory)) as writer:
        kinds = {"level": "op", "values": True, "tag": "GPT"}
        writer.watch(model, optimizer=optimizer, every_n_steps=2, **kinds)
        for step in range(GPT_STEPS):
            optimizer.param_groups[0]["lr"] = 4e-2 if step in MISTAKE else 1e-3
            tokens = make_batch(LENGTH + 1)
            logits = model(tokens[:, :-1])
            loss = cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            writer.add_scalar("train/loss", loss.item(), step)


def train_loop(directory: pathlib.Path) -> None:
    """Train a recurrent loop to tell the first token, of which its gradient has to come back."""
    torch.manual_seed(0)
    model = Loop()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with SummaryWriter(str(directory)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=2, tag="RNN")
        for step in range(LOOP_STEPS):
            tokens = torch.randint(TOKENS, (16, CALLS))
            loss = cross_entropy(model(tokens), tokens[:, 0])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("train/loss", loss.item(), step)


def train_with_a_spike(directory: pathlib.Path) -> None:
    """Train a small transformer whose learning rate is far too high for some steps."""
    torch.manual_seed(0)
    tokens, width, length = 32, 32, 24
    layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    model = nn.Sequential(nn.Embedding(tokens, width), encoder, nn.Linear(width, tokens))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with SummaryWriter(str(directory)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=1)
        for step in range(300):
            optimizer.param_groups[0]["lr"] = 1.5 if 150 <= step < 156 else 0.05
            start, stride = torch.randint(tokens, (2, 16, 1))
            batch = (start + (1 + stride % 6) * torch.arange(length)) % tokens
            output = model(batch[:, :-1])
            loss = cross_entropy(output.flatten(0, 1), batch[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("train/loss", loss.item(), step)
