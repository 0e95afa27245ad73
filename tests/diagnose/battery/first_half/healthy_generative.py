"""Healthy trainings without labels: GAN, VAE, autoencoders, contrastive, quantized, a policy."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import blobs, images, waves
from tests.diagnose.battery.first_half.fit import STEPS, fit
from tests.diagnose.battery.first_half.nets import MLP

Losses = list[float]


def gan(watch: Watch) -> Losses:
    """Returns how far the mean of what is generated is from that of the data."""
    torch.manual_seed(280)
    generator = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
    critic = nn.Sequential(nn.Linear(2, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
    of_generator = torch.optim.Adam(generator.parameters(), lr=1e-2, betas=(0.5, 0.9))
    of_critic = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))
    model = nn.ModuleDict({"generator": generator, "critic": critic})
    watch(model, optimizer=[of_generator, of_critic])
    distances = []
    for _ in range(60):
        real = torch.tensor([2.0, -1.0]) + 0.5 * torch.randn(32, 2)
        fake = generator(torch.randn(32, 4))
        scores = critic(real), critic(fake.detach())
        loss_critic = F.softplus(-scores[0]).mean() + F.softplus(scores[1]).mean()
        of_critic.zero_grad()
        loss_critic.backward()
        of_critic.step()
        loss_generator = F.softplus(-critic(fake)).mean()
        of_generator.zero_grad()
        loss_generator.backward()
        of_generator.step()
        distances.append((fake.mean(0) - real.mean(0)).norm().item())
    return distances


class VAE(nn.Module):
    """A variational autoencoder."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.mu, self.logvar = nn.Linear(10, 24), nn.Linear(24, 3), nn.Linear(24, 3)
        self.decoder = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 10))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        h = F.relu(self.encoder(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.decoder(z), mu, logvar


def vae(watch: Watch) -> Losses:
    torch.manual_seed(281)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    watch(model, optimizer=optimizer)
    losses = []
    for _, (x, _) in zip(range(50), blobs()):
        decoded, mu, logvar = model(x)
        reconstruction = F.mse_loss(decoded, x, reduction="none").sum(-1).mean()
        divergence = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum(-1).mean()
        loss = reconstruction + 0.3 * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class ConvAutoencoder(nn.Module):
    """Down by two, and up again."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(1, 12, 4, stride=2, padding=1)
        self.code = nn.Conv2d(12, 12, 3, padding=1)
        self.up = nn.ConvTranspose2d(12, 1, 4, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(F.relu(self.code(F.relu(self.down(x)))))


def autoencoder(watch: Watch) -> Losses:
    torch.manual_seed(282)
    batches = ((x, x) for x, _ in images())
    optimizer = torch.optim.Adam((model := ConvAutoencoder()).parameters(), lr=1e-2)
    return fit(watch, model, batches, F.mse_loss, optimizer, steps=50)


def denoising(watch: Watch) -> Losses:
    torch.manual_seed(283)
    model = nn.Sequential(
        nn.Linear(20, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 20)
    )
    batches = ((x[..., 0] + 0.2 * torch.randn(x.shape[:2]), x[..., 0]) for x, _ in waves())
    return fit(watch, model, batches, F.mse_loss)


class Projector(nn.Module):
    """Embeddings of length one."""

    def __init__(self) -> None:
        super().__init__()
        self.net = MLP(classes=8)
        self.log_temperature = nn.Parameter(torch.tensor(1.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.net(x), dim=-1)


def contrastive(watch: Watch) -> Losses:
    """Each view is to find the other one; itself is masked out by -inf."""
    torch.manual_seed(284)
    model = Projector()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    watch(model, optimizer=optimizer)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(16, 10)
        views = torch.cat([x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x)])
        z = model(views)
        similarity = z @ z.t() * model.log_temperature.exp()
        similarity = similarity.masked_fill(torch.eye(32, dtype=torch.bool), float("-inf"))
        loss = F.cross_entropy(similarity, torch.arange(32).roll(16))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


class Quantized(nn.Module):
    """The nearest entries of a codebook, with the gradient passed straight through."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = nn.Linear(10, 4), nn.Linear(4, 10)
        self.codebook = nn.Embedding(16, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.encoder(x)
        codes = torch.cdist(h.detach(), self.codebook.weight.detach()).argmin(-1)
        nearest = self.codebook(codes)
        commitment = F.mse_loss(h, nearest.detach()) * 0.25 + F.mse_loss(nearest, h.detach())
        return self.decoder(h + (nearest - h).detach()), commitment


def quantized(watch: Watch) -> Losses:
    torch.manual_seed(285)
    model = Quantized()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    watch(model, optimizer=optimizer)
    losses = []
    for _, (x, _) in zip(range(50), blobs()):
        decoded, commitment = model(x)
        reconstruction = F.mse_loss(decoded, x)
        loss = reconstruction + commitment
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def self_distilled(watch: Watch) -> Losses:
    """A predictor of what the same net says of another view, which is detached (SimSiam)."""
    torch.manual_seed(286)
    encoder = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
    predictor = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    model = nn.ModuleDict({"encoder": encoder, "predictor": predictor})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    watch(model, optimizer=optimizer)
    losses = []
    for _, (x, _) in zip(range(STEPS), blobs(64)):
        left = encoder(x + 0.1 * torch.randn_like(x))
        right = encoder(x + 0.1 * torch.randn_like(x))
        towards_right = F.cosine_similarity(predictor(left), right.detach(), dim=-1).mean()
        towards_left = F.cosine_similarity(predictor(right), left.detach(), dim=-1).mean()
        loss = -0.5 * (towards_right + towards_left)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def policy(watch: Watch) -> Losses:
    """REINFORCE with a baseline; returns the negative mean reward."""
    torch.manual_seed(287)
    model = MLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    watch(model, optimizer=optimizer)
    costs = []
    for _, (x, y) in zip(range(60), blobs(64)):
        chances = torch.distributions.Categorical(logits=model(x))
        action = chances.sample()
        reward = (action == y).float()
        advantage = reward - reward.mean()
        loss = -(advantage * chances.log_prob(action)).mean() - 0.01 * chances.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        costs.append(-reward.mean().item())
    return costs


CASES = [
    Case("gan: fake detached for the critic", gan, family="mlp"),
    Case("vae: two terms", vae, family="mlp"),
    Case("conv: autoencoder", autoencoder, family="conv"),
    Case("mlp: denoising", denoising, family="mlp"),
    Case("mlp: contrastive", contrastive, family="mlp"),
    Case("mlp: straight-through codes", quantized, family="mlp"),
    Case("mlp: predictor of a detached view", self_distilled, family="mlp"),
    Case("mlp: policy gradient", policy, family="mlp"),
]
