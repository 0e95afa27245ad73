"""Nets of small pictures: a transformer with a class token, a ConvNeXt, autoencoders, a VAE."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.third_part.sequence_nets import Block

SIDE = 12


def quadrants(rows: int = 16, noise: float = 0.5) -> tuple[Tensor, Tensor]:
    """Return pictures of which a quarter is bright, and which one."""
    labels = torch.randint(0, 4, (rows,))
    bright = torch.zeros(rows, 2, 2).flatten(1).scatter(1, labels[:, None], 1.0).view(rows, 1, 2, 2)
    pictures = F.interpolate(bright, scale_factor=SIDE // 2) * 1.5 - 0.4
    return pictures + noise * torch.randn_like(pictures), labels


class Vit(nn.Module):
    def __init__(self, width: int = 24, depth: int = 2, uses_position: bool = True) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, width, 4, stride=4)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(0.02 * torch.randn(1, 10, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 4)
        self.uses_position = uses_position

    def forward(self, pictures: Tensor) -> Tensor:
        x = self.patch(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1)
        if self.uses_position:
            x = x + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


class NextBlock(nn.Module):
    def __init__(self, width: int, scale: float = 1e-6, drop: float = 0.0) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.norm = nn.GroupNorm(1, width)
        self.wide, self.narrow = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(3 * width, width, 1)
        self.gamma = nn.Parameter(torch.full((width, 1, 1), scale))
        self.drop = drop

    def forward(self, x: Tensor) -> Tensor:
        if self.training and float(torch.rand(())) < self.drop:
            return x
        y = self.narrow(F.gelu(self.wide(self.norm(self.depthwise(x)))))
        return x + self.gamma * y


class ConvNext(nn.Module):
    def __init__(
        self, width: int = 12, depth: int = 3, scale: float = 1e-6, drop: float = 0.0
    ) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, width, 2, stride=2)
        self.blocks = nn.Sequential(*(NextBlock(width, scale, drop) for _ in range(depth)))
        self.head = nn.Linear(width * 9, 4)

    def forward(self, pictures: Tensor) -> Tensor:
        x = self.blocks(self.stem(pictures))
        return self.head(F.avg_pool2d(x, 2).flatten(1))


class SkipCoder(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width))
        self.down2 = nn.Sequential(
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width)
        )
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.out = nn.Conv2d(2 * width, 1, 3, padding=1)

    def forward(self, pictures: Tensor) -> Tensor:
        a = F.relu(self.down1(pictures))
        b = F.relu(self.down2(a))
        return self.out(torch.cat([a, F.relu(self.up(b))], 1))


def denoise(model: nn.Module, rows: int = 8) -> Tensor:
    """Return the loss of taking noise away."""
    clean, _ = quadrants(rows, noise=0.05)
    return F.mse_loss(model(clean + 0.6 * torch.randn_like(clean)), clean)


class Variational(nn.Module):
    def __init__(self, width: int = 32, latent: int = 4) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SIDE**2, width), nn.SiLU())
        self.mean, self.logvar = nn.Linear(width, latent), nn.Linear(width, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.SiLU(), nn.Linear(width, SIDE**2))

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        h = self.encoder(pictures.flatten(1))
        mean, logvar = self.mean(h), self.logvar(h)
        variance = torch.exp(logvar)
        z = mean + variance.sqrt() * torch.randn_like(mean)
        kl = 0.5 * (mean.square() + variance - 1 - logvar).sum(1).mean()
        return self.decoder(z).view_as(pictures), kl


class Contrast(nn.Module):
    """Own normalization over the picture, without a safe epsilon."""

    def __init__(self, eps: float = 0.0) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        centered = x - x.mean((2, 3), keepdim=True)
        deviation = centered.square().mean((2, 3), keepdim=True).sqrt()
        return centered / (deviation + self.eps)


def contrasted(eps: float = 0.0) -> nn.Sequential:
    """Return a conv net whose contrast is normalized by hand."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, bias=False),
        Contrast(eps),
        nn.SiLU(),
        nn.Flatten(),
        nn.Linear(200, 4),
    )
