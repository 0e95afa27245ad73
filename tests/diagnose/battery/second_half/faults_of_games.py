"""Faults in reinforcement learning, recommendation and a deep net of sigmoids."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import fit
from tests.diagnose.battery.second_half.nets_of_points import (
    ActorCritic,
    QNet,
    Towers,
    rows,
    transitions,
    visits,
)


def adam_without_epsilon(watch: Watch) -> None:
    torch.manual_seed(81)
    model = QNet(actions=6)  # of which the game uses three
    target = copy.deepcopy(model).requires_grad_(False)

    def loss_of(step: int) -> Tensor:
        states, actions, rewards, after = transitions()
        with torch.no_grad():
            goal = rewards + 0.5 * target(after)[:, :3].amax(1)
        chosen = model(states).gather(1, actions[:, None])[:, 0]
        return F.smooth_l1_loss(chosen, goal)

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=0.0)
    fit(watch, model, optimizer, loss_of, steps=30)


class Twins(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = QNet()
        self.second = copy.deepcopy(self.first)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        return self.first(states), self.second(states)


def twin_critics_that_are_copies(watch: Watch) -> None:
    torch.manual_seed(82)
    model = Twins()
    target = copy.deepcopy(model).requires_grad_(False)

    def loss_of(step: int) -> Tensor:
        states, actions, rewards, after = transitions()
        with torch.no_grad():
            goal = rewards + 0.5 * torch.minimum(*target(after)).amax(1)
        q1, q2 = (q.gather(1, actions[:, None])[:, 0] for q in model(states))
        return F.mse_loss(q1, goal) + F.mse_loss(q2, goal)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of)


def trunk_in_two_optimizers(watch: Watch) -> None:
    torch.manual_seed(83)
    model = ActorCritic()
    shared = list(model.trunk.parameters())
    actor_optimizer = torch.optim.Adam(shared + list(model.actor.parameters()), lr=3e-3)
    critic_optimizer = torch.optim.Adam(shared + list(model.critic.parameters()), lr=3e-3)
    watch(model, optimizer=[actor_optimizer, critic_optimizer])
    for _ in range(50):
        states = torch.randn(32, 4)
        logits, values = model(states)
        policy = torch.distributions.Categorical(logits=logits)
        actions = policy.sample()
        rewards = (actions == states[:, :3].argmax(1)).float()
        advantages = rewards - values.detach()
        loss = F.mse_loss(values, rewards) - (policy.log_prob(actions) * advantages).mean()
        actor_optimizer.zero_grad()
        critic_optimizer.zero_grad()
        loss.backward()
        actor_optimizer.step()
        critic_optimizer.step()


class Squashed(nn.Module):
    """A policy of actions between -1 and 1."""

    def __init__(self, std: float = 0.3) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.mean = nn.Linear(32, 2)
        for layer in (self.body[0], self.body[2]):
            nn.init.normal_(layer.weight, std=std)

    def forward(self, states: Tensor) -> Tensor:
        return self.mean(self.body(states))

    def log_likelihood(self, states: Tensor, actions: Tensor) -> Tensor:
        raw = torch.atanh(actions)
        return -0.5 * (raw - self(states)).square().sum(1) - torch.log1p(-(actions**2)).sum(1)


def demonstrated_action_at_its_bound(watch: Watch) -> None:
    torch.manual_seed(84)
    model = Squashed()

    def loss_of(step: int) -> Tensor:
        states = torch.randn(32, 4)
        actions = torch.tanh(0.8 * states[:, :2])
        if step == 20:
            actions[6, 1] = 1.0
        return -model.log_likelihood(states, actions).mean()

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=3e-3), loss_of, steps=30)


def policy_begun_too_wide(watch: Watch) -> None:
    torch.manual_seed(85)
    model = Squashed(std=6.0)

    def loss_of(step: int) -> Tensor:
        states = torch.randn(32, 4)
        return F.mse_loss(model(states), 0.8 * states[:, :2])

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of)


def rewards_never_scaled(watch: Watch) -> None:
    torch.manual_seed(86)
    model = ActorCritic()

    def loss_of(step: int) -> Tensor:
        states = torch.randn(32, 4)
        logits, values = model(states)
        policy = torch.distributions.Categorical(logits=logits)
        actions = policy.sample()
        rewards = 5000.0 * (actions == states[:, :3].argmax(1)).float()
        advantages = rewards - rewards.mean()
        advantages = advantages / (advantages.std() + 1e-6)
        policy_loss = -(policy.log_prob(actions) * advantages).mean()
        value_loss = F.mse_loss(values, rewards)
        return policy_loss + 0.5 * value_loss

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, clip=0.5)


def rank(model: nn.Module) -> Tensor:
    users, items = visits()
    return F.cross_entropy(model(users, items), torch.arange(len(users)))


def only_one_tower_in_the_optimizer(watch: Watch) -> None:
    torch.manual_seed(87)
    model = Towers()
    user_side = [*model.user_embed.parameters(), *model.user_tower.parameters()]
    optimizer = torch.optim.Adam(user_side, lr=3e-3)
    fit(watch, model, optimizer, lambda step: rank(model))


def users_hashed_to_a_few(watch: Watch) -> None:
    torch.manual_seed(88)
    model = Towers(users=400)

    def loss_of(step: int) -> Tensor:
        users, items = visits()
        return F.cross_entropy(model(users % 10, items), torch.arange(len(users)))

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=3e-3), loss_of, steps=60)


class DeepSigmoid(nn.Module):
    def __init__(self, depth: int = 12, width: int = 24, gain: float = 1.0) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.into, self.out = nn.Linear(6, width), nn.Linear(width, 1)
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=gain / width**0.5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.into(x)
        for layer in self.layers:
            x = torch.sigmoid(layer(x))
        return self.out(x)[:, 0]


def twelve_sigmoids(watch: Watch) -> None:
    torch.manual_seed(72)
    model = DeepSigmoid()

    def loss_of(step: int) -> Tensor:
        numbers, _, target = rows()
        return F.mse_loss(model(numbers), target)

    fit(watch, model, torch.optim.SGD(model.parameters(), lr=0.05), loss_of, steps=40)


CASES = (
    Case(
        "dqn: Adam without epsilon",
        adam_without_epsilon,
        ("nonfinite_weight",),
        ("q.*", "body*"),
        1,
        "dqn",
    ),
    Case(
        "dqn: twin critics are copies",
        twin_critics_that_are_copies,
        ("equal_weights",),
        ("first*", "second*"),
        None,
        "dqn",
    ),
    Case(
        "actor-critic: the trunk is in two optimizers",
        trunk_in_two_optimizers,
        ("optimized_twice",),
        (),
        None,
        "actor-critic",
    ),
    Case(
        "policy: a demonstrated action at its bound",
        demonstrated_action_at_its_bound,
        ("nonfinite_value",),
        ("*atanh*", "*log1p*", "*raw*"),
        20,
        "actor-critic",
    ),
    Case(
        "policy: begun too wide",
        policy_begun_too_wide,
        ("saturated",),
        ("body*", "*tanh*"),
        0,
        "actor-critic",
    ),
    Case(
        "actor-critic: rewards never scaled",
        rewards_never_scaled,
        ("loss_imbalance",),
        (),
        0,
        "actor-critic",
    ),
    Case(
        "towers: only one is in the optimizer",
        only_one_tower_in_the_optimizer,
        ("not_optimized",),
        ("item*",),
        0,
        "towers",
    ),
    Case(
        "towers: users hashed to a few",
        users_hashed_to_a_few,
        ("unused_rows",),
        ("user_embed*",),
        None,
        "towers",
    ),
    Case(
        "mlp: twelve sigmoids",
        twelve_sigmoids,
        ("vanishing",),
        ("layers*", "into*", "*sigmoid*"),
        0,
        "mlp",
    ),
)
