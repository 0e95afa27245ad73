"""Lightning's Trainer, of both packages."""

from __future__ import annotations

import copy
import importlib
import pathlib
from typing import Any

import lightning.pytorch
import pytest
import pytorch_lightning
import torch
from lightning.pytorch.plugins import MixedPrecision

from tb_gradgraph import WriterError
from tb_gradgraph.integrations.lightning import GradGraphCallback
from tests.integrations.replay import (
    Log,
    check_accumulated_step,
    check_scaled_steps,
    new_data,
    new_net,
    replay,
    sgd,
)
from tests.integrations.untouched import check_equal, check_nothing_left, state_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning's use of torch
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),  # its advice
]
CLIP = 0.05


def new_module(pl: Any, **changes: Any) -> Any:
    """Return a LightningModule of the package ``pl``; ``changes`` are attributes of its class."""

    class Fit(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = new_net()

        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            loss = self.net.loss(*batch)
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_loss", self.net.loss(*batch))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            self.sgd = sgd(self)
            return self.sgd

    return type("Fit", (Fit,), changes)()


def new_trainer(
    logdir: pathlib.Path, callbacks: list[Any], pl: Any = lightning.pytorch, **options: Any
) -> Any:
    loggers = importlib.import_module(f"{pl.__name__}.loggers")
    return pl.Trainer(
        **{
            "accelerator": "cpu",
            "max_epochs": 2,
            "logger": loggers.TensorBoardLogger(logdir),
            "callbacks": callbacks,
            "default_root_dir": logdir,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
            "log_every_n_steps": 1,
            **options,
        }
    )


def fit(trainer: Any, module: Any, count: int = 24, **options: Any) -> None:
    """Train on ``count`` samples, in batches of 4, with a validation after each epoch."""
    loader = torch.utils.data.DataLoader(new_data(count), batch_size=4)
    trainer.fit(module, loader, loader, **options)


@pytest.mark.parametrize("pl", [lightning.pytorch, pytorch_lightning], ids=lambda pl: pl.__name__)
def test_accumulated_and_clipped_steps_are_those_of_plain_torch(pl: Any, tmp_path: pathlib.Path):
    states = []
    options = {"accumulate_grad_batches": 2, "gradient_clip_val": CLIP}
    for callbacks in ([], [GradGraphCallback(every_n_steps=2, level="op")]):
        torch.manual_seed(1)
        module = new_module(pl)
        logdir = tmp_path / str(len(callbacks))
        fit(new_trainer(logdir, callbacks, pl, **options), module)
        states.append(state_of(module, module.sgd))
        check_nothing_left(module, [module.sgd])
    check_equal(*states)
    log = Log(tmp_path / "1")
    steps = replay(module.net.seen, accumulate=2, clip=CLIP)
    assert len(steps) == 6
    assert log.steps == [0, 2, 4]
    for step in log.steps:
        check_accumulated_step(log, step, steps[step], prefix="net.")
    assert {record.tag for record in log.run.records} == {"Fit"}


def test_a_resumed_run_goes_on_counting(tmp_path: pathlib.Path):
    first = new_module(lightning.pytorch)
    trainer = new_trainer(tmp_path / "first", [], max_epochs=1)
    fit(trainer, first)
    trainer.save_checkpoint(tmp_path / "checkpoint")
    resumed = new_module(lightning.pytorch)
    trainer = new_trainer(tmp_path / "resumed", [GradGraphCallback(every_n_steps=4)])
    fit(trainer, resumed, ckpt_path=tmp_path / "checkpoint")
    log = Log(tmp_path / "resumed")
    assert log.steps == [8]
    steps = replay([*first.net.seen, *resumed.net.seen])
    assert len(steps) == 12
    log.check(8, "applied", steps[8].applied, prefix="net.")


def _two_optimizers(self: Any) -> Any:
    self.pair = [sgd(self.net.out), sgd(self.net.hidden)]
    return self.pair


def _step_both(self: Any, batch: Any, batch_idx: int) -> None:
    for optimizer in self.optimizers():
        optimizer.zero_grad()
    self.manual_backward(self.net.loss(*batch))
    for optimizer in self.optimizers():
        optimizer.step()


def test_manual_optimization_of_two_optimizers(tmp_path: pathlib.Path):
    module = new_module(
        lightning.pytorch,
        automatic_optimization=False,
        training_step=_step_both,
        configure_optimizers=_two_optimizers,
    )
    trainer = new_trainer(tmp_path, [GradGraphCallback(every_n_steps=3, level="param")])
    fit(trainer, module)
    assert trainer.global_step == 24, "Lightning counts the steps of both"
    log = Log(tmp_path)
    assert log.steps == [0, 3, 6, 9], "ours counts a step of both as one"
    steps = replay(module.net.seen)
    for step in log.steps:
        log.check(step, "backward", steps[step].accumulated, prefix="net.")
        log.check(step, "applied", steps[step].applied, prefix="net.")
        log.check_moved(step, steps[step].moved, prefix="net.")
    check_nothing_left(module, module.pair)


@pytest.mark.parametrize("init_scale", [2.0**12, 2.0**100], ids=["fits", "is too large"])
def test_the_scaler_of_the_precision_plugin(init_scale: float, tmp_path: pathlib.Path):
    scaler = torch.amp.GradScaler("cpu", init_scale=init_scale)
    plugin = MixedPrecision("16-mixed", "cpu", scaler)
    module = new_module(lightning.pytorch)
    # By default steps after three skips are recorded too.
    callback = GradGraphCallback(every_n_steps=2, on_finding=None)
    trainer = new_trainer(tmp_path, [callback], plugins=[plugin])
    fit(trainer, module)
    check_nothing_left(module, [module.sgd])
    log = Log(tmp_path)
    assert log.steps == [0, 2, 4, 6, 8, 10]
    again = torch.amp.GradScaler("cpu", init_scale=init_scale)
    check_scaled_steps(log, module.net.seen, again, prefix="net.", in_float16=True)


@pytest.mark.parametrize("loggers", ["CSVLogger", ""])
def test_a_trainer_without_tensorboard_is_an_error_before_it_trains(
    loggers: str, tmp_path: pathlib.Path
):
    logger = lightning.pytorch.loggers.CSVLogger(tmp_path) if loggers else False
    module = new_module(lightning.pytorch)
    trainer = new_trainer(tmp_path, [GradGraphCallback()], logger=logger)
    with pytest.raises(WriterError, match=f"got loggers: {loggers or 'none'}.*Trainer\\(logger="):
        fit(trainer, module)
    assert module.net.seen == []


def test_a_fast_dev_run_has_no_logger_and_is_let_be(tmp_path: pathlib.Path):
    module = new_module(lightning.pytorch)
    fit(new_trainer(tmp_path, [GradGraphCallback()], fast_dev_run=True), module)
    assert len(module.net.seen) == 1


def test_a_trainer_that_has_closed_its_logger_is_recorded_again(tmp_path: pathlib.Path):
    module = new_module(lightning.pytorch)
    trainer = new_trainer(tmp_path, [GradGraphCallback(every_n_steps=5)], max_epochs=1)
    for _ in range(2):
        fit(trainer, module)
        trainer.fit_loop.max_epochs += 1
    log = Log(tmp_path)
    assert log.steps == [0, 5, 10]
    steps = replay(module.net.seen, new_optimizer_at=6)
    log.check(10, "applied", steps[10].applied, prefix="net.")


def _fails_at_the_fourth(self: Any, batch: Any, batch_idx: int) -> torch.Tensor:
    if batch_idx == 3:
        raise KeyError("as a dataset may")
    return self.net.loss(*batch)


def test_an_error_in_the_training_is_the_users_own(tmp_path: pathlib.Path):
    module = new_module(lightning.pytorch, training_step=_fails_at_the_fourth)
    callback = GradGraphCallback(every_n_steps=1)
    with pytest.raises(KeyError, match="as a dataset may"):
        fit(new_trainer(tmp_path, [callback]), module)
    assert callback.watch is None
    check_nothing_left(module, [module.sgd])
    assert Log(tmp_path).steps == [0, 1, 2]


def _copies_its_trainer(self: Any, batch: Any, batch_idx: int) -> torch.Tensor:
    (copied,) = copy.deepcopy(self.trainer.callbacks)
    assert copied.watch is None
    assert self.callback.watch is not None
    return self.net.loss(*batch)


def test_the_callback_may_be_copied_in_a_training(tmp_path: pathlib.Path):
    callback = GradGraphCallback(every_n_steps=5)
    module = new_module(lightning.pytorch, training_step=_copies_its_trainer, callback=callback)
    fit(new_trainer(tmp_path, [callback]), module)
    assert Log(tmp_path).steps == [0, 5, 10]
