"""Healthy trainings of conv nets."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.first_half.data import Batches, images
from tests.diagnose.battery.first_half.fit import STEPS, fit
from tests.diagnose.battery.first_half.nets import ConvNet, PlainConvNet

Losses = list[float]


def batch_norm(watch: Watch) -> Losses:
    torch.manual_seed(220)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    return fit(watch, model, images(), optimizer=optimizer)


def plain(watch: Watch) -> Losses:
    torch.manual_seed(221)
    return fit(watch, PlainConvNet(), images())


class ScaledBlock(nn.Module):
    """A ConvNeXt's block: depthwise, layer norm, MLP, and a scale of 1e-6 for each channel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 5, padding=2, groups=width)
        self.norm, self.up, self.down = (
            nn.LayerNorm(width),
            nn.Linear(width, 48),
            nn.Linear(48, width),
        )
        self.gamma = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        h = self.gamma * self.down(F.gelu(self.up(h)))
        return x + h.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    """Three such blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 12, 2, stride=2)
        self.blocks = nn.Sequential(*(ScaledBlock(12) for _ in range(3)))
        self.norm, self.head = nn.LayerNorm(12), nn.Linear(12 * 25, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(self.blocks(self.stem(x)).permute(0, 2, 3, 1))
        return self.head(h.flatten(1))


def layer_scale(watch: Watch) -> Losses:
    torch.manual_seed(222)
    model = ConvNeXt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    return fit(watch, model, images(), optimizer=optimizer)


class Bottleneck(nn.Module):
    """A residual block whose last norm begins at zero, left out at random while it trains."""

    def __init__(self, width: int, drop: float) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = (
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.drop = drop
        nn.init.zeros_(self.bn2.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training and torch.rand(()) < self.drop:
            return x
        return F.relu(x + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class ResNet(nn.Module):
    """Four such blocks."""

    def __init__(self, drop: float) -> None:
        super().__init__()
        self.stem, self.bn = nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.layers = nn.Sequential(*(Bottleneck(8, drop) for _ in range(4)))
        self.fc = nn.Linear(8 * 25, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.layers(F.max_pool2d(F.relu(self.bn(self.stem(x))), 2))
        return self.fc(h.flatten(1))


def zero_init_residual(watch: Watch) -> Losses:
    torch.manual_seed(223)
    return fit(watch, ResNet(0.0), images(), steps=30)


def stochastic_depth(watch: Watch) -> Losses:
    torch.manual_seed(224)
    return fit(watch, ResNet(0.25), images())


class WithAuxiliary(nn.Module):
    """A second head in the middle, used in every other step."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.aux = nn.Conv2d(1, 8, 3, padding=1), nn.Linear(800, 3)
        self.top, self.head = nn.Conv2d(8, 8, 3, padding=1), nn.Linear(200, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = F.relu(self.body(x))
        top = F.max_pool2d(F.relu(self.top(h)), 2)
        return self.head(top.flatten(1)), self.aux(h.flatten(1))


def auxiliary_head(watch: Watch) -> Losses:
    torch.manual_seed(225)
    model = WithAuxiliary()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    watch(model, optimizer=optimizer)
    losses = []
    for step, (x, y) in zip(range(STEPS), images()):
        out, aux = model(x)
        loss = F.cross_entropy(out, y)
        losses.append(loss.item())
        if step % 2 == 0:
            loss = loss + 0.3 * F.cross_entropy(aux, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


class Mobile(nn.Module):
    """Depthwise separable convolutions with batch norm, biases before it, and hard swish."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Hardswish())
        self.depthwise = nn.Sequential(
            *(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.ReLU6())
        )
        self.pointwise = nn.Sequential(nn.Conv2d(8, 16, 1), nn.BatchNorm2d(16))
        self.squeeze, self.excite = nn.Linear(16, 4), nn.Linear(4, 16)
        self.head = nn.Linear(16 * 25, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pointwise(self.depthwise(self.stem(x)))
        scale = F.hardsigmoid(self.excite(F.relu(self.squeeze(x.mean((2, 3))))))
        return self.head(F.avg_pool2d(x * scale[..., None, None], 2).flatten(1))


def mobile(watch: Watch) -> Losses:
    torch.manual_seed(226)
    return fit(watch, Mobile(), images())


class Mixer(nn.Module):
    """Tokens are mixed by a layer whose bias the layer norm after it takes out."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(1, 16, 2, stride=2)
        self.norm1, self.tokens = nn.LayerNorm(16), nn.Linear(25, 25)
        self.norm2, self.channels = nn.LayerNorm(16), nn.Linear(16, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).flatten(2)
        mixed = self.tokens(self.norm1(x.transpose(1, 2)).transpose(1, 2))
        h = self.norm2(mixed.transpose(1, 2))
        return self.head(F.gelu(h + self.channels(h)).mean(1))


def mixer(watch: Watch) -> Losses:
    torch.manual_seed(227)
    optimizer = torch.optim.Adam((model := Mixer()).parameters(), lr=1e-2)
    return fit(watch, model, images(32), optimizer=optimizer, steps=60)


def frozen_norms(watch: Watch) -> Losses:
    """Fine-tunes with the statistics of batch norm kept as they were: eval() on purpose."""
    torch.manual_seed(228)
    model = ConvNet()
    fit(lambda *_, **__: None, model, images(seed=4), steps=30)
    for norm in (model.bn1, model.bn2):
        norm.eval().requires_grad_(False)
    trainable = [p for p in model.parameters() if p.requires_grad]
    return fit(watch, model, images(), optimizer=torch.optim.Adam(trainable, lr=3e-3))


def thawed_later(watch: Watch) -> Losses:
    """The body is frozen for the first steps, and has been in the optimizer all the time."""
    torch.manual_seed(229)
    model = PlainConvNet()
    fit(lambda *_, **__: None, model, images(seed=4), steps=30)
    body = [*model.conv1.parameters(), *model.conv2.parameters()]

    def thaw(step: int) -> None:
        for parameter in body:
            parameter.requires_grad = step >= 15

    thaw(0)
    return fit(watch, model, images(), before=thaw)


def averaged(watch: Watch) -> Losses:
    """An average of the weights is kept beside, for evaluation."""
    torch.manual_seed(230)
    model = ConvNet()
    average = copy.deepcopy(model).requires_grad_(False)

    def update(step: int) -> None:
        with torch.no_grad():
            for kept, new in zip(average.parameters(), model.parameters()):
                kept.lerp_(new, 0.05)

    return fit(watch, model, images(), before=update)


def augmented(batches: Batches) -> Batches:
    for x, y in batches:
        yield torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x + 0.1 * torch.randn_like(x), x), y


def one_cycle(watch: Watch) -> Losses:
    torch.manual_seed(231)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=STEPS + 2)
    return fit(
        watch, model, augmented(images()), optimizer=optimizer, before=lambda _: schedule.step()
    )


CASES = [
    Case("conv: batch norm", batch_norm, family="conv"),
    Case("conv: no norm", plain, family="conv"),
    Case("conv: LayerScale", layer_scale, family="conv"),
    Case("conv: residuals that begin at zero", zero_init_residual, family="conv"),
    Case("conv: stochastic depth", stochastic_depth, family="conv"),
    Case("conv: auxiliary head", auxiliary_head, family="conv"),
    Case("conv: depthwise, squeeze and excite", mobile, family="conv"),
    Case("mixer: bias under layer norm", mixer, family="conv"),
    Case("conv: norms frozen on purpose", frozen_norms, family="conv"),
    Case("conv: thawed later", thawed_later, family="conv"),
    Case("conv: average of weights", averaged, family="conv"),
    Case("conv: one cycle", one_cycle, family="conv"),
]
