"""Healthy trainings of flows, games, graphs, adapters and teachers; some look like faults."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Watch
from tests.diagnose.battery.third_part.collect import Cases, adam, fit
from tests.diagnose.battery.third_part.other_nets import (
    Flow,
    GraphNet,
    Player,
    Proxies,
    Router,
    adapted,
    blobs,
    communities,
    moons,
    perceptron,
)

CASES = Cases()


def classify(model: nn.Module, rows: int = 32) -> Tensor:
    x, labels = blobs(rows)
    return F.cross_entropy(model(x), labels)


@CASES.add("flow: couplings from the identity")
def flow(watch: Watch) -> list[float]:
    torch.manual_seed(521)
    model = Flow()
    return fit(watch, model, adam(model, 0.01), lambda step: model(2 * moons()[0]).mean(), 50, 5.0)


@CASES.add("energies: contrast with a sampler that asks for gradients")
def energies(watch: Watch) -> None:
    torch.manual_seed(522)
    model = perceptron(2, 32, 32, 1)

    def loss_of(step: int) -> Tensor:
        fake = torch.randn(64, 2)
        for _ in range(4):
            fake.requires_grad_()
            (slope,) = torch.autograd.grad(model(fake).sum(), fake)
            fake = (fake - 0.1 * slope + 0.05 * torch.randn_like(fake)).detach()
        real, made = model(moons()[0]), model(fake)
        return real.mean() - made.mean() + 0.5 * (real.square() + made.square()).mean()

    fit(watch, model, adam(model), loss_of, 40)  # what falls is not the loss


@CASES.add("gan: hinge, two optimizers, a fake that is detached")
def hinge(watch: Watch) -> None:
    torch.manual_seed(523)
    generator, critic = perceptron(4, 32, 2), perceptron(2, 32, 1)
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))
    watch(generator, optimizer=g_optimizer, tag="generator")
    watch(critic, optimizer=c_optimizer, tag="critic")
    for _ in range(40):
        fake = generator(torch.randn(64, 4))
        c_optimizer.zero_grad()
        loss = F.relu(1 - critic(moons()[0])).mean() + F.relu(1 + critic(fake.detach())).mean()
        loss.backward()
        c_optimizer.step()
        g_optimizer.zero_grad()
        (-critic(fake)).mean().backward()
        g_optimizer.step()


@CASES.add("gan: a critic with a gradient penalty")
def penalty(watch: Watch) -> None:
    torch.manual_seed(524)
    critic = perceptron(2, 32, 32, 1)

    def loss_of(step: int) -> Tensor:
        real, fake = moons()[0], torch.randn(64, 2)
        between = (0.5 * real + 0.5 * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        bound = (slope.norm(dim=1) - 1).square().mean()
        return critic(fake).mean() - critic(real).mean() + 10 * bound

    fit(watch, critic, adam(critic), loss_of, 40)


@CASES.add("proxies: a rate of their own")
def proxies(watch: Watch) -> list[float]:
    torch.manual_seed(525)
    net, criterion = perceptron(6, 24, 8), Proxies()
    both = nn.ModuleDict({"net": net, "criterion": criterion})
    groups = [{"params": net.parameters()}, {"params": criterion.parameters(), "lr": 0.05}]

    def loss_of(step: int) -> Tensor:
        x, labels = blobs()
        return criterion(net(x), labels)

    return fit(watch, both, torch.optim.Adam(groups, lr=5e-3), loss_of, 40)


@CASES.add("triplets: more and more of them are far enough")
def triplets(watch: Watch) -> list[float]:
    torch.manual_seed(526)
    model = perceptron(6, 24, 8)

    def loss_of(step: int) -> Tensor:
        x, labels = blobs(48)
        y = F.normalize(model(x))
        gaps = torch.cdist(y, y)
        same = labels[:, None] == labels
        near = gaps.masked_fill(~same, 0.0).amax(1)
        far = gaps.masked_fill(same, 9.0).amin(1)
        return F.relu(near - far + 0.5).mean()

    return fit(watch, model, adam(model, 0.01), loss_of, 40)


@CASES.add("deep q: a target net that follows, gradients clipped")
def deep_q(watch: Watch) -> list[float]:
    torch.manual_seed(527)
    model = perceptron(5, 32, 32, 4, act=nn.ReLU)
    target = copy.deepcopy(model).requires_grad_(False)

    def loss_of(step: int) -> Tensor:
        if step % 10 == 9:
            target.load_state_dict(model.state_dict())
        states, actions = torch.randn(64, 5), torch.randint(0, 4, (64, 1))
        rewards = (states[:, :4].argmax(1) == actions[:, 0]).float()
        goal = rewards + 0.3 * target(torch.randn(64, 5)).amax(1)
        return F.smooth_l1_loss(model(states).gather(1, actions)[:, 0], goal)

    return fit(watch, model, adam(model, 5e-3), loss_of, 60, clip=10.0)


@CASES.add("player: clipped ratios, several epochs a batch")
def clipped_ratios(watch: Watch) -> None:
    torch.manual_seed(528)
    model = Player()
    optimizer = adam(model, 5e-3)
    watch(model, optimizer=optimizer)
    for _ in range(10):
        states = torch.randn(64, 5)
        with torch.no_grad():
            policy = torch.distributions.Categorical(logits=model(states)[0])
            actions = policy.sample()
            before = policy.log_prob(actions)
        rewards = (actions == states[:, :4].argmax(1)).float()
        advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
        for _ in range(4):
            logits, values = model(states)
            now = torch.distributions.Categorical(logits=logits)
            ratio = (now.log_prob(actions) - before).exp()
            gain = torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
            loss = 0.5 * F.mse_loss(values, rewards) - gain - 0.01 * now.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()


@CASES.add("diffusion: noise predicted, averaged weights kept")
def diffusion(watch: Watch) -> list[float]:
    torch.manual_seed(529)
    model = perceptron(3, 48, 48, 2)
    average = copy.deepcopy(model).requires_grad_(False)

    def loss_of(step: int) -> Tensor:
        with torch.no_grad():
            for kept, now in zip(average.parameters(), model.parameters()):
                kept.lerp_(now, 0.05)
        clean, noise, time = moons(128)[0], torch.randn(128, 2), torch.rand(128, 1)
        noisy = (1 - time).sqrt() * clean + time.sqrt() * noise
        return F.mse_loss(model(torch.cat([noisy, time], 1)), noise)

    return fit(watch, model, adam(model, 5e-3), loss_of, 60)


@CASES.add("experts: some are idle in a batch")
def idle_experts(watch: Watch) -> list[float]:
    torch.manual_seed(530)
    model = Router()

    def loss_of(step: int) -> Tensor:
        x, labels = blobs(8)
        logits, weights = model(x)
        return F.cross_entropy(logits, labels) + 0.01 * 4 * weights.mean(0).square().sum()

    return fit(watch, model, adam(model, 0.01), loss_of, 50)


@CASES.add("graph: another graph at each step")
def graphs(watch: Watch) -> list[float]:
    torch.manual_seed(531)
    model = GraphNet()

    def loss_of(step: int) -> Tensor:
        features, edges, labels = communities(24 + step % 5)
        return F.cross_entropy(model(features, edges), labels)

    return fit(watch, model, adam(model, 0.01), loss_of, 50)


@CASES.add("adapters: second factor from zero, base frozen")
def adapters(watch: Watch) -> list[float]:
    torch.manual_seed(532)
    model = adapted()
    model[4].requires_grad_(True)
    trained = [p for p in model.parameters() if p.requires_grad]
    return fit(watch, model, torch.optim.AdamW(trained, lr=0.01), lambda step: classify(model), 40)


@CASES.add("student: learns from a teacher")
def student(watch: Watch) -> list[float]:
    torch.manual_seed(533)
    teacher = perceptron(6, 32, 4).eval()
    model = perceptron(6, 24, 4)

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        with torch.no_grad():
            wanted = (3 * teacher(x)).log_softmax(1)
        got = (3 * model(x)).log_softmax(1)
        return F.kl_div(got, wanted, reduction="batchmean", log_target=True)

    return fit(watch, model, adam(model, 0.01), loss_of, 40)


class Followed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.online, self.predictor = perceptron(6, 24, 8), perceptron(8, 16, 8)
        self.teacher = copy.deepcopy(self.online).requires_grad_(False)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        with torch.no_grad():
            for kept, now in zip(self.teacher.parameters(), self.online.parameters()):
                kept.lerp_(now, 0.05)
        return -F.cosine_similarity(self.predictor(self.online(a)), self.teacher(b)).mean() + 1


@CASES.add("teacher: follows its student, inside the same module")
def followed(watch: Watch) -> list[float]:
    torch.manual_seed(534)
    model = Followed()
    trained = [*model.online.parameters(), *model.predictor.parameters()]

    def loss_of(step: int) -> Tensor:
        x, _ = blobs()
        return model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))

    return fit(watch, model, torch.optim.Adam(trained, 3e-3), loss_of, 40)


class Pairs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = perceptron(6, 24, 8), perceptron(6, 24, 8)
        self.log_scale = nn.Parameter(torch.tensor(1.6))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        scores = F.normalize(self.left(a)) @ F.normalize(self.right(b)).T * self.log_scale.exp()
        wanted = torch.arange(len(a))
        return 0.5 * (F.cross_entropy(scores, wanted) + F.cross_entropy(scores.T, wanted))


@CASES.add("pairs: contrast with a learned temperature")
def pairs(watch: Watch) -> list[float]:
    torch.manual_seed(535)
    model = Pairs()

    def loss_of(step: int) -> Tensor:
        x = torch.randn(24, 6)
        return model(x + 0.1 * torch.randn_like(x), -x + 0.1 * torch.randn_like(x))

    return fit(watch, model, adam(model, 0.01), loss_of, 50)
