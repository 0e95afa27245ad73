"""Nets for pictures of 12 x 12: a mixer, a ConvNeXt, squeeze and excitation, a U-Net and others."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class MixerBlock(nn.Module):
    def __init__(self, tokens: int, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.token_mix = nn.Sequential(nn.Linear(tokens, 32), nn.GELU(), nn.Linear(32, tokens))
        self.channel_mix = nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.token_mix(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel_mix(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, classes: int = 4, width: int = 24) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 3, 3)
        self.blocks = nn.Sequential(*(MixerBlock(16, width) for _ in range(3)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


class ConvNextBlock(nn.Module):
    def __init__(self, width: int, drop: float) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.norm = nn.LayerNorm(width)
        self.expand, self.reduce = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)
        self.gamma = nn.Parameter(1e-6 * torch.ones(width))
        self.drop = drop

    def forward(self, x: Tensor) -> Tensor:
        if self.training and torch.rand(()).item() < self.drop:
            return x
        y = self.depthwise(x).permute(0, 2, 3, 1)
        y = self.gamma * self.reduce(F.gelu(self.expand(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    def __init__(self, classes: int = 4, width: int = 16, drop: float = 0.0) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 2, 2)
        self.stages = nn.ModuleList(ConvNextBlock(width, drop) for _ in range(3))
        self.norm = nn.LayerNorm(width)
        self.head: nn.Module = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for stage in self.stages:
            x = stage(x)
        return self.head(self.norm(x.mean((2, 3))))


class SqueezeBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.gate = nn.Sequential(nn.Linear(width, 8), nn.SiLU(), nn.Linear(8, width), nn.Sigmoid())
        nn.init.zeros_(self.bn2.weight)

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(x + y * self.gate(y.mean((2, 3)))[:, :, None, None])


class SqueezeNet(nn.Module):
    def __init__(self, classes: int = 4, width: int = 16) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width))
        self.layers = nn.Sequential(SqueezeBlock(width), SqueezeBlock(width))
        self.fc = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.layers(F.relu(self.stem(x))).mean((2, 3)))


class TimedBlock(nn.Module):
    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, into) if into % 4 == 0 else nn.Identity()
        self.conv = nn.Conv2d(into, out, 3, padding=1)
        self.time = nn.Linear(16, out)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        return F.silu(self.conv(self.norm(x)) + self.time(time)[:, :, None, None])


class UNet(nn.Module):
    """A denoiser: what noise was added, at a time between 0 and 1."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 16))
        self.down1, self.down2 = TimedBlock(3, width), TimedBlock(width, 2 * width)
        self.middle = TimedBlock(2 * width, 2 * width)
        self.up2, self.up1 = TimedBlock(4 * width, width), TimedBlock(2 * width, width)
        self.out = nn.Conv2d(width, 3, 1)
        nn.init.zeros_(self.out.weight)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        angles = time[:, None] * 2.0 ** torch.arange(4)
        t = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        skip1 = self.down1(x, t)
        skip2 = self.down2(F.avg_pool2d(skip1, 2), t)
        y = self.up2(torch.cat([self.middle(skip2, t), skip2], 1), t)
        y = F.interpolate(y, scale_factor=2.0)
        return self.out(self.up1(torch.cat([y, skip1], 1), t))


def denoising_loss(model: nn.Module, x: Tensor) -> Tensor:
    time = torch.rand(len(x))
    noise = torch.randn_like(x)
    level = time[:, None, None, None]
    return F.mse_loss(model((1 - level) * x + level * noise, time), noise)


class Vae(nn.Module):
    def __init__(self, hidden: int = 64, code: int = 6) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(432, hidden), nn.ReLU())
        self.mean, self.log_var = nn.Linear(hidden, code), nn.Linear(hidden, code)
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.ReLU(), nn.Linear(hidden, 432))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.encoder(x)
        mean, log_var = self.mean(h), self.log_var(h)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        return self.decoder(z).view_as(x), mean, log_var


def divergence(mean: Tensor, log_var: Tensor) -> Tensor:
    return -0.5 * (1 + log_var - mean.square() - log_var.exp()).sum(1).mean()


class VqVae(nn.Module):
    def __init__(self, codes: int = 16, width: int = 8, straight_through: bool = True) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.ReLU(), nn.Conv2d(16, width, 1))
        self.codebook = nn.Embedding(codes, width)
        self.decoder = nn.Sequential(nn.ConvTranspose2d(width, 16, 4, 4), nn.ReLU())
        self.to_rgb = nn.Conv2d(16, 3, 1)
        self.straight_through = straight_through

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = self.encoder(x)
        flat = z.permute(0, 2, 3, 1)
        nearest = torch.cdist(flat.detach().flatten(0, 2), self.codebook.weight.detach()).argmin(1)
        quantized = self.codebook(nearest).view_as(flat).permute(0, 3, 1, 2)
        passed = z + (quantized - z).detach() if self.straight_through else quantized
        return self.to_rgb(self.decoder(passed)), z, quantized


class Embedder(nn.Module):
    """A convolutional encoder of pictures with a projection, for contrastive losses."""

    def __init__(self, width: int = 24, bias: bool = True) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1, bias=bias),
            nn.ReLU(),
            nn.Conv2d(16, width, 3, 2, 1, bias=bias),
            nn.ReLU(),
        )
        self.project = nn.Linear(width * 9, 16, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.project(self.features(x).flatten(1))


class PlainStack(nn.Module):
    """Convolutions without any normalization or skip."""

    def __init__(self, depth: int, std: float, width: int = 12, classes: int = 4) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(depth))
        self.head = nn.Linear(width, classes)
        for conv in self.convs:
            nn.init.normal_(conv.weight, std=std)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for conv in self.convs:
            x = F.relu(conv(x))
        return self.head(x.mean((2, 3)))
