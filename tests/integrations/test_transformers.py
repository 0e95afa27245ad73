"""Hugging Face's Trainer."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from torch.utils.tensorboard import SummaryWriter
from transformers import Trainer, TrainingArguments
from transformers.integrations import TensorBoardCallback

from tb_gradgraph.integrations.transformers import GradGraphCallback
from tests.integrations.replay import (
    Log,
    Net,
    check_accumulated_step,
    check_scaled_steps,
    new_data,
    new_net,
    replay,
    sgd,
)
from tests.integrations.untouched import check_equal, check_nothing_left, state_of

CLIP = 0.05


class Model(Net):
    """Called as a model of transformers is."""

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": self.loss(x, labels)}


def new_trainer(logdir: pathlib.Path, callbacks: list[Any], **options: Any) -> Trainer:
    """Return a Trainer of 24 samples in batches of 4."""
    model = Model()
    model.load_state_dict(new_net().state_dict())
    optimizer = sgd(model)
    constant = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    data = [{"x": x, "labels": y} for x, y in new_data(24)]
    arguments: dict[str, Any] = {
        "per_device_train_batch_size": 4,
        "num_train_epochs": 2,
        "use_cpu": True,
        "save_strategy": "no",
        "eval_strategy": "epoch",
        "disable_tqdm": True,
        "logging_steps": 1,
        "max_grad_norm": 0,
        "report_to": "tensorboard",
        **options,
    }
    return Trainer(
        model,
        TrainingArguments(str(logdir), **arguments),
        train_dataset=data,
        eval_dataset=data[:4],
        callbacks=callbacks,
        optimizers=(optimizer, constant),
    )


def test_accumulated_and_clipped_steps_are_those_of_plain_torch(tmp_path: pathlib.Path):
    states = []
    options = {"gradient_accumulation_steps": 2, "max_grad_norm": CLIP}
    for callbacks in ([], [GradGraphCallback(every_n_steps=2, level="op")]):
        trainer = new_trainer(tmp_path / str(len(callbacks)), callbacks, **options)
        trainer.train()
        optimizer = trainer.optimizer.optimizer
        states.append(state_of(trainer.model, optimizer))
        check_nothing_left(trainer.model, [optimizer])
    check_equal(*states)
    log = Log(tmp_path / "1")
    steps = replay(trainer.model.seen, accumulate=2, clip=CLIP)
    assert len(steps) == 6
    assert log.steps == [1, 2, 4, 6]
    for step in log.steps:
        check_accumulated_step(log, step, steps[step - 1])
    assert {record.tag for record in log.run.records} == {"Model"}


def files(directory: pathlib.Path) -> list[pathlib.Path]:
    return sorted(directory.rglob("events*"))


def test_all_goes_into_the_file_of_the_tensorboard_callback(tmp_path: pathlib.Path):
    trainer = new_trainer(tmp_path, [GradGraphCallback()])
    trainer.train()
    assert len(files(tmp_path)) == 1
    assert Log(tmp_path).steps == [1]


def test_a_tensorboard_callback_that_is_added_later_with_a_writer(tmp_path: pathlib.Path):
    trainer = new_trainer(tmp_path / "out", [GradGraphCallback(every_n_steps=5)], report_to="none")
    trainer.add_callback(TensorBoardCallback(SummaryWriter(tmp_path / "mine")))
    trainer.train()
    assert files(tmp_path / "out") == []
    assert Log(tmp_path / "mine").steps == [1, 5, 10]


def test_without_tensorboard_callback_a_file_is_made_at_each_training(tmp_path: pathlib.Path):
    trainer = new_trainer(tmp_path, [GradGraphCallback(every_n_steps=5)], report_to="none")
    trainer.train()
    log = Log(tmp_path)
    assert log.steps == [1, 5, 10]
    log.check(10, "applied", replay(trainer.model.seen)[9].applied)
    assert [path.parent.parent.name for path in files(tmp_path)] == ["runs"]


def test_a_resumed_run_goes_on_counting(tmp_path: pathlib.Path):
    first = new_trainer(tmp_path, [], num_train_epochs=1, save_strategy="epoch")
    first.train()
    callback = GradGraphCallback(every_n_steps=4)
    resumed = new_trainer(tmp_path / "resumed", [callback])
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-6"))
    log = Log(tmp_path / "resumed")
    assert log.steps == [8, 12]
    steps = replay([*first.model.seen, *resumed.model.seen])
    assert len(steps) == 12
    log.check(8, "applied", steps[7].applied)
    log.check(12, "applied", steps[11].applied)


def test_the_scaler_of_accelerate(tmp_path: pathlib.Path):
    trainer = new_trainer(tmp_path, [GradGraphCallback(every_n_steps=2)])
    trainer.accelerator.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    trainer.train()
    log = Log(tmp_path)
    assert log.steps == [1, 2, 4, 6, 8, 10, 12]
    again = torch.amp.GradScaler("cpu", init_scale=2.0**12)
    check_scaled_steps(log, trainer.model.seen, again, first=1)


def compiled_frames(logdir: pathlib.Path, callbacks: list[Any]) -> tuple[Trainer, dict[str, Any]]:
    """Train a model that torch.compile takes in; give what torch counted."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    trainer = new_trainer(logdir, callbacks, torch_compile_backend="eager")
    trainer.train()
    counters = torch._dynamo.utils.counters
    return trainer, {name: dict(counters[name]) for name in ("stats", "frames", "graph_break")}


def test_a_compiled_model_is_compiled_once(tmp_path: pathlib.Path):
    _, bare = compiled_frames(tmp_path / "bare", [])
    callback = GradGraphCallback(every_n_steps=5, level="op")
    trainer, watched = compiled_frames(tmp_path / "watched", [callback])
    assert bare["frames"]["ok"] > 0
    assert watched == bare
    log = Log(tmp_path / "watched")
    assert log.steps == [1, 5, 10]
    log.check(10, "applied", replay(trainer.model.seen)[9].applied)
    assert {record.tag for record in log.run.records} == {"Model"}


def test_an_error_ends_a_training_as_it_would_and_the_next_is_recorded(tmp_path: pathlib.Path):
    callback = GradGraphCallback(every_n_steps=1)
    trainer = new_trainer(tmp_path, [callback])
    good = trainer.train_dataset
    trainer.train_dataset = [*good[:23], {"x": torch.zeros(3), "labels": torch.zeros(1)}]
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        trainer.train()
    trainer.train_dataset = good
    trainer.train()
    assert callback.watch is None
    check_nothing_left(trainer.model, [trainer.optimizer.optimizer])
    assert Log(tmp_path).steps == [*range(1, 13)]
