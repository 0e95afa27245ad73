"""The trainings whose graphs the gallery shows: nine nets that people train, a few steps of each."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss

from tb_gradgraph import SummaryWriter
from tests.browser.gallery import nets_of_images as images
from tests.browser.gallery import nets_of_sequences as sequences
from tests.browser.pictured_runs import GPT, LENGTH, make_batch

STEPS = 1

#: A model, and what gives the loss of a batch.
Training = tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]


def train_resnet(model: nn.Module) -> Training:
    def loss(net: nn.Module) -> torch.Tensor:
        return cross_entropy(net(torch.randn(4, 3, 64, 64)), torch.randint(10, (4,)))

    return model, loss


def train_unet() -> Training:
    def loss(net: nn.Module) -> torch.Tensor:
        return cross_entropy(net(torch.randn(2, 1, 32, 32)), torch.randint(2, (2, 32, 32)))

    return images.UNet(), loss


def train_denoiser() -> Training:
    def loss(net: nn.Module) -> torch.Tensor:
        noise = torch.randn(2, 1, 16, 16)
        return mse_loss(net(torch.randn(2, 1, 16, 16) + noise, torch.rand(2)), noise)

    return images.Denoiser(), loss


def train_gpt() -> Training:
    def loss(net: nn.Module) -> torch.Tensor:
        tokens = make_batch(LENGTH + 1)
        return cross_entropy(net(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    return GPT(), loss


def train_translator() -> Training:
    def loss(net: nn.Module) -> torch.Tensor:
        source, target = torch.randint(sequences.TOKENS, (2, 4, sequences.LENGTH))
        return cross_entropy(net(source, target).flatten(0, 1), target.flatten())

    return sequences.Translator(), loss


def train_lstm() -> Training:
    def loss(net: nn.Module) -> torch.Tensor:
        tokens = torch.randint(sequences.TOKENS, (4, sequences.LENGTH))
        return cross_entropy(net(tokens), tokens[:, 0])

    return sequences.Unrolled(), loss


def train_gan() -> Training:
    def loss(net: nn.Module) -> torch.Tensor:
        return binary_cross_entropy_with_logits(net(torch.randn(16, 8)), torch.ones(16, 1))

    return sequences.GAN(), loss


def train_experts() -> Training:
    def loss(net: nn.Module) -> torch.Tensor:
        tokens = torch.randint(sequences.TOKENS, (4, sequences.LENGTH))
        return cross_entropy(net(tokens), tokens[:, 0])

    return sequences.MixtureOfExperts(), loss


NETS: dict[str, Callable[[], Training]] = {
    "resnet18": lambda: train_resnet(images.ResNet(images.BasicBlock, [2, 2, 2, 2])),
    "resnet50": lambda: train_resnet(images.ResNet(images.Bottleneck, [3, 4, 6, 3])),
    "gpt": train_gpt,
    "unet": train_unet,
    "translator": train_translator,
    "lstm": train_lstm,
    "gan": train_gan,
    "experts": train_experts,
    "denoiser": train_denoiser,
}


def log_gallery(directory: pathlib.Path) -> None:
    """Train each net for a few steps and log it as a run of its name."""
    for name, make in NETS.items():
        torch.manual_seed(0)
        model, loss_of = make()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        with SummaryWriter(str(directory / name)) as writer:
            writer.watch(model, optimizer=optimizer, tag=type(model).__name__)
            for _ in range(STEPS):
                optimizer.zero_grad()
                loss_of(model).backward()
                optimizer.step()
