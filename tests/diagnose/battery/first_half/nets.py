"""Small nets of the usual families, written as people write them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it


class MLP(nn.Module):
    """Two hidden layers."""

    def __init__(self, features: int = 10, hidden: int = 32, classes: int = 4) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(F.relu(self.fc2(F.relu(self.fc1(x)))))


class ConvNet(nn.Module):
    """Two convolutions with batch norm; their biases are taken out by it."""

    def __init__(self, channels: int = 8, classes: int = 3) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels * 25, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(x, 2)
        x = F.relu(self.bn2(self.conv2(x)))
        return self.head(x.flatten(1))


class PlainConvNet(nn.Module):
    """Two convolutions without a normalization."""

    def __init__(self, channels: int = 8, classes: int = 3) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.head = nn.Linear(channels * 25, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return self.head(F.relu(self.conv2(x)).flatten(1))


class SelfAttention(nn.Module):
    """Attention of several heads with the scores written out, causal if asked for."""

    def __init__(self, width: int = 16, heads: int = 2, causal: bool = True) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.scale = (width // heads) ** -0.5
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.proj = nn.Linear(width, width)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = q @ k.transpose(-2, -1) * self.scale
        if self.causal:
            future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, float("-inf"))
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None], float("-inf"))
        weights = torch.softmax(scores, -1)
        return self.proj((weights @ v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and an MLP, each after a layer norm and around which there is a way."""

    def __init__(self, width: int = 16, heads: int = 2, causal: bool = True) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = SelfAttention(width, heads, causal)
        self.fc, self.out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        x = x + self.attn(self.ln1(x), mask)
        return x + self.out(F.gelu(self.fc(self.ln2(x))))


class GPT(nn.Module):
    """A language model of a few blocks."""

    def __init__(
        self, vocabulary: int = 12, width: int = 16, depth: int = 2, length: int = 10
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class ViT(nn.Module):
    """Patches of two by two, a class token and two blocks."""

    def __init__(self, width: int = 16, classes: int = 3, depth: int = 2) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, width, 2, stride=2)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(0.02 * torch.randn(26, width))
        self.blocks = nn.ModuleList(Block(width, causal=False) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0]))


class Recurrent(nn.Module):
    """An LSTM or GRU over a wave, and the next value from its last state."""

    def __init__(self, kind: type[nn.RNNBase] = nn.LSTM, hidden: int = 16) -> None:
        super().__init__()
        self.rnn = kind(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.rnn(x)
        return self.head(states[:, -1])


class Looped(nn.Module):
    """A cell that a loop calls once for each element of a sequence."""

    def __init__(self, hidden: int = 16, nonlinearity: str = "tanh") -> None:
        super().__init__()
        self.cell = nn.RNNCell(1, hidden, nonlinearity=nonlinearity)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros(len(x), self.cell.hidden_size)
        for t in range(x.shape[1]):
            state = self.cell(x[:, t], state)
        return self.head(state)
