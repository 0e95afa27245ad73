"""Faults in trainings without labels: denoisers, autoencoders, GANs, contrastive learning."""

from __future__ import annotations

import copy
import itertools

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.diagnose.battery.case import Case, Watch
from tests.diagnose.battery.second_half.fitting import Pictures, fit
from tests.diagnose.battery.second_half.nets_of_pictures import (
    Embedder,
    UNet,
    Vae,
    VqVae,
    denoising_loss,
    divergence,
)


def denoiser_without_zero_grad(watch: Watch) -> None:
    torch.manual_seed(21)
    data, model = Pictures(), UNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    watch(model, optimizer=optimizer)
    for _ in range(40):
        images, _ = data.batch(8)
        loss = denoising_loss(model, images)
        loss.backward()
        optimizer.step()


def denoiser_with_a_batch_of_other_units(watch: Watch) -> None:
    torch.manual_seed(22)
    data, model = Pictures(), UNet()

    def loss_of(step: int) -> Tensor:
        images, _ = data.batch(8)
        noise, time = torch.randn_like(images), torch.rand(8)
        if step == 37:
            noise = noise * 200  # a shard that was never rescaled
        level = time[:, None, None, None]
        return F.mse_loss(model((1 - level) * images + level * noise, time), noise)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, steps=45)


def cleared_before_the_step(watch: Watch) -> None:
    torch.manual_seed(23)
    data, model = Pictures(), Vae()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    watch(model, optimizer=optimizer)
    for _ in range(40):
        images, _ = data.batch()
        output, mean, log_var = model(images)
        loss = F.mse_loss(output, images) + 0.01 * divergence(mean, log_var)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()


def errors_summed_in_squared_grey_levels(watch: Watch) -> None:
    torch.manual_seed(24)
    data, model = Pictures(), Vae()

    def loss_of(step: int) -> Tensor:
        images, _ = data.batch()
        output, mean, log_var = model(images)
        reconstruction = ((output * 255 - images * 255) ** 2).sum((1, 2, 3)).mean()
        regularizer = divergence(mean, log_var)
        return reconstruction + regularizer

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of)


def log_variance_that_overflows(watch: Watch) -> None:
    torch.manual_seed(25)
    data, model = Pictures(), Vae()

    def loss_of(step: int) -> Tensor:
        images, _ = data.batch()
        if step == 29:
            images = images * 1e4
        output, mean, log_var = model(images)
        return F.mse_loss(output, images) + 0.01 * divergence(mean, log_var)

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, steps=40)


def quantized_without_straight_through(watch: Watch) -> None:
    torch.manual_seed(26)
    data, model = Pictures(), VqVae(straight_through=False)

    def loss_of(step: int) -> Tensor:
        images, _ = data.batch()
        output, z, quantized = model(images)
        return F.mse_loss(output, images) + F.mse_loss(quantized, z.detach())

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=3e-3), loss_of)


