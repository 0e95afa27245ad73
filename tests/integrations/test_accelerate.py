"""Accelerate: the tracker's writer, prepared model and optimizer, accumulation, scaler."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from accelerate import Accelerator

import tb_gradgraph
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

CLIP = 0.05


def train(
    logdir: pathlib.Path,
    *,
    watched: bool = True,
    accumulate: int = 1,
    clip: float | None = None,
    scaler: torch.amp.GradScaler | None = None,
) -> tuple[Any, Any]:
    """Train two epochs of 24 samples in batches of 4; give model and optimizer."""
    accelerator = Accelerator(
        cpu=True,
        log_with="tensorboard",
        project_dir=logdir,
        gradient_accumulation_steps=accumulate,
    )
    accelerator.scaler = scaler  # fp16 itself needs a GPU
    accelerator.init_trackers("training")
    net = new_net()
    loader = torch.utils.data.DataLoader(new_data(24), batch_size=4)
    net, optimizer, loader = accelerator.prepare(net, sgd(net), loader)
    if watched:
        writer = accelerator.get_tracker("tensorboard")
        tb_gradgraph.watch(writer, net, optimizer=optimizer, every_n_steps=2, level="op")
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(net):
                accelerator.backward(net.loss(x, y))
                if clip is not None and accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(net.parameters(), clip)
                optimizer.step()
                optimizer.zero_grad()
    accelerator.end_training()
    return net, optimizer.optimizer


def test_accumulated_and_clipped_steps_are_those_of_plain_torch(tmp_path: pathlib.Path):
    states = []
    for watched in (False, True):
        net, optimizer = train(tmp_path / str(watched), watched=watched, accumulate=2, clip=CLIP)
        states.append(state_of(net, optimizer))
        check_nothing_left(net, [optimizer])
    check_equal(*states)
    log = Log(tmp_path / "True")
    steps = replay(net.seen, accumulate=2, clip=CLIP)
    assert log.steps == [0, 2, 4]
    for step in log.steps:
        check_accumulated_step(log, step, steps[step])


@pytest.mark.parametrize("init_scale", [2.0**12, 2.0**127], ids=["fits", "is too large"])
def test_its_scaler_is_found(init_scale: float, tmp_path: pathlib.Path):
    net, optimizer = train(tmp_path, scaler=torch.amp.GradScaler("cpu", init_scale=init_scale))
    log = Log(tmp_path)
    assert log.steps == [0, 2, 4, 6, 8, 10]
    check_scaled_steps(log, net.seen, torch.amp.GradScaler("cpu", init_scale=init_scale))
    check_nothing_left(net, [optimizer])
