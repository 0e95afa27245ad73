"""The models that the figures are measured on."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import cross_entropy, gelu

VOCABULARY = 1000
WIDTH = 256
LENGTH = 128
HEADS = 8


class Attention(nn.Module):
    """Causal self-attention in single operations, as GPT-2's code has it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        self.register_buffer("mask", mask)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        shape = (batch, length, HEADS, width // HEADS)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) / (width // HEADS) ** 0.5
        weights = scores.masked_fill(~self.mask[:length, :length], float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """Twelve layers, GPT-2 shaped, with the loss of predicting the next token."""

    def __init__(self, layers: int = 12) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


class RecurrentLoop(nn.Module):
    """An ``LSTMCell`` applied in a Python loop: one long chain of many small nodes."""

    def __init__(self, steps: int = 2000) -> None:
        super().__init__()
        self.steps = steps
        self.cell = nn.LSTMCell(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = cell = torch.zeros(1, 8)
        for _ in range(self.steps):
            hidden, cell = self.cell(x, (hidden, cell))
        return hidden.sum()


def make_transformer(layers: int = 12) -> tuple[nn.Module, torch.Tensor]:
    """Make the transformer and one batch of tokens for it."""
    torch.manual_seed(0)
    return Transformer(layers), torch.randint(VOCABULARY, (1, LENGTH))


def make_recurrent_loop(steps: int = 2000) -> tuple[nn.Module, torch.Tensor]:
    """Make the loop and its input."""
    torch.manual_seed(0)
    return RecurrentLoop(steps), torch.randn(1, 8)


class Chain(nn.Module):
    """One operation after another."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length
        self.w = nn.Parameter(torch.tensor(1.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * self.w
        for _ in range(self.length):
            x = x * 1.00001
        return x.sum()


def make_chain(length: int = 100_000) -> tuple[nn.Module, torch.Tensor]:
    return Chain(length), torch.ones(1)
