"""Healthy trainings on graphs, clouds, densities, fields, tables and games."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import fit
from tests.diagnose.battery.second_half.nets_of_points import (
    ActorCritic,
    AttentiveGraphNet,
    Field,
    Flow,
    GraphNet,
    Mixture,
    PointNet,
    QNet,
    TableNet,
    Towers,
    arcs,
    clouds,
    communities,
    rows,
    transitions,
    visits,
)


def graph_with_few_labels(watch: Watch) -> None:
    torch.manual_seed(161)
    model = GraphNet()
    features, edges, labels = communities(noise=2.0)
    known = torch.arange(36) < 24

    def loss_of(step: int) -> Tensor:
        dropped = F.dropout(features, 0.3)
        return F.cross_entropy(model(dropped, edges)[known], labels[known])

    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-2)
    fit(watch, model, optimizer, loss_of)


def graph_with_masked_attention(watch: Watch) -> None:
    torch.manual_seed(162)
    model = AttentiveGraphNet()

    def loss_of(step: int) -> Tensor:
        features, edges, labels = communities()
        return F.cross_entropy(model(features, edges), labels)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-2), loss_of)


def clouds_of_points(watch: Watch) -> None:
    torch.manual_seed(163)
    model = PointNet()

    def loss_of(step: int) -> Tensor:
        points, labels = clouds()
        return F.cross_entropy(model(points), labels)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=5e-3), loss_of, steps=60)


def mixture_of_densities(watch: Watch) -> None:
    torch.manual_seed(164)
    model = Mixture()

    def loss_of(step: int) -> Tensor:
        x, y = arcs()
        weights, means, widths = model(x)
        parts = torch.distributions.Normal(means, widths).log_prob(y)
        return -torch.logsumexp(weights.log_softmax(1) + parts, 1).mean()

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-2), loss_of, steps=70)


def flow_from_the_identity(watch: Watch) -> None:
    torch.manual_seed(165)
    model = Flow()
    mixing = torch.tensor([[1.0, 0.8, 0, 0], [0, 0.4, 0, 0], [0, 0, 0.3, 0.9], [0, 0.5, 0, 0.2]])

    def loss_of(step: int) -> Tensor:
        return model(torch.randn(64, 4) @ mixing)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=5e-3), loss_of, steps=60)


def field_of_sines(watch: Watch) -> None:
    torch.manual_seed(166)
    model = Field()

    def loss_of(step: int) -> Tensor:
        x = 2 * torch.rand(128, 2) - 1
        return F.mse_loss(model(x), torch.sin(4 * x[:, :1]) * x[:, 1:])

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=2e-3), loss_of, steps=60)


def field_under_an_equation(watch: Watch) -> None:
    torch.manual_seed(167)
    model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh())
    model.append(nn.Linear(24, 1))

    def loss_of(step: int) -> Tensor:
        x = torch.rand(48, 1, requires_grad=True)
        slope = torch.autograd.grad(model(x).sum(), x, create_graph=True)[0]
        boundary = (model(torch.zeros(1, 1)) - 1).square().mean()
        return (slope + 2 * model(x)).square().mean() + 5 * boundary

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=5e-3), loss_of, steps=70)


def table_with_dropout(watch: Watch) -> None:
    torch.manual_seed(168)
    model = TableNet()

    def loss_of(step: int) -> Tensor:
        numbers, kinds, target = rows(48)
        return F.huber_loss(model(numbers, kinds), target)

    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, nesterov=True)
    fit(watch, model, optimizer, loss_of, steps=60)


def table_by_second_order(watch: Watch) -> None:
    torch.manual_seed(169)
    model = TableNet(norm=False)
    model.drop.p = 0.0
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=3)
    numbers, kinds, target = rows(128)
    watch(model, optimizer=optimizer)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(numbers, kinds), target)
        loss.backward()
        return loss

    for _ in range(30):
        optimizer.step(closure)


def towers_with_rare_users(watch: Watch) -> None:
    torch.manual_seed(170)
    model = Towers()

    def loss_of(step: int) -> Tensor:
        users, items = visits(24)
        scores = model(users, items)
        same = (items[:, None] == items) & ~torch.eye(24, dtype=torch.bool)
        scores = scores.masked_fill(same, float("-inf"))  # what was chosen is no negative
        return F.cross_entropy(scores, torch.arange(24))

    fit(watch, model, torch.optim.Adagrad(model.parameters(), lr=0.1), loss_of, steps=60)


def dqn_with_target(watch: Watch) -> None:
    torch.manual_seed(171)
    model = QNet()
    target = copy.deepcopy(model).requires_grad_(False)

    def loss_of(step: int) -> Tensor:
        if step % 20 == 0:
            target.load_state_dict(model.state_dict())
        states, actions, rewards, after = transitions(64)
        with torch.no_grad():
            goal = rewards + 0.3 * target(after).amax(1)
        chosen = model(states).gather(1, actions[:, None])[:, 0]
        return F.smooth_l1_loss(chosen, goal)

    fit(watch, model, torch.optim.RMSprop(model.parameters(), lr=2e-3), loss_of, 70, clip=10.0)


def twin_critics(watch: Watch) -> None:
    torch.manual_seed(172)
    model = nn.ModuleDict({"first": QNet(), "second": QNet()})
    targets = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    watch(model, optimizer=optimizer)
    for _ in range(60):
        states, actions, rewards, after = transitions(64)
        with torch.no_grad():
            least = torch.minimum(targets["first"](after), targets["second"](after))
            goal = rewards + 0.3 * least.amax(1)
        loss = torch.zeros(())
        for critic in model.values():
            chosen = critic(states).gather(1, actions[:, None])[:, 0]
            loss = loss + F.mse_loss(chosen, goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(targets.parameters(), model.parameters()):
                slow.lerp_(fast, 0.05)


def proximal_policy(watch: Watch) -> None:
    torch.manual_seed(173)
    model = ActorCritic()
    nn.init.zeros_(model.actor.weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, eps=1e-5)
    watch(model, optimizer=optimizer)
    for _ in range(20):
        states = torch.randn(96, 4)
        with torch.no_grad():
            policy = torch.distributions.Categorical(logits=model(states)[0])
            actions = policy.sample()
            before = policy.log_prob(actions)
            rewards = (actions == states[:, :3].argmax(1)).float()
            advantages = rewards - model(states)[1]
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        for _ in range(3):
            logits, values = model(states)
            policy = torch.distributions.Categorical(logits=logits)
            ratio = (policy.log_prob(actions) - before).exp()
            gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
            loss = -gain.mean() + 0.5 * F.mse_loss(values, rewards)
            loss = loss - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()


CASES = (
    Case("graph: few labels", graph_with_few_labels, family="graph"),
    Case("graph: attention masked by infinity", graph_with_masked_attention, family="graph"),
    Case("points: greatest over a cloud", clouds_of_points, family="points"),
    Case("mixture: log of a sum of densities", mixture_of_densities, family="mlp"),
    Case("flow: begins at the identity", flow_from_the_identity, family="flow"),
    Case("field: sines", field_of_sines, family="field"),
    Case("field: under an equation", field_under_an_equation, family="field"),
    Case("table: dropout and batch norm", table_with_dropout, family="mlp"),
    Case("table: LBFGS", table_by_second_order, family="mlp"),
    Case("towers: rare users, infinite mask", towers_with_rare_users, family="towers"),
    Case("dqn: a target that is copied at times", dqn_with_target, family="dqn"),
    Case("dqn: twin critics", twin_critics, family="dqn"),
    Case("policy: proximal", proximal_policy, family="actor-critic"),
)
