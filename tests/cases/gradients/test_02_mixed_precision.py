"""Case 2: a GradScaler's factor is in no number, whoever unscales; a skipped step is marked."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.loops import Bare, run_both, state_of


@pytest.mark.parametrize("unscales", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_the_factor_and_a_skipped_step(given: bool, unscales: bool, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        run.watch(net, optimizer=optimizer, **({"grad_scaler": scaler} if given else {}))
        for x in (torch.ones(2, 3), torch.full((2, 3), math.inf), torch.ones(2, 3)):
            optimizer.zero_grad()
            scaler.scale(net(x).sum()).backward()
            if unscales:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
        return state_of(net)

    log = run_both(loop, tmp_path)
    for step in (0, 2):
        for stage in ("backward", "unscaled", "applied"):
            assert log.tensor(step, stage, "weight").gradient.tolist() == [[2.0, 2.0, 2.0]]
    skipped = log.record(1, "unscaled")
    assert skipped.skipped and [place[1] for place in log.places if place[0] == 1] == [
        "backward", "unscaled",
    ]  # fmt: skip
    assert [record.loss_scale for record in log.records if record.stage == "unscaled"] == [
        1024.0, 1024.0, 512.0,
    ]  # fmt: skip
