"""Nets that read or make images, small in width and as deep as people train them."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import silu


class BasicBlock(nn.Module):
    """Two convolutions around a shortcut."""

    grows = 1

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, width, 3, stride, 1, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.downsample = shortcut(inside, width, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class Bottleneck(nn.Module):
    """Three convolutions around a shortcut, the middle one narrow."""

    grows = 4

    def __init__(self, inside: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3, self.relu = nn.BatchNorm2d(4 * width), nn.ReLU(inplace=True)
        self.downsample = shortcut(inside, 4 * width, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        identity = x if self.downsample is None else self.downsample(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += identity
        return self.relu(out)


def shortcut(inside: int, outside: int, stride: int) -> nn.Module | None:
    """Make what fits the shortcut to the sum, if that is needed."""
    if stride == 1 and inside == outside:
        return None
    conv = nn.Conv2d(inside, outside, 1, stride, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outside))


class ResNet(nn.Module):
    """The residual net with its usual names."""

    def __init__(self, block: type[BasicBlock] | type[Bottleneck], depths: list[int]) -> None:
        super().__init__()
        self.inside = 8
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._layer(block, 8, depths[0], 1)
        self.layer2 = self._layer(block, 16, depths[1], 2)
        self.layer3 = self._layer(block, 32, depths[2], 2)
        self.layer4 = self._layer(block, 64, depths[3], 2)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(64 * block.grows, 10)

    def _layer(self, block: type, width: int, depth: int, stride: int) -> nn.Sequential:
        blocks = []
        for at in range(depth):
            blocks.append(block(self.inside, width, stride if at == 0 else 1))
            self.inside = width * block.grows
        return nn.Sequential(*blocks)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def double_conv(inside: int, outside: int) -> nn.Sequential:
    """Make two convolutions with their norms."""
    return nn.Sequential(
        *(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(inplace=True)),
        *(nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside)),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    """An encoder, a decoder, and a bridge between them at each resolution."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.inc, self.down1 = double_conv(1, width), double_conv(width, 2 * width)
        self.down2, self.down3 = (
            double_conv(2 * width, 4 * width),
            double_conv(4 * width, 8 * width),
        )
        self.up1 = nn.ConvTranspose2d(8 * width, 4 * width, 2, 2)
        self.conv1 = double_conv(8 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.conv2 = double_conv(4 * width, 2 * width)
        self.up3, self.conv3 = (
            nn.ConvTranspose2d(2 * width, width, 2, 2),
            double_conv(2 * width, width),
        )
        self.outc = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a = self.inc(x)
        b = self.down1(self.pool(a))
        c = self.down2(self.pool(b))
        d = self.down3(self.pool(c))
        c = self.conv1(torch.cat([c, self.up1(d)], 1))
        b = self.conv2(torch.cat([b, self.up2(c)], 1))
        a = self.conv3(torch.cat([a, self.up3(b)], 1))
        return self.outc(a)


class TimedBlock(nn.Module):
    """A residual block that is told the time."""

    def __init__(self, inside: int, outside: int, time: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(4, inside), nn.Conv2d(inside, outside, 3, padding=1)
        self.time = nn.Linear(time, outside)
        self.norm2, self.conv2 = nn.GroupNorm(4, outside), nn.Conv2d(outside, outside, 3, padding=1)
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        h = self.conv1(silu(self.norm1(x)))
        h = h + self.time(silu(time))[:, :, None, None]
        h = self.conv2(silu(self.norm2(h)))
        return h + self.skip(x)


class Denoiser(nn.Module):
    """The UNet of a diffusion model: timed residual blocks, three resolutions."""

    def __init__(self, width: int = 8, time: int = 16) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(8, time), nn.SiLU(), nn.Linear(time, time))
        self.conv_in = nn.Conv2d(1, width, 3, padding=1)
        self.down1, self.down2 = TimedBlock(width, width, time), TimedBlock(width, 2 * width, time)
        self.shrink = nn.AvgPool2d(2)
        self.mid1 = TimedBlock(2 * width, 2 * width, time)
        self.mid2 = TimedBlock(2 * width, 2 * width, time)
        self.grow = nn.Upsample(scale_factor=2)
        self.up1, self.up2 = TimedBlock(4 * width, width, time), TimedBlock(2 * width, width, time)
        self.norm_out, self.conv_out = nn.GroupNorm(4, width), nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        angles = t[:, None] * torch.tensor([1.0, 0.5, 0.25, 0.125])
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1))
        x = self.conv_in(x)
        a = self.down1(x, time)
        b = self.down2(self.shrink(a), time)
        h = self.mid2(self.mid1(self.shrink(b), time), time)
        h = self.up1(torch.cat([self.grow(h), b], 1), time)
        h = self.up2(torch.cat([self.grow(h), a], 1), time)
        return self.conv_out(silu(self.norm_out(h)))
