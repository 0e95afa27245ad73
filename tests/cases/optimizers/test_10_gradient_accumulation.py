"""Case 10: four micro-batches: the parts, and at the optimizer's step number what they come to."""

from __future__ import annotations

import pathlib
from typing import Any

import torch
from torch import nn

from tests.training.loops import Bare, run_both, state_of


def test_four_parts_and_their_sum(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = nn.Linear(1, 1, bias=False)
        optimizer = torch.optim.SGD(net.parameters(), 0.0)
        run.watch(net, optimizer=optimizer)
        for _ in range(2):
            optimizer.zero_grad()
            for part in range(1, 5):
                (net(torch.full((1, 1), float(part))).sum() / 4).backward()
            optimizer.step()
        return state_of(net)

    log = run_both(loop, tmp_path)
    for step in range(2):
        parts = [log.tensor(step, "backward", "weight", n).gradient.item() for n in range(4)]
        assert parts == [0.25, 0.5, 0.75, 1.0]
        for stage in ("accumulated", "applied"):
            assert log.tensor(step, stage, "weight").gradient.item() == 2.5
