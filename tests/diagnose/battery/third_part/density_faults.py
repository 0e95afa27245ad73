"""Faults in flows, energies, GANs, diffusion, games and graphs."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Watch
from tests.diagnose.battery.third_part.collect import Cases, adam, fit, sgd
from tests.diagnose.battery.third_part.other_nets import (
    GraphNet,
    Player,
    Proxies,
    blobs,
    communities,
    moons,
    perceptron,
)

CASES = Cases()


class Mixing(nn.Module):
    """A linear flow whose log determinant is taken through the determinant."""

    def __init__(self, width: int = 60) -> None:
        super().__init__()
        self.matrix = nn.Parameter(0.01 * torch.randn(width, width))

    def forward(self, x: Tensor) -> Tensor:
        volume = torch.log(torch.det(self.matrix).abs())
        return 0.5 * (x @ self.matrix).square().sum(1).mean() - volume


@CASES.add("flow: determinant below the smallest number", "nonfinite_value", "*log* *det*", 0)
def determinant(watch: Watch) -> None:
    torch.manual_seed(361)
    model = Mixing()
    fit(watch, model, sgd(model, 0.01), lambda step: model(torch.randn(16, 60)), steps=12)


@CASES.add("energies: the sampler fills .grad", "not_zeroed")
def sampler_fills_gradients(watch: Watch) -> None:
    torch.manual_seed(362)
    model = perceptron(2, 32, 32, 1)
    optimizer = adam(model, 1e-3)
    watch(model, optimizer=optimizer)
    for _ in range(25):
        optimizer.zero_grad()
        fake = torch.randn(64, 2, requires_grad=True)
        for _ in range(4):
            model(fake).sum().backward()
            fake = (fake - 0.1 * fake.grad).detach().requires_grad_()
        real = model(moons()[0])
        loss = real.mean() - model(fake.detach()).mean() + 0.1 * real.square().mean()
        loss.backward()
        optimizer.step()


@CASES.add("gan: the generator's picture is detached", "no_gradient no_backward no_update")
def generator_detached(watch: Watch) -> None:
    torch.manual_seed(363)
    generator, critic = perceptron(4, 32, 2), perceptron(2, 32, 1)
    g_optimizer, c_optimizer = adam(generator), adam(critic)
    watch(generator, optimizer=g_optimizer, tag="generator")
    watch(critic, optimizer=c_optimizer, tag="critic")
    for _ in range(30):
        fake = generator(torch.randn(64, 4)).detach()
        c_optimizer.zero_grad()
        loss = F.relu(1 - critic(moons()[0])).mean() + F.relu(1 + critic(fake)).mean()
        loss.backward()
        c_optimizer.step()
        g_optimizer.zero_grad()
        (-critic(fake)).mean().backward()
        g_optimizer.step()


@CASES.add("triplets: the margin is always kept", "zero_gradient zero_origin", "", 0)
def margin_kept(watch: Watch) -> None:
    torch.manual_seed(364)
    model = perceptron(6, 24, 8)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        near = model(x + 0.001 * torch.randn_like(x))
        anchor, far = model(x), model(x + 30.0)
        gap = (anchor - near).square().sum(1) - (anchor - far).square().sum(1)
        return F.relu(gap + 0.05).mean()

    fit(watch, model, adam(model), loss_of)


@CASES.add("proxies: not in the optimizer", "not_optimized", "*proxies*")
def proxies_left_out(watch: Watch) -> None:
    torch.manual_seed(365)
    net, criterion = perceptron(6, 24, 8), Proxies()
    both = nn.ModuleDict({"net": net, "criterion": criterion})

    def loss_of(step: int) -> Tensor:
        x, labels = blobs()
        return criterion(net(x), labels)

    fit(watch, both, adam(net), loss_of)


@CASES.add("proxies: an empty one is divided by its norm", "nonfinite_weight", "*proxies*", 6)
def empty_proxy(watch: Watch) -> None:
    torch.manual_seed(366)
    net, criterion = perceptron(6, 24, 8), Proxies()
    both = nn.ModuleDict({"net": net, "criterion": criterion})
    optimizer = adam(both)
    watch(both, optimizer=optimizer)
    for step in range(14):
        x, labels = blobs()
        optimizer.zero_grad()
        criterion(net(x), labels).backward()
        optimizer.step()
        with torch.no_grad():
            if step == 5:
                criterion.proxies[2] = 0.0
            criterion.proxies /= criterion.proxies.norm(dim=1, keepdim=True)


@CASES.add("diffusion: weight of a step without noise", "nonfinite_value", "*mul* *Mul*", 11)
def weight_without_noise(watch: Watch) -> None:
    torch.manual_seed(367)
    model = perceptron(3, 32, 32, 2)

    def loss_of(step: int) -> Tensor:
        clean, noise = moons()[0], torch.randn(64, 2)
        time = torch.rand(64, 1) * 0.9 + 0.1
        if step == 11:
            time[0] = 0.0
        noisy = (1 - time).sqrt() * clean + time.sqrt() * noise
        error = model(torch.cat([noisy, time], 1)) - noise
        weight = 0.1 / time
        return (weight * error.square()).mean()

    fit(watch, model, adam(model), loss_of, steps=20)


class Clocked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.time, self.point = nn.Linear(1, 32), nn.Linear(2, 32)
        self.body = perceptron(32, 32, 2)

    def forward(self, points: Tensor, time: Tensor) -> Tensor:
        return self.body(F.silu(self.point(points) + self.time(time)))


@CASES.add("diffusion: time in thousands", "input_scale", "time*", 0)
def time_in_thousands(watch: Watch) -> None:
    torch.manual_seed(368)
    model = Clocked()

    def loss_of(step: int) -> Tensor:
        clean, noise = moons()[0], torch.randn(64, 2)
        time = torch.randint(1, 4000, (64, 1)).float()
        share = time / 4000
        return F.mse_loss(model((1 - share) * clean + share * noise, time), noise)

    fit(watch, model, adam(model), loss_of)


def ratings(model: Player, rows: int = 32) -> Tensor:
    states = torch.randn(rows, 5)
    logits, values = model(states)
    policy = torch.distributions.Categorical(logits=logits)
    actions = policy.sample()
    rewards = (actions == states[:, :4].argmax(1)).float()
    advantages = rewards - values.detach()
    gain = (policy.log_prob(actions) * advantages).mean()
    return F.mse_loss(values, rewards) - gain - 0.01 * policy.entropy().mean()


@CASES.add("player: entropy of forbidden actions", "nonfinite_value", "*mul* *Mul*", 0)
def forbidden_actions(watch: Watch) -> None:
    torch.manual_seed(369)
    model = Player()

    def loss_of(step: int) -> Tensor:
        states = torch.randn(32, 5)
        logits, values = model(states)
        logits = logits.masked_fill(torch.tensor([False, False, False, True]), -torch.inf)
        logs, chances = logits.log_softmax(1), logits.softmax(1)
        entropy = -(chances * logs).sum(1).mean()
        chosen = logs.gather(1, states[:, :3].argmax(1, keepdim=True))
        return values.square().mean() - chosen.mean() - 0.01 * entropy

    fit(watch, model, adam(model), loss_of, steps=12)


@CASES.add("player: step without parentheses", "never_stepped")
def step_not_called(watch: Watch) -> None:
    torch.manual_seed(370)
    model = Player()
    optimizer = adam(model)
    watch(model, optimizer=optimizer)
    for _ in range(25):
        optimizer.zero_grad()
        ratings(model).backward()
        optimizer.step  # noqa: B018 (this is the fault)


@CASES.add("player: clipped before the backward", "clip_before_backward")
def clipped_too_early(watch: Watch) -> None:
    torch.manual_seed(371)
    model = Player()
    optimizer = adam(model)
    watch(model, optimizer=optimizer)
    for _ in range(25):
        loss = ratings(model)
        optimizer.zero_grad(set_to_none=False)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        loss.backward()
        optimizer.step()


@CASES.add("player: one reward of 10000", "gradient_spike", "", 38)
def reward_spike(watch: Watch) -> None:
    torch.manual_seed(372)
    model = Player()

    def loss_of(step: int) -> Tensor:
        states = torch.randn(32, 5)
        rewards = states[:, 0].tanh()
        if step == 38:
            rewards[3] = 10000.0
        return F.mse_loss(model(states)[1], rewards)

    optimizer = sgd(nn.ModuleList([model.trunk, model.value]), 1e-3)
    model.policy.requires_grad_(False)
    fit(watch, model, optimizer, loss_of, steps=45, clip=5.0)


@CASES.add("graph: a node without neighbors", "nonfinite_value", "*matmul* *mm* *Mm*", 10)
def lonely_node(watch: Watch) -> None:
    torch.manual_seed(373)
    model = GraphNet()

    def loss_of(step: int) -> Tensor:
        features, edges, labels = communities()
        if step == 10:
            edges[4], edges[:, 4] = 0.0, 0.0
        return F.cross_entropy(model(features, edges), labels)

    fit(watch, model, adam(model), loss_of, steps=18)


@CASES.add("graph: sixteen layers begun too small", "vanishing", "layers* into*", 0)
def deep_graph(watch: Watch) -> None:
    torch.manual_seed(374)
    model = GraphNet(depth=16)
    for layer in model.layers:
        nn.init.normal_(layer.weight, std=0.04)
        nn.init.zeros_(layer.bias)

    def loss_of(step: int) -> Tensor:
        features, edges, labels = communities()
        return F.cross_entropy(model(features, edges), labels)

    fit(watch, model, sgd(model, 0.05), loss_of)


@CASES.add("graph: one feature in cents", "input_scale", "*into*", 0)
def feature_in_cents(watch: Watch) -> None:
    torch.manual_seed(375)
    model = GraphNet()

    def loss_of(step: int) -> Tensor:
        features, edges, labels = communities()
        features[:, 4] = features[:, 4] * 20000 + 80000
        return F.cross_entropy(model(features, edges), labels)

    fit(watch, model, adam(model), loss_of)
