"""The callbacks stop a training that is broken, or let it raise."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import pytest
import torch

from tb_gradgraph.errors import FindingError
from tb_gradgraph.integrations import lightning as of_lightning
from tb_gradgraph.integrations import transformers as of_transformers
from tests.integrations import test_lightning, test_transformers
from tests.integrations.untouched import check_nothing_left

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]
BROKEN = 4  # the batch whose loss is NaN


def _breaking(self: Any, batch: Any, batch_idx: int) -> torch.Tensor:
    return self.net.loss(*batch) * (math.nan if batch_idx == BROKEN else 1.0)


def _breaking_gradient(self: Any, batch: Any, batch_idx: int) -> torch.Tensor:
    """The gradient of a root at 0 is infinite."""
    loss = self.net.loss(*batch)
    return torch.sqrt(loss * 0) + loss if batch_idx == BROKEN else loss


def _fit(
    tmp_path: pathlib.Path, on_finding: Any, training_step: Any = _breaking, **options: Any
) -> tuple[Any, Any]:
    callback = of_lightning.GradGraphCallback(every_n_steps=100, on_finding=on_finding)
    pl = test_lightning.lightning.pytorch
    module = test_lightning.new_module(pl, training_step=training_step)
    trainer = test_lightning.new_trainer(tmp_path, [callback], max_epochs=3, **options)
    try:
        test_lightning.fit(trainer, module, count=48)
    finally:
        check_nothing_left(module, [module.sgd])
        if on_finding == "raise":  # before the weights change, although Lightning uses a closure
            assert all(bool(parameter.isfinite().all()) for parameter in module.parameters())
    return trainer, callback


def test_lightnings_trainer_stops(tmp_path: pathlib.Path):
    with pytest.warns(
        UserWarning, match=r"step 4: The loss of step 4 is nan.* The training stops\."
    ):
        trainer, callback = _fit(tmp_path, "stop")
    assert trainer.should_stop and callback.is_to_stop
    assert trainer.global_step == BROKEN + 1


def test_lightnings_trainer_raises(tmp_path: pathlib.Path):
    with pytest.raises(FindingError, match="step 4: The loss of step 4 is nan"):
        _fit(tmp_path, "raise")


def test_the_norm_that_lightnings_trainer_clips_by_raises(tmp_path: pathlib.Path):
    with pytest.raises(FindingError, match="step 4: The norm of the gradients of step 4 is nan"):
        _fit(tmp_path, "raise", _breaking_gradient, gradient_clip_val=1.0)


class Breaking(test_transformers.Model):
    """Its fifth loss is NaN, or finite with a gradient that is not."""

    calls = 0
    has_finite_loss = False

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        if self.training:
            self.calls += 1
        loss = super().forward(x, labels)["loss"]
        if self.calls != BROKEN + 1:
            return {"loss": loss}
        return {"loss": torch.sqrt(loss * 0) + loss if self.has_finite_loss else loss * math.nan}


def _train(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, on_finding: Any) -> Any:
    monkeypatch.setattr(test_transformers, "Model", Breaking)
    callback = of_transformers.GradGraphCallback(every_n_steps=100, on_finding=on_finding)
    trainer = test_transformers.new_trainer(tmp_path, [callback], eval_strategy="no")
    trainer.train()
    return trainer


def test_hugging_faces_trainer_stops(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.warns(
        UserWarning, match=r"step 5: The loss of step 5 is nan.* The training stops\."
    ):
        trainer = _train(tmp_path, monkeypatch, "stop")
    assert trainer.state.global_step == BROKEN + 1


def test_hugging_faces_trainer_raises(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(FindingError, match="step 5: The loss of step 5 is nan"):
        _train(tmp_path, monkeypatch, "raise")


def test_the_norm_that_hugging_faces_trainer_clips_by_raises(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    """Its Accelerator clips by default."""
    monkeypatch.setattr(Breaking, "has_finite_loss", True)
    with pytest.raises(FindingError, match="step 5: The norm of the gradients of step 5 is nan"):
        _train(tmp_path, monkeypatch, "raise")
