"""Healthy trainings on pictures: classifiers, and a denoiser."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import Pictures, fit, warm_up
from tests.diagnose.battery.second_half.nets_of_pictures import (
    ConvNext,
    Mixer,
    SqueezeNet,
    UNet,
    denoising_loss,
)


def classification(model: nn.Module, data: Pictures, smoothing: float = 0.0) -> Tensor:
    images, labels = data.batch()
    return F.cross_entropy(model(images), labels, label_smoothing=smoothing)


def mixer_with_warm_up(watch: Watch) -> None:
    torch.manual_seed(101)
    data, model = Pictures(), Mixer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    schedule = warm_up(optimizer, 15)
    fit(watch, model, optimizer, lambda step: classification(model, data, 0.1), 50, 1.0, schedule)


def mixer_under_autocast(watch: Watch) -> None:
    torch.manual_seed(102)
    data, model = Pictures(), Mixer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    watch(model, optimizer=optimizer)
    for _ in range(40):
        images, labels = data.batch()
        with torch.autocast("cpu", torch.bfloat16):
            logits = model(images)
        loss = F.cross_entropy(logits.float(), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def convnext_with_stochastic_depth(watch: Watch) -> None:
    torch.manual_seed(103)
    data, model = Pictures(), ConvNext(drop=0.3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    fit(watch, model, optimizer, lambda step: classification(model, data, 0.1))


def squeeze_with_zero_gammas(watch: Watch) -> None:
    torch.manual_seed(104)
    data, model = Pictures(), SqueezeNet()
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
    loss_of = lambda step: classification(model, data)  # noqa: E731
    fit(watch, model, optimizer, loss_of, 60, None, schedule)


class FineTuned(nn.Module):
    """A frozen backbone, whose norms stay in evaluation mode, and a new head."""

    def __init__(self, backbone: SqueezeNet) -> None:
        super().__init__()
        self.backbone = backbone.requires_grad_(False)
        self.backbone.fc = nn.Identity()
        self.head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))

    def train(self, mode: bool = True) -> FineTuned:
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.backbone(x))


def frozen_backbone(watch: Watch) -> None:
    torch.manual_seed(105)
    data, backbone = Pictures(), SqueezeNet()
    before = torch.optim.SGD(backbone.parameters(), 0.05, momentum=0.9)
    for _ in range(20):
        before.zero_grad()
        classification(backbone, data).backward()
        before.step()
    model = FineTuned(backbone).train()
    optimizer = torch.optim.Adam(model.head.parameters(), lr=1e-2)
    fit(watch, model, optimizer, lambda step: classification(model, data))


def denoiser_with_average(watch: Watch) -> None:
    torch.manual_seed(106)
    data, model = Pictures(noise=0.2), UNet()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    watch(model, optimizer=optimizer)
    for _ in range(70):
        loss = denoising_loss(model, data.batch(12)[0])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), model.parameters()):
                slow.lerp_(fast, 0.05)


def scaler_that_overflows_at_times(watch: Watch) -> None:
    torch.manual_seed(107)
    data, model = Pictures(), Mixer()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**18, growth_interval=12)
    watch(model, optimizer=optimizer, grad_scaler=scaler)
    for _ in range(50):
        images, labels = data.batch()
        with torch.autocast("cpu", torch.float16):
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


class TwoHeads(nn.Module):
    """A classifier with an auxiliary head that is used at every second step."""

    def __init__(self) -> None:
        super().__init__()
        self.body = ConvNext()
        self.body.head = nn.Identity()
        self.main, self.auxiliary = nn.Linear(16, 4), nn.Linear(16, 3)

    def forward(self, x: Tensor, both: bool) -> tuple[Tensor, Tensor | None]:
        features = self.body(x)
        return self.main(features), self.auxiliary(features) if both else None


def auxiliary_head_at_times(watch: Watch) -> None:
    torch.manual_seed(108)
    data, model = Pictures(), TwoHeads()

    def loss_of(step: int) -> Tensor:
        images, labels = data.batch()
        logits, color = model(images, both=step % 2 == 0)
        loss = F.cross_entropy(logits, labels)
        if color is not None:
            loss = loss + 0.3 * F.mse_loss(color, images.mean((2, 3)))
        return loss

    fit(watch, model, torch.optim.AdamW(model.parameters(), lr=4e-3), loss_of)


def distilled_from_a_teacher(watch: Watch) -> None:
    torch.manual_seed(109)
    data, teacher, model = Pictures(), SqueezeNet(), Mixer()
    before = torch.optim.SGD(teacher.parameters(), 0.05, momentum=0.9)
    for _ in range(25):
        before.zero_grad()
        classification(teacher, data).backward()
        before.step()
    teacher.eval()

    def loss_of(step: int) -> Tensor:
        images, labels = data.batch()
        with torch.no_grad():
            soft = (teacher(images) / 2).softmax(1)
        logits = model(images)
        distance = F.kl_div((logits / 2).log_softmax(1), soft, reduction="batchmean")
        return 4 * distance + 0.5 * F.cross_entropy(logits, labels)

    fit(watch, model, torch.optim.AdamW(model.parameters(), lr=2e-3), loss_of)


class Checkpointed(Mixer):
    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
        return self.head(self.norm(x).mean(1))


def mixer_with_checkpoints(watch: Watch) -> None:
    torch.manual_seed(110)
    data, model = Pictures(), Checkpointed()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    fit(watch, model, optimizer, lambda step: classification(model, data))


def mixed_labels_with_frozen_stem(watch: Watch) -> None:
    torch.manual_seed(111)
    data, model = Pictures(), ConvNext()
    model.stem.requires_grad_(False)

    def loss_of(step: int) -> Tensor:
        (images, labels), share = data.batch(), torch.distributions.Beta(0.8, 0.8).sample()
        order = torch.randperm(len(images))
        logits = model(share * images + (1 - share) * images[order])
        other = F.cross_entropy(logits, labels[order])
        return share * F.cross_entropy(logits, labels) + (1 - share) * other

    trained = [p for p in model.parameters() if p.requires_grad]
    fit(watch, model, torch.optim.AdamW(trained, lr=5e-3), loss_of, steps=70)


CASES = (
    Case("mixer: warm-up, smoothing and clipping", mixer_with_warm_up, family="mixer"),
    Case("mixer: autocast to bfloat16", mixer_under_autocast, family="mixer"),
    Case("convnext: layer scale, stochastic depth", convnext_with_stochastic_depth, family="conv"),
    Case("squeeze: residuals begin at zero", squeeze_with_zero_gammas, family="conv"),
    Case("squeeze: frozen backbone in evaluation mode", frozen_backbone, family="conv"),
    Case("unet: moving average and clipping", denoiser_with_average, family="unet"),
    Case("mixer: a scaler overflows at times", scaler_that_overflows_at_times, family="mixer"),
    Case("convnext: an auxiliary head at times", auxiliary_head_at_times, family="conv"),
    Case("mixer: distilled from a teacher", distilled_from_a_teacher, family="mixer"),
    Case("mixer: checkpoints and RMSprop", mixer_with_checkpoints, family="mixer"),
    Case("convnext: mixed pictures, frozen stem", mixed_labels_with_frozen_stem, family="conv"),
)
