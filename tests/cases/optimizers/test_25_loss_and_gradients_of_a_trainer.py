"""Case 25: the gradients of an update stand at the step at which the Trainer logs its loss."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import lightning.pytorch
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tb_gradgraph.integrations.lightning import GradGraphCallback as LightningCallback
from tb_gradgraph.integrations.transformers import GradGraphCallback as TransformersCallback
from tb_gradgraph.statistics import STATISTICS
from tests.integrations import test_lightning as of_lightning
from tests.integrations import test_transformers as of_transformers
from tests.logged import read_logdir

pytestmark = of_lightning.pytestmark
AT = 3  # update whose loss is multiplied by zero, and so is its gradient


def _least(logdir: pathlib.Path, scalar: str) -> tuple[int, int, list[int], list[int]]:
    """Return the step of the loss that is zero, that of the gradient that is, and all steps of both."""
    losses: dict[int, float] = {}
    for path in logdir.rglob("*tfevents*"):
        events = EventAccumulator(str(path))
        events.Reload()
        if scalar in events.Tags()["scalars"]:
            losses.update({event.step: event.value for event in events.Scalars(scalar)})
    norms: dict[int, float] = {}
    for run in read_logdir(logdir):
        for record in run.records:
            if record.stage == "applied":
                column = record.table.values[record.table.present, STATISTICS.index("l2_norm")]
                norms[record.step] = float((column**2).sum())
    (loss,) = (step for step, value in losses.items() if value == 0)
    (gradient,) = (step for step, value in norms.items() if value == 0)
    return loss, gradient, sorted(losses), sorted(norms)


def _flat(trainer: Any, accumulates: int = 1) -> Any:
    calls, compute = itertools.count(), trainer.compute_loss

    def compute_loss(*args: Any, **kwargs: Any) -> torch.Tensor:
        return compute(*args, **kwargs) * (next(calls) // accumulates != AT)

    trainer.compute_loss = compute_loss
    return trainer


@pytest.mark.parametrize("accumulates", [1, 2])
def test_hugging_face(accumulates: int, tmp_path: pathlib.Path) -> None:
    trainer = of_transformers.new_trainer(
        tmp_path,
        [TransformersCallback(every_n_steps=1)],
        gradient_accumulation_steps=accumulates,
        eval_strategy="no",
    )
    _flat(trainer, accumulates).train()
    loss, gradient, logged, recorded = _least(tmp_path, "train/loss")
    assert loss == gradient == AT + 1
    assert logged == recorded == list(range(1, 12 // accumulates + 1))


def test_hugging_face_resumed(tmp_path: pathlib.Path) -> None:
    first = of_transformers.new_trainer(
        tmp_path / "first", [], num_train_epochs=1, save_strategy="epoch"
    )
    first.train()
    resumed = of_transformers.new_trainer(
        tmp_path / "second", [TransformersCallback(every_n_steps=1)]
    )
    _flat(resumed).train(resume_from_checkpoint=str(tmp_path / "first" / "checkpoint-6"))
    loss, gradient, logged, recorded = _least(tmp_path / "second", "train/loss")
    assert loss == gradient == 6 + AT + 1
    assert logged == recorded == list(range(7, 13))


def _flat_module(accumulates: int = 1) -> Any:
    calls = itertools.count()

    def training_step(self: Any, batch: Any, batch_idx: int) -> torch.Tensor:
        loss = self.net.loss(*batch) * (next(calls) // accumulates != AT)
        self.log("train_loss", loss)
        return loss

    return of_lightning.new_module(lightning.pytorch, training_step=training_step)


@pytest.mark.parametrize("accumulates", [1, 2])
def test_lightning(accumulates: int, tmp_path: pathlib.Path) -> None:
    trainer = of_lightning.new_trainer(
        tmp_path,
        [LightningCallback(every_n_steps=1)],
        accumulate_grad_batches=accumulates,
        num_sanity_val_steps=0,
    )
    of_lightning.fit(trainer, _flat_module(accumulates))
    loss, gradient, logged, recorded = _least(tmp_path, "train_loss")
    assert loss == gradient == AT
    assert logged == recorded == list(range(12 // accumulates))


def test_lightning_resumed(tmp_path: pathlib.Path) -> None:
    trainer = of_lightning.new_trainer(tmp_path / "first", [], max_epochs=1, num_sanity_val_steps=0)
    of_lightning.fit(trainer, of_lightning.new_module(lightning.pytorch))
    trainer.save_checkpoint(tmp_path / "kept.ckpt")
    again = of_lightning.new_trainer(
        tmp_path / "second", [LightningCallback(every_n_steps=1)], num_sanity_val_steps=0
    )
    of_lightning.fit(again, _flat_module(), ckpt_path=str(tmp_path / "kept.ckpt"))
    loss, gradient, logged, recorded = _least(tmp_path / "second", "train_loss")
    assert loss == gradient == 6 + AT
    assert logged == recorded == list(range(6, 12))
