"""On a device a loss is looked at one step late, and nobody waits for it."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import pytest
import torch

from tb_gradgraph.training.guard import scalars
from tb_gradgraph.training.guard.scalars import NotFinite, Scalars
from tests.training.guard.breaking import recorded, small_net, square, steps_of, train


class Event:
    """An event of a device whose work may take long."""

    has_come = True

    def record(self, _stream: Any) -> None:
        """Begin."""

    def query(self) -> bool:
        return Event.has_come


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the copy of losses of a device that does not exist."""
    empty = torch.empty
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _device: None)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda _self, _stream: None)
    monkeypatch.setattr(torch, "empty", lambda *size, pin_memory, **rest: empty(*size, **rest))
    return scalars._LateScalar(torch.device("cuda", 0))


def test_a_loss_is_told_of_one_step_later(late: Any):
    values = [1.0, math.nan, 2.0, -math.inf, 3.0]
    found = [late.exchange(torch.tensor(value), step) for step, value in enumerate(values)]
    assert [one and (one.step, one.is_late) for one in found] == [
        *(None, None, (1, True), None, (3, True))
    ]
    assert math.isnan(found[2].value) and found[4].value == -math.inf


def test_what_has_not_come_is_not_waited_for(late: Any, monkeypatch: pytest.MonkeyPatch):
    late.exchange(torch.tensor(math.nan), 0)
    monkeypatch.setattr(Event, "has_come", False)
    assert late.exchange(torch.tensor(1.0), 1) is None
    monkeypatch.setattr(Event, "has_come", True)
    found = late.exchange(torch.tensor(1.0, dtype=torch.float64), 2)
    assert found is not None and found.step == 0


def _one_step_late(self: Scalars, roots: Any, step: int) -> NotFinite | None:
    """Look at losses as if they were on a device."""
    before = getattr(self, "before", None)
    self.before = (step, roots[0].item())  # type: ignore[attr-defined]
    if before is None or math.isfinite(before[1]):
        return None
    return NotFinite(*before, True)


def test_weights_that_are_lost_by_then_are_named(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Scalars, "see", _one_step_late)

    def loss(step: int, y: torch.Tensor) -> torch.Tensor:
        return square(step, y) * (math.nan if step == 13 else 1)

    (told,) = train(tmp_path, 20, loss)
    assert "step 13: The loss of step 13 is nan, and 4 weights hold NaN or infinity now: 0." in told
    assert steps_of(recorded(tmp_path)) == [0, 15]


def test_a_step_late_is_soon_enough_if_weights_are_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Scalars, "see", _one_step_late)
    net = small_net()
    net.requires_grad_(False)
    net[2].bias.requires_grad_(True)
    net[2].bias.register_hook(lambda grad: torch.nan_to_num(grad))

    def loss(step: int, y: torch.Tensor) -> torch.Tensor:
        return square(step, y) * (math.nan if step == 13 else 1)

    (told,) = train(tmp_path, 20, loss, net)
    assert "step 13: The loss of step 13 is nan. All weights are finite so far" in told
    assert steps_of(recorded(tmp_path)) == [0, 15, 16, 17]
