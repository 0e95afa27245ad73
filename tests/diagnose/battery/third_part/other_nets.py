"""Nets of other domains: flow, energies, GAN, proxies, games, experts, graphs, adapters."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def perceptron(*widths: int, act: type[nn.Module] = nn.SiLU) -> nn.Sequential:
    """Return linear layers with activations between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [nn.Linear(inputs, outputs), act()]
    return nn.Sequential(*layers[:-1])


def moons(rows: int = 64) -> tuple[Tensor, Tensor]:
    """Return points of two half circles, and of which one."""
    side = torch.randint(0, 2, (rows,))
    angle = 3.14 * torch.rand(rows) + 3.14 * side
    points = torch.stack([torch.cos(angle) + side - 0.5, torch.sin(angle) + 0.4 * side], 1)
    return points + 0.05 * torch.randn_like(points), side


class Coupling(nn.Module):
    def __init__(self, flips: bool) -> None:
        super().__init__()
        self.net, self.flips = perceptron(1, 24, 2), flips
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.chunk(2, 1)
        a, b = (b, a) if self.flips else (a, b)
        scale, shift = self.net(a).chunk(2, 1)
        b = b * torch.exp(scale.tanh()) + shift
        return torch.cat([b, a] if self.flips else [a, b], 1), scale.tanh()[:, 0]


class Flow(nn.Module):
    def __init__(self, depth: int = 4) -> None:
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(i % 2 == 1) for i in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        logdet = x.new_zeros(len(x))
        for coupling in self.couplings:
            x, one = coupling(x)
            logdet = logdet + one
        return 0.5 * x.square().sum(1) - logdet


class Proxies(nn.Module):
    def __init__(self, classes: int = 4, width: int = 8) -> None:
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(classes, width))

    def forward(self, embedded: Tensor, labels: Tensor) -> Tensor:
        cosines = F.normalize(embedded) @ F.normalize(self.proxies).T
        return F.cross_entropy(8.0 * cosines, labels)


def blobs(rows: int = 32, classes: int = 4, width: int = 6) -> tuple[Tensor, Tensor]:
    """Return points around one corner for each class."""
    labels = torch.randint(0, classes, (rows,))
    return F.one_hot(labels, width).float() * 2 + 0.5 * torch.randn(rows, width), labels


class Player(nn.Module):
    def __init__(self, actions: int = 4) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.policy, self.value = nn.Linear(32, actions), nn.Linear(32, 1)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        h = self.trunk(states)
        return self.policy(h), self.value(h)[:, 0]


class Router(nn.Module):
    def __init__(self, experts: int = 4, width: int = 16, top: int = 1) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(6, width), nn.Linear(width, 4)
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(perceptron(width, width, width) for _ in range(experts))
        self.top = top

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = torch.tanh(self.into(x))
        weights = self.gate(x).softmax(1)
        best, chosen = weights.topk(self.top, 1)
        y = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            rows, place = (chosen == index).nonzero(as_tuple=True)
            if len(rows):
                y = y.index_add(0, rows, best[rows, place, None] * expert(x[rows]))
        return self.out(x + y), weights


class GraphNet(nn.Module):
    def __init__(self, depth: int = 3, width: int = 16, features: int = 5) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(features, width), nn.Linear(width, 2)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, features: Tensor, edges: Tensor) -> Tensor:
        spread = edges / edges.sum(1, keepdim=True)
        x = torch.relu(self.into(features))
        for layer in self.layers:
            x = torch.relu(layer(spread @ x))
        return self.out(x)


def communities(nodes: int = 30) -> tuple[Tensor, Tensor, Tensor]:
    """Return features, an adjacency with loops, and the community of each node."""
    labels = torch.arange(nodes) % 2
    odds = torch.where(labels[:, None] == labels, 0.4, 0.03)
    edges = (torch.rand(nodes, nodes) < odds).float().triu(1)
    features = torch.randn(nodes, 5)
    features[:, 0] += 1.5 * labels - 0.75
    return features, edges + edges.T + torch.eye(nodes), labels


class Adapter(nn.Module):
    def __init__(self, base: nn.Linear, rank: int = 2) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.lora_a = nn.Parameter(0.3 * torch.randn(rank, base.in_features))
        self.lora_b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + x @ self.lora_a.T @ self.lora_b.T


def adapted() -> nn.Sequential:
    """Return a frozen net of which two layers have adapters."""
    net = perceptron(6, 24, 24, 4).requires_grad_(False)
    net[0], net[2] = Adapter(net[0]), Adapter(net[2])
    return net
