"""Nets that read or make sequences and points, small in width and as deep as people train them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import gelu

TOKENS, WIDTH, LENGTH = 32, 32, 16


class Translator(nn.Module):
    """An encoder and a decoder, with torch's own transformer between the embeddings and the head."""

    def __init__(self, layers: int = 3) -> None:
        super().__init__()
        self.src_embed, self.tgt_embed = nn.Embedding(TOKENS, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.position = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        self.transformer = nn.Transformer(
            WIDTH, 4, layers, layers, 2 * WIDTH, dropout=0.0, batch_first=True
        )
        self.generator = nn.Linear(WIDTH, TOKENS)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        source = self.src_embed(source) + self.position
        target = self.tgt_embed(target) + self.position
        return self.generator(self.transformer(source, target))


class Unrolled(nn.Module):
    """A cell that is called for each token in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(TOKENS, WIDTH), nn.LSTMCell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = cell = torch.zeros(tokens.shape[0], WIDTH)
        for x in self.embed(tokens).unbind(1):
            hidden, cell = self.cell(x, (hidden, cell))
        return self.head(hidden)


class Generator(nn.Module):
    """Points from noise."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            *(nn.Linear(8, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU()),
            *(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU()),
            *(nn.Linear(WIDTH, 2), nn.Tanh()),
        )

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.net(noise)


class Discriminator(nn.Module):
    """Whether points are real."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            *(nn.Linear(2, WIDTH), nn.LeakyReLU(0.2), nn.Linear(WIDTH, WIDTH), nn.LeakyReLU(0.2)),
            nn.Linear(WIDTH, 1),
        )

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        return self.net(points)


class GAN(nn.Module):
    """The two as the generator's step sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.generator, self.discriminator = Generator(), Discriminator()

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.discriminator(self.generator(noise))


class Expert(nn.Module):
    """A small net for some of the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(gelu(self.up(x)))


class Mixture(nn.Module):
    """Four experts, each weighed by a gate."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.gate = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4, bias=False)
        self.experts = nn.ModuleList(Expert() for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        weights = self.gate(y).softmax(-1)
        outputs = torch.stack([expert(y) for expert in self.experts], -1)
        return x + (outputs * weights.unsqueeze(-2)).sum(-1)


class MixtureOfExperts(nn.Module):
    """Two layers of experts."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(TOKENS, WIDTH)
        self.layers = nn.ModuleList(Mixture() for _ in range(2))
        self.head = nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))