def generator_in_both_optimizers(watch: Watch) -> None:
    torch.manual_seed(27)
    data = Pictures()
    generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 432), nn.Tanh())
    critic = nn.Sequential(nn.Linear(432, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    both = nn.ModuleDict({"generator": generator, "critic": critic})
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    everything = itertools.chain(critic.parameters(), generator.parameters())
    d_optimizer = torch.optim.Adam(everything, lr=1e-3, betas=(0.5, 0.999))
    watch(both, optimizer=[d_optimizer, g_optimizer])
    for _ in range(40):
        real = data.batch()[0].flatten(1)
        fake = generator(torch.randn(16, 8))
        d_optimizer.zero_grad()
        d_loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
        d_loss.backward()
        d_optimizer.step()
        g_optimizer.zero_grad()
        g_loss = F.softplus(-critic(fake)).mean()
        g_loss.backward()
        g_optimizer.step()


def contrast(first: Tensor, second: Tensor) -> Tensor:
    first = first / first.norm(dim=1, keepdim=True)
    second = second / second.norm(dim=1, keepdim=True)
    return F.cross_entropy(first @ second.T / 0.2, torch.arange(len(first)))


def blank_picture_in_contrast(watch: Watch) -> None:
    torch.manual_seed(28)
    data, model = Pictures(), Embedder(bias=False)

    def loss_of(step: int) -> Tensor:
        first, second = data.two_views()
        if step == 33:
            second[5] = 0.0  # a random erase that took the whole picture
        return contrast(model(first), model(second))

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, steps=40)


def same_picture_as_a_pair(watch: Watch) -> None:
    torch.manual_seed(29)
    data, model = Pictures(), Embedder()

    def loss_of(step: int) -> Tensor:
        (first, labels), (second, others) = data.batch(), data.batch()
        if step == 12:
            second[3], others[3] = first[3], labels[3]
        distance = (model(first) - model(second)).pow(2).sum(1).sqrt()
        same = (labels == others).float()
        return (same * distance**2 + (1 - same) * F.relu(2 - distance) ** 2).mean()

    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of, steps=30)


class Bootstrap(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.online = Embedder()
        self.target = copy.deepcopy(self.online)
        self.predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        predicted = self.predictor(self.online(first))
        return 2 - 2 * F.cosine_similarity(predicted, self.target(second)).mean()


def target_that_is_trained(watch: Watch) -> None:
    torch.manual_seed(30)
    data, model = Pictures(), Bootstrap()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    fit(watch, model, optimizer, lambda step: model(*data.two_views()))


def encoder_under_data(watch: Watch) -> None:
    torch.manual_seed(31)
    data, model = Pictures(), Vae()

    def loss_of(step: int) -> Tensor:
        images, _ = data.batch()
        hidden = model.encoder(images)
        code = torch.tensor(model.mean(hidden).tolist())  # back from a numpy routine
        return F.mse_loss(model.decoder(code), images.flatten(1))

    model.log_var.requires_grad_(False)
    fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), loss_of)


CASES = (
    Case("unet: no zero_grad", denoiser_without_zero_grad, ("not_zeroed",), (), 1, "unet"),
    Case(
        "unet: a batch of other units",
        denoiser_with_a_batch_of_other_units,
        ("gradient_spike",),
        (),
        37,
        "unet",
    ),
    Case("vae: cleared before the step", cleared_before_the_step, ("cleared",), (), 0, "vae"),
    Case(
        "vae: errors summed in squared grey levels",
        errors_summed_in_squared_grey_levels,
        ("loss_imbalance",),
        (),
        0,
        "vae",
    ),
    Case(
        "vae: log variance overflows",
        log_variance_that_overflows,
        ("nonfinite_value",),
        ("*exp*",),
        29,
        "vae",
    ),
    Case(
        "vq-vae: straight-through forgotten",
        quantized_without_straight_through,
        ("no_gradient",),
        ("encoder*",),
        0,
        "vae",
    ),
    Case(
        "gan: the generator is in both optimizers",
        generator_in_both_optimizers,
        ("optimized_twice",),
        (),
        None,
        "gan",
    ),
    Case(
        "contrastive: a blank picture has norm 0",
        blank_picture_in_contrast,
        ("nonfinite_value",),
        ("*div*", "*second*"),
        33,
        "contrastive",
    ),
    Case(
        "siamese: root of a distance of 0",
        same_picture_as_a_pair,
        ("nonfinite_origin",),
        ("*sqrt*", "*distance*"),
        12,
        "contrastive",
    ),
    Case(
        "bootstrap: the target is trained",
        target_that_is_trained,
        ("equal_weights",),
        ("target*", "online*"),
        None,
        "contrastive",
    ),
    Case(
        "vae: the code went through a list",
        encoder_under_data,
        ("no_gradient",),
        ("encoder*", "mean*"),
        0,
        "vae",
    ),
)
