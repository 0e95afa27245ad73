"""Nets for tables, graphs, clouds of points, fields and games."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class GraphLayer(nn.Module):
    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.own, self.other = nn.Linear(into, out), nn.Linear(into, out, bias=False)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        degree = edges.sum(1, keepdim=True)
        mean = (edges @ self.other(x)) / degree
        return self.own(x) + mean


class GraphNet(nn.Module):
    """The mean over neighbours, twice."""

    def __init__(self, width: int = 24, classes: int = 3) -> None:
        super().__init__()
        self.layer1, self.layer2 = GraphLayer(8, width), GraphLayer(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = F.elu(self.layer1(x, edges))
        return self.head(F.elu(self.layer2(x, edges)))


class AttentiveGraphNet(nn.Module):
    """Attention over neighbours; all others are masked out."""

    def __init__(self, width: int = 16, classes: int = 3) -> None:
        super().__init__()
        self.into = nn.Linear(8, width)
        self.left, self.right = nn.Linear(width, 1), nn.Linear(width, 1, bias=False)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = self.into(x)
        scores = F.leaky_relu(self.left(x) + self.right(x).T, 0.2)
        scores = scores.masked_fill(edges == 0, float("-inf"))
        return self.head(F.elu(scores.softmax(1) @ x))


def communities(nodes: int = 36, noise: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Return features, edges with self-loops and labels of a graph of three communities."""
    labels = torch.arange(nodes) % 3
    same = labels[:, None] == labels
    edges = (torch.rand(nodes, nodes) < torch.where(same, 0.4, 0.03)).float()
    edges = ((edges + edges.T + torch.eye(nodes)) > 0).float()
    features = noise * torch.randn(nodes, 8)
    features[:, :3] += F.one_hot(labels, 3) * 1.5
    return features, edges, labels


class PointNet(nn.Module):
    def __init__(self, width: int = 32, classes: int = 3) -> None:
        super().__init__()
        self.local = nn.Sequential(
            nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.whole = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes))

    def forward(self, points: Tensor) -> Tensor:
        return self.whole(self.local(points).amax(1))


def clouds(size: int = 16, points: int = 20) -> tuple[Tensor, Tensor]:
    """Return balls, sticks and plates of points."""
    labels = torch.randint(3, (size,))
    shapes = torch.tensor([[1.0, 1.0, 1.0], [2.5, 0.2, 0.2], [1.5, 1.5, 0.1]])
    return torch.randn(size, points, 3) * shapes[labels][:, None], labels


class Mixture(nn.Module):
    """A mixture of three normal densities of y, given x."""

    def __init__(self, width: int = 24, parts: int = 3) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.weights, self.means = nn.Linear(width, parts), nn.Linear(width, parts)
        self.widths = nn.Linear(width, parts)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.body(x)
        return self.weights(h), self.means(h), F.softplus(self.widths(h)) + 0.05


def arcs(size: int = 48) -> tuple[Tensor, Tensor]:
    x = 2 * torch.rand(size, 1) - 1
    sign = torch.randint(2, (size, 1)) * 2.0 - 1
    return x, sign * (1 - x * x).sqrt() + 0.05 * torch.randn(size, 1)


class QNet(nn.Module):
    def __init__(self, inputs: int = 4, actions: int = 3, width: int = 32) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.q = nn.Linear(width, actions)

    def forward(self, x: Tensor) -> Tensor:
        return self.q(self.body(x))


def transitions(size: int = 32) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return states, actions, rewards and next states; the best action is a part of the state."""
    states, after = torch.randn(size, 4), torch.randn(size, 4)
    actions = torch.randint(3, (size,))
    return states, actions, (actions == states[:, :3].argmax(1)).float(), after


class Coupling(nn.Module):
    def __init__(self, flip: bool, width: int = 24) -> None:
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, 4))
        nn.init.zeros_(self.net[2].weight)
        nn.init.zeros_(self.net[2].bias)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = x.flip(1).chunk(2, 1) if self.flip else x.chunk(2, 1)
        scale, shift = self.net(a).chunk(2, 1)
        scale = torch.tanh(scale)
        return torch.cat([a, b * scale.exp() + shift], 1), scale.sum(1)


class Flow(nn.Module):
    """A normalizing flow of four dimensions. It returns the negative log likelihood."""

    def __init__(self) -> None:
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(i % 2 == 1) for i in range(4))

    def forward(self, x: Tensor) -> Tensor:
        total = x.new_zeros(len(x))
        for coupling in self.couplings:
            x, log_det = coupling(x)
            total = total + log_det
        return (0.5 * x.square().sum(1) - total).mean()


class Towers(nn.Module):
    """Two towers over users and items; the score is their product."""

    def __init__(self, users: int = 40, items: int = 40, width: int = 12) -> None:
        super().__init__()
        self.user_embed, self.item_embed = nn.Embedding(users, width), nn.Embedding(items, width)
        self.user_tower = nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, width))
        self.item_tower = nn.Sequential(nn.Linear(width, 24), nn.ReLU(), nn.Linear(24, width))

    def forward(self, users: Tensor, items: Tensor) -> Tensor:
        user = self.user_tower(self.user_embed(users))
        return user @ self.item_tower(self.item_embed(items)).T


def visits(size: int = 16, users: int = 40) -> tuple[Tensor, Tensor]:
    """Return users and what they chose; some users are rare."""
    who = (torch.rand(size).square() * users).long()
    return who, (who * 7 + torch.randint(2, (size,))) % 40


class TableNet(nn.Module):
    def __init__(self, columns: int = 6, width: int = 32, norm: bool = True) -> None:
        super().__init__()
        self.kind = nn.Embedding(5, 4)
        self.fc1, self.fc2 = nn.Linear(columns + 4, width), nn.Linear(width, width)
        self.bn = nn.BatchNorm1d(width) if norm else nn.Identity()
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 1)

    def forward(self, numbers: Tensor, kinds: Tensor) -> Tensor:
        x = torch.cat([numbers, self.kind(kinds)], 1)
        x = self.drop(F.relu(self.bn(self.fc1(x))))
        return self.out(F.relu(self.fc2(x)))[:, 0]


def rows(size: int = 32, columns: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    numbers, kinds = torch.randn(size, columns), torch.randint(5, (size,))
    target = numbers[:, 0] - numbers[:, 1] + 0.5 * (kinds == 2) + 0.1 * torch.randn(size)
    return numbers, kinds, target


class Field(nn.Module):
    """A net of sines, as for pictures and fields as functions."""

    def __init__(self, inputs: int = 2, width: int = 32, omega: float = 12.0) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(inputs, width), nn.Linear(width, width)])
        self.last = nn.Linear(width, 1)
        self.omega = omega
        nn.init.uniform_(self.layers[1].weight, -((6 / width) ** 0.5) / omega, 0.4 / omega)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.sin(self.omega * layer(x))
        return self.last(x)


class ActorCritic(nn.Module):
    def __init__(self, actions: int = 3, width: int = 32) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, width), nn.Tanh())
        self.actor, self.critic = nn.Linear(width, actions), nn.Linear(width, 1)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        h = self.trunk(states)
        return self.actor(h), self.critic(h)[:, 0]
