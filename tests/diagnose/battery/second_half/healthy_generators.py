"""Healthy trainings of autoencoders, GANs and contrastive encoders."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import Pictures, fit
from tests.diagnose.battery.second_half.nets_of_pictures import Embedder, Vae, VqVae, divergence


def vae_with_slow_divergence(watch: Watch) -> None:
    torch.manual_seed(121)
    data, model = Pictures(), Vae()

    def loss_of(step: int) -> Tensor:
        images, _ = data.batch()
        output, mean, log_var = model(images)
        error = (output - images).square().sum((1, 2, 3)).mean()
        return error + min(1.0, step / 40) * divergence(mean, log_var)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=2e-3), loss_of, steps=60)


def quantized_with_straight_through(watch: Watch) -> None:
    torch.manual_seed(122)
    data, model = Pictures(classes=2, noise=0.2), VqVae(codes=32)
    with torch.no_grad():  # the codes begin at what the encoder gives
        codes = model.encoder(data.batch()[0]).permute(0, 2, 3, 1).flatten(0, 2)
        model.codebook.weight.copy_(codes[torch.randperm(len(codes))[:32]])

    def loss_of(step: int) -> Tensor:
        images, _ = data.batch()
        output, z, quantized = model(images)
        committed = F.mse_loss(z, quantized.detach())
        return F.mse_loss(output, images) + F.mse_loss(quantized, z.detach()) + committed

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=5e-3), loss_of, steps=60)


def networks() -> nn.ModuleDict:
    generator = nn.Sequential(
        nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 432), nn.Tanh()
    )
    critic = nn.Sequential(nn.Linear(432, 64), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(64, 1))
    return nn.ModuleDict({"generator": generator, "critic": critic})


def gan_with_detached_fakes(watch: Watch) -> None:
    torch.manual_seed(123)
    data, both = Pictures(noise=0.3), networks()
    generator, critic = both["generator"], both["critic"]
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    d_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    watch(both, optimizer=[d_optimizer, g_optimizer])
    for _ in range(50):
        real = data.batch()[0].flatten(1).tanh()
        fake = generator(torch.randn(16, 8))
        d_optimizer.zero_grad()
        d_loss = criterion(critic(real), torch.full((16, 1), 0.9))
        d_loss = d_loss + criterion(critic(fake.detach()), torch.zeros(16, 1))
        d_loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        g_loss = criterion(critic(fake), torch.ones(16, 1))
        g_loss.backward()
        g_optimizer.step()


def critic_with_gradient_penalty(watch: Watch) -> None:
    torch.manual_seed(124)
    data, both = Pictures(noise=0.3), networks()
    generator, critic = both["generator"].requires_grad_(False), both["critic"]
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))

    def loss_of(step: int) -> Tensor:
        real = data.batch()[0].flatten(1).tanh()
        with torch.no_grad():
            fake = generator(torch.randn(16, 8))
        share = torch.rand(16, 1)
        between = (share * real + (1 - share) * fake).requires_grad_(True)
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        penalty = (slope.norm(dim=1) - 1).square().mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    fit(watch, critic, optimizer, loss_of, steps=50)


def contrast_with_masked_diagonal(watch: Watch) -> None:
    torch.manual_seed(125)
    data, model = Pictures(classes=12), Embedder()

    def loss_of(step: int) -> Tensor:
        views = torch.cat(data.two_views(12))
        z = F.normalize(model(views), dim=1)
        scores = z @ z.T / 0.2
        scores = scores.masked_fill(torch.eye(24, dtype=torch.bool), float("-inf"))
        return F.cross_entropy(scores, (torch.arange(24) + 12) % 24)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=2e-3), loss_of)


class Bootstrapped(nn.Module):
    """An online encoder, and a target that follows it slowly."""

    def __init__(self) -> None:
        super().__init__()
        self.online = Embedder()
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.predictor = nn.Sequential(
            nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16)
        )

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        predicted = self.predictor(self.online(first))
        with torch.no_grad():
            wanted = self.target(second)
        return 2 - 2 * F.cosine_similarity(predicted, wanted).mean()


def bootstrap_with_moving_target(watch: Watch) -> None:
    torch.manual_seed(126)
    data, model = Pictures(), Bootstrapped()
    trained = [*model.online.parameters(), *model.predictor.parameters()]
    optimizer = torch.optim.Adam(trained, lr=1e-3)
    watch(model, optimizer=optimizer)
    for _ in range(50):
        first, second = data.two_views()
        loss = (model(first, second) + model(second, first)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(model.target.parameters(), model.online.parameters()):
                slow.mul_(0.98).add_(fast, alpha=0.02)


def triplets(watch: Watch) -> None:
    torch.manual_seed(127)
    data, model = Pictures(classes=6, noise=2.5), Embedder()

    def loss_of(step: int) -> Tensor:
        images, labels = data.batch(24)
        z = F.normalize(model(images), dim=1)
        distances = torch.cdist(z, z)
        same = labels[:, None] == labels
        hardest = distances.masked_fill(~same, 0).amax(1)
        nearest = distances.masked_fill(same, float("inf")).amin(1)
        return F.relu(hardest - nearest + 0.3).mean()

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of)


def masked_autoencoder(watch: Watch) -> None:
    torch.manual_seed(128)
    data = Pictures(noise=0.3)
    model = nn.Sequential(nn.Flatten(), nn.Linear(432, 96), nn.GELU(), nn.Linear(96, 432))

    def loss_of(step: int) -> Tensor:
        images, _ = data.batch()
        hidden = (torch.rand(16, 1, 4, 4) < 0.6).repeat_interleave(3, 2).repeat_interleave(3, 3)
        output = model(images * ~hidden).view_as(images)
        wrong = (output - images).square() * hidden
        return wrong.sum() / hidden.expand_as(wrong).sum()

    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95))
    fit(watch, model, optimizer, loss_of)


CASES = (
    Case("vae: divergence grows from zero", vae_with_slow_divergence, family="vae"),
    Case("vq-vae: straight through", quantized_with_straight_through, family="vae"),
    Case("gan: detached fakes", gan_with_detached_fakes, family="gan"),
    Case("gan: a critic with gradient penalty", critic_with_gradient_penalty, family="gan"),
    Case("contrastive: masked diagonal", contrast_with_masked_diagonal, family="contrastive"),
    Case("bootstrap: moving target", bootstrap_with_moving_target, family="contrastive"),
    Case("triplets: hardest pairs, infinite mask", triplets, family="contrastive"),
    Case("masked autoencoder", masked_autoencoder, family="mlp"),
)
