"""A GAN as Lightning's documentation writes it: two optimizers, toggled in turn."""

from __future__ import annotations

import pathlib
from typing import Any

import lightning.pytorch
import numpy as np
import pytest
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from torch import nn

from tb_gradgraph.integrations.lightning import GradGraphCallback
from tests.integrations.replay import LEARNING_RATE, new_data
from tests.integrations.untouched import check_nothing_left
from tests.logged import LoggedRun, read_one_run, read_tensor

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning's use of torch
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),  # its advice
]


def new_parts() -> tuple[nn.Module, nn.Module]:
    torch.manual_seed(7)
    return nn.Linear(4, 2), nn.Linear(2, 1)


def generator_loss(generator: nn.Module, discriminator: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return nn.functional.softplus(-discriminator(generator(x))).mean()


def discriminator_loss(
    generator: nn.Module, discriminator: nn.Module, x: torch.Tensor
) -> torch.Tensor:
    fake = nn.functional.softplus(discriminator(generator(x).detach())).mean()
    return fake + nn.functional.softplus(-discriminator(x[:, :2])).mean()


LOSSES = (generator_loss, discriminator_loss)


class Gan(lightning.pytorch.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.discriminator = new_parts()
        self.seen: list[torch.Tensor] = []

    def training_step(self, batch: Any, batch_idx: int) -> None:
        self.seen.append(batch[0].clone())
        for optimizer, loss in zip(self.optimizers(), LOSSES):
            self.toggle_optimizer(optimizer)
            optimizer.zero_grad()
            self.manual_backward(loss(self.generator, self.discriminator, batch[0]))
            optimizer.step()
            self.untoggle_optimizer(optimizer)

    def configure_optimizers(self) -> list[torch.optim.Optimizer]:
        parts = (self.generator, self.discriminator)
        self.pair = [torch.optim.SGD(part.parameters(), lr=LEARNING_RATE) for part in parts]
        return self.pair


def replay(batches: list[torch.Tensor]) -> list[list[dict[str, torch.Tensor]]]:
    """Return the gradients of each step: the generator's, then the discriminator's."""
    parts = new_parts()
    steps = []
    for x in batches:
        found = []
        for name, part, loss in zip(("generator", "discriminator"), parts, LOSSES):
            parameters = dict(part.named_parameters(prefix=name))
            gradients = torch.autograd.grad(loss(*parts, x), list(parameters.values()))
            found.append(dict(zip(parameters, gradients)))
            with torch.no_grad():
                for parameter, gradient in zip(parameters.values(), gradients):
                    parameter -= LEARNING_RATE * gradient
        steps.append(found)
    return steps


def check(run: LoggedRun, step: int, stage: str, expected: dict[str, torch.Tensor]) -> None:
    """Find each gradient in exactly one of the records of a stage."""
    records = [r for r in run.records if (r.step, r.stage) == (step, stage)]
    for name, gradient in expected.items():
        read = (read_tensor(run, record, name).gradient for record in records)
        (found,) = (array for array in read if array is not None)
        np.testing.assert_allclose(found, gradient.numpy(), rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_what_flows_through_the_discriminator_is_not_its_update(level: str, tmp_path: pathlib.Path):
    module = Gan()
    trainer = lightning.pytorch.Trainer(
        accelerator="cpu",
        max_epochs=1,
        logger=TensorBoardLogger(tmp_path),
        callbacks=[GradGraphCallback(every_n_steps=2, level=level)],
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        log_every_n_steps=1,
    )
    trainer.fit(module, torch.utils.data.DataLoader(new_data(20), batch_size=4))
    check_nothing_left(module, module.pair)
    run = read_one_run(tmp_path)
    assert sorted({record.step for record in run.records}) == [0, 2, 4]
    for step, parts in enumerate(replay(module.seen)):
        if step % 2 == 0:
            for gradients in parts:
                check(run, step, "backward", gradients)
                check(run, step, "applied", gradients)
