"""The trainings that watching is measured on: each gives a step to run, and its model."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.nn.functional import cross_entropy, gelu, mse_loss, relu

Batch = tuple[torch.Tensor, torch.Tensor]
Forward = Callable[[torch.Tensor], torch.Tensor]


@dataclasses.dataclass(frozen=True)
class Training:
    """A model with its optimizer and its batches, and one step of its loop."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batches: Iterator[Batch]
    loss_of: Callable[[Forward, torch.Tensor, torch.Tensor], torch.Tensor]

    def step(self) -> None:
        """Run forward, backward and update."""
        self.step_through(self.model, torch.Tensor.backward)

    def step_through(self, forward: Forward, backward: Callable[[torch.Tensor], object]) -> None:
        """Run a step whose forward and backward somebody else calls."""
        self.optimizer.zero_grad()
        backward(self.loss_of(forward, *next(self.batches)))
        self.optimizer.step()


def training_of(
    model: nn.Module,
    make_batch: Callable[[], Batch],
    loss_of: Callable[[Forward, torch.Tensor, torch.Tensor], torch.Tensor],
) -> Training:
    batches = itertools.cycle([make_batch() for _ in range(64)])
    # Steps must stay alike: a model that learns its one batch by heart has gradients so small
    # that they become subnormal, on which processors take many times as long.
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-8)
    return Training(model, optimizer, batches, loss_of)


def mlp() -> Training:
    """4 layers of 256, batch 64."""
    layers = [layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(256, 10))
    return training_of(model, lambda: (torch.randn(64, 256), torch.randint(10, (64,))), _class_loss)


def _class_loss(forward: Forward, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return cross_entropy(forward(x), y)


def _images(count: int, side: int) -> Batch:
    return torch.randn(count, 3, side, side), torch.randint(10, (count,))


class Residual(nn.Module):
    """A residual block of ResNet: convolutions with batch normalization, and the way around."""

    def __init__(self, shapes: list[tuple[int, int, int, int]], way_around: bool) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(into, out, size, stride, size // 2, bias=False)
            for into, out, size, stride in shapes
        )
        self.norms = nn.ModuleList(nn.BatchNorm2d(out) for _, out, _, _ in shapes)
        into, out = shapes[0][0], shapes[-1][1]
        stride = max(stride for *_, stride in shapes)
        self.around = (
            nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out))
            if way_around
            else nn.Identity()
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for place, (convolution, norm) in enumerate(zip(self.convolutions, self.norms), 1):
            y = norm(convolution(y))
            y = relu(y) if place < len(self.norms) else y
        return relu(y + self.around(x))


class ResNet(nn.Module):
    """ResNet-18 or ResNet-50, by the number of blocks, their kind, and what comes first."""

    def __init__(self, blocks: tuple[int, ...], bottleneck: bool, stem: nn.Module) -> None:
        super().__init__()
        self.stem = stem
        layers: list[nn.Module] = []
        into = 64
        for stage, count in enumerate(blocks):
            width, out = 64 * 2**stage, 64 * 2**stage * (4 if bottleneck else 1)
            for block in range(count):
                stride = 2 if stage and not block else 1
                shapes = (
                    [(into, width, 1, 1), (width, width, 3, stride), (width, out, 1, 1)]
                    if bottleneck
                    else [(into, width, 3, stride), (width, width, 3, 1)]
                )
                layers.append(Residual(shapes, stride > 1 or into != out))
                into = out
        self.blocks = nn.ModuleList(layers)
        self.head = nn.Linear(into, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean((2, 3)))


def resnet18() -> Training:
    """32 x 32, batch 16, with the stem for small images."""
    stem = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU())
    return training_of(ResNet((2, 2, 2, 2), False, stem), lambda: _images(16, 32), _class_loss)


def resnet50() -> Training:
    """64 x 64, batch 8: many parameters for its work."""
    convolution = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
    stem = nn.Sequential(convolution, nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    return training_of(ResNet((3, 4, 6, 3), True, stem), lambda: _images(8, 64), _class_loss)


class GPT(nn.Module):
    """GPT-2 shaped; embedding and head share their weight."""

    def __init__(self, layers: int, width: int, heads: int, vocabulary: int, length: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(GPTBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class GPTBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norm1(x))
        return x + self.down(gelu(self.up(self.norm2(x))))

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.qkv(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


def _language(model: GPT, batch: int, length: int, vocabulary: int) -> Training:
    def make_batch() -> Batch:
        tokens = torch.randint(vocabulary, (batch, length + 1))
        return tokens[:, :-1], tokens[:, 1:].flatten()

    return training_of(model, make_batch, _token_loss)


def _token_loss(forward: Forward, tokens: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
    return cross_entropy(forward(tokens).flatten(0, 1), following)


def gpt() -> Training:
    """12 layers of 256, sequence 128, batch 4, GPT-2's vocabulary."""
    return _language(GPT(12, 256, 8, 50_257, 128), 4, 128, 50_257)


def deep() -> Training:
    """100 thin layers of 32: 1,206 parameters that are tiny."""
    return _language(GPT(100, 32, 2, 256, 32), 8, 32, 256)


class Loop(nn.Module):
    """An LSTMCell over 2,000 steps."""

    def __init__(self, steps: int = 2000, width: int = 32) -> None:
        super().__init__()
        self.cell, self.head = nn.LSTMCell(width, width), nn.Linear(width, 1)
        self.steps = steps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = cell = torch.zeros_like(x)
        for _ in range(self.steps):
            hidden, cell = self.cell(x, (hidden, cell))
        return self.head(hidden)


def loop() -> Training:
    """LSTMCell, 2,000 steps, batch 8."""
    return training_of(
        Loop(),
        lambda: (torch.randn(8, 32), torch.randn(8, 1)),
        lambda forward, x, y: mse_loss(forward(x), y),
    )


TRAININGS: dict[str, Callable[[], Training]] = {
    "MLP": mlp,
    "ResNet-18": resnet18,
    "ResNet-50": resnet50,
    "GPT-2 shaped": gpt,
    "100 thin layers": deep,
    "LSTMCell loop": loop,
}
