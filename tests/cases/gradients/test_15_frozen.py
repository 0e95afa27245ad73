"""Case 15: freezing in mid-run: marked frozen, not zero and not missing; the tool flips nothing."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.training.loops import Bare, run_both, state_of


def test_frozen_and_thawed_again() -> None:
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)), torch.ones(1, 2)
    keys = []
    for frozen in (False, True, False):
        model[0].requires_grad_(not frozen)
        graph = tb_gradgraph.capture(model, x)
        assert model[0].weight.requires_grad == (not frozen)
        view = graph["0.weight"]
        assert view.node.note == ("Frozen: it does not require grad." if frozen else "")
        assert view.node.reason == ("frozen" if frozen else "")
        assert (view.statistics is None) == frozen and view.requires_grad == (not frozen)
        keys.append(view.node.key)
    assert len(set(keys)) == 1, "the series has a gap and resumes"


@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_a_training_that_freezes_and_thaws(level: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))
        optimizer = torch.optim.Adam(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(9):
            if step in (3, 6):
                net[0].requires_grad_(step == 6)
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            assert net[0].weight.requires_grad == (step not in (3, 4, 5))
            run.note(step, "backward", net)
            run.note(step, "applied", net)
            with run.stepping(step, net):
                optimizer.step()
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path, level=level)
    for step in range(9):
        found = log.tensor(step, "applied", "0.weight")
        frozen = step in (3, 4, 5)
        assert (found.statistics is None) == frozen
        assert found.node.reason == ("frozen" if frozen else "")
        assert found.node.key == "parameter:0.weight"
    assert len(log.run.graphs) <= 3, "the frozen one as it was first met, and traced"
