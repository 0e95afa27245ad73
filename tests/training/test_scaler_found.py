"""Scalers that nobody names: found by what multiplied the loss, however torch tells of it."""

from __future__ import annotations

import pathlib
import types
from typing import Any

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.training.step import scalers
from tests.training.loops import Bare, run_both, small_net, state_of

FACTOR = 1024.0


@pytest.fixture(params=[True, False], ids=["told", "noted"])
def tells_packed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether torch tells what a multiplication saved, as it does from 2.9 on."""
    if not request.param:
        monkeypatch.setattr(scalers, "TELLS_PACKED", False)
    return scalers.TELLS_PACKED


@pytest.mark.usefixtures("tells_packed")
def test_a_scaler_that_scales_another_loss(tmp_path: pathlib.Path) -> None:
    """A scaler among the variables is not taken for that of this training."""

    def loop(run: Bare) -> Any:
        net, other = small_net(), small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        others = torch.optim.SGD(other.parameters(), 0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=FACTOR)
        run.watch(net, optimizer=optimizer)
        for step in range(2):
            others.zero_grad()
            scaler.scale(other(torch.ones(4, 3)).sum()).backward()
            scaler.step(others)
            scaler.update()
            optimizer.zero_grad()
            net(torch.ones(4, 3)).square().mean().backward()
            run.note(step, "backward", net)
            run.note(step, "applied", net)
            optimizer.step()
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path)
    assert {record.loss_scale for record in log.records} == {1.0}


class _ScalesItself(torch.amp.GradScaler):
    def scale(self, outputs: torch.Tensor) -> torch.Tensor:
        return super().scale(outputs * 1)


def test_a_scaler_of_which_torch_does_not_tell_is_named(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scalers, "TELLS_PACKED", False)
    net, scaler = small_net(), _ScalesItself("cpu", init_scale=FACTOR)
    loss = scaler.scale(net(torch.ones(4, 3)).square().mean())  # before anybody notes it
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1)
        with pytest.warns(UserWarning, match="whether _ScalesItself has multiplied this loss"):
            loss.backward()


@pytest.mark.usefixtures("tells_packed")
@pytest.mark.parametrize("is_held", [False, True], ids=["variable", "attribute"])
def test_a_scaler_without_an_optimizer_given(is_held: bool, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        holder = types.SimpleNamespace(scaler=torch.amp.GradScaler("cpu", init_scale=FACTOR))
        scaler = None if is_held else holder.scaler
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net)
        for step in range(2):
            optimizer.zero_grad()
            loss = net(torch.ones(4, 3)).square().mean()
            run.note_parts(step, loss, net)
            (scaler or holder.scaler).scale(loss).backward()
            holder.scaler.step(optimizer)
            holder.scaler.update()
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path)
    assert {record.loss_scale for record in log.records} == {FACTOR}
