"""Nets of sequences: translation with attention, dilated convolutions, state spaces, gates."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TOKENS = 12


def counting(rows: int = 16, length: int = 8) -> Tensor:
    """Return sequences that count up from anywhere, by one or two; 0 is kept for padding."""
    start, stride = torch.randint(0, 11, (rows, 1)), torch.randint(1, 3, (rows, 1))
    return 1 + (start + stride * torch.arange(length)) % (TOKENS - 1)


def padded(rows: int = 16, length: int = 8) -> Tensor:
    """Return the same, of different lengths."""
    ends = torch.randint(3, length + 1, (rows, 1))
    return counting(rows, length) * (torch.arange(length) < ends)


class Translator(nn.Module):
    def __init__(self, width: int = 24, vocabulary: int = TOKENS, scale: float = 1.0) -> None:
        super().__init__()
        self.source_embed = nn.Embedding(vocabulary, width)
        self.target_embed = nn.Embedding(TOKENS, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.query = nn.Linear(width, width)
        self.out = nn.Linear(2 * width, TOKENS)
        self.scale = scale / width**0.5

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        return self.encoder(self.source_embed(source))

    def decode(self, memory: Tensor, state: Tensor, target: Tensor, mask: Tensor) -> Tensor:
        states, _ = self.decoder(self.target_embed(target), state)
        scores = self.query(states) @ memory.transpose(1, 2) * self.scale
        weights = scores.masked_fill(mask[:, None, :], -torch.inf).softmax(-1)
        return self.out(torch.cat([states, weights @ memory], -1))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory, state = self.encode(source)
        return self.decode(memory, state, target, source == 0)


def translate(model: nn.Module, source: Tensor) -> Tensor:
    """Return the loss of saying the same again."""
    shifted = F.pad(source[:, :-1], (1, 0))
    return F.cross_entropy(model(source, shifted).flatten(0, 1), source.flatten(), ignore_index=0)


class Dilated(nn.Module):
    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.reach = dilation
        self.filter = nn.Conv1d(width, 2 * width, 2, dilation=dilation)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = self.filter(F.pad(x, (self.reach, 0))).chunk(2, 1)
        y = self.mix(torch.tanh(a) * torch.sigmoid(b))
        return x + y, y


class Wave(nn.Module):
    def __init__(self, width: int = 16, depth: int = 5, classes: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(classes, width)
        self.layers = nn.ModuleList(Dilated(width, 2**i) for i in range(depth))
        self.post = nn.Conv1d(width, width, 1)
        self.out = nn.Conv1d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x).transpose(1, 2)
        skips = torch.zeros_like(x)
        for layer in self.layers:
            x, skip = layer(x)
            skips = skips + skip
        return self.out(F.relu(self.post(F.relu(skips))))


def tones(rows: int = 8, length: int = 40, classes: int = 16) -> Tensor:
    """Return quantized sines of several pitches."""
    phase = 6.3 * torch.rand(rows, 1) + torch.rand(rows, 1).add(0.2) * torch.arange(length)
    return ((torch.sin(phase) * 0.499 + 0.5) * classes).long()


class StateCell(nn.Module):
    def __init__(self, width: int, decay: float) -> None:
        super().__init__()
        self.transition = nn.Parameter(torch.full((width,), decay))
        self.into = nn.Linear(1, width)

    def forward(self, state: Tensor, x: Tensor) -> Tensor:
        return state * self.transition + self.into(x)


class StateSpace(nn.Module):
    def __init__(self, width: int = 12, decay: float = 0.95) -> None:
        super().__init__()
        self.cell = StateCell(width, decay)
        self.out = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, 1))

    def forward(self, x: Tensor) -> Tensor:
        state = x.new_zeros(len(x), self.cell.transition.numel())
        for moment in x.unbind(1):
            state = self.cell(state, moment[:, None])
        return self.out(state)[:, 0]


class GateCell(nn.Module):
    def __init__(self, inputs: int, width: int, std: float = 0.2) -> None:
        super().__init__()
        self.gates = nn.Linear(inputs + width, 2 * width)
        self.candidate = nn.Linear(inputs + width, width)
        nn.init.normal_(self.gates.weight, std=std)
        nn.init.normal_(self.candidate.weight, std=std)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        keep, reset = torch.sigmoid(self.gates(torch.cat([x, state], 1))).chunk(2, 1)
        new = torch.tanh(self.candidate(torch.cat([x, reset * state], 1)))
        return keep * state + (1 - keep) * new


class Gated(nn.Module):
    def __init__(self, width: int = 16, std: float = 0.2) -> None:
        super().__init__()
        self.cell, self.out = GateCell(3, width, std), nn.Linear(width, 2)
        self.width = width

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        state = x.new_zeros(len(x), self.width) if state is None else state
        for moment in x.unbind(1):
            state = self.cell(moment, state)
        return self.out(state), state


def walks(rows: int = 16, length: int = 10) -> tuple[Tensor, Tensor]:
    """Return walks, and on which side they end."""
    x = torch.randn(rows, length, 3)
    return x, (x[:, :, 0].sum(1) > 0).long()


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int = 2, scale: float | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5 if scale is None else scale
        self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        rows, length, width = x.shape
        parts = self.qkv(x).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = parts[0] @ parts[1].transpose(-1, -2) * self.scale
        if hidden is not None:
            scores = scores.masked_fill(hidden, -torch.inf)
        y = scores.softmax(-1) @ parts[2]
        return self.join(y.transpose(1, 2).reshape(rows, length, width))


class Block(nn.Module):
    def __init__(self, width: int, scale: float | None = None) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, scale=scale)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.norm1(x), hidden)
        return x + self.mlp(self.norm2(x))


class Speller(nn.Module):
    def __init__(self, width: int = 24, depth: int = 2, scale: float | None = None) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS, width)
        self.position = nn.Parameter(0.02 * torch.randn(16, width))
        self.blocks = nn.ModuleList(Block(width, scale) for _ in range(depth))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, TOKENS, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        x = self.embed(tokens) + self.position[:length]
        for block in self.blocks:
            x = block(x, hidden)
        return self.out(self.norm(x))


def spell(model: nn.Module, tokens: Tensor) -> Tensor:
    """Return the loss of the next token."""
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
