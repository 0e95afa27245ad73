"""Gradients that build up over several backwards: the parts, and what they come to."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch

from tests.training.loops import Bare, run_both, small_net, state_of

LEVELS = ("param", "module", "op")


def _accumulating(parts: int, steps: int = 3, set_to_none: bool = True, first: bool = False) -> Any:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.Adam(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(steps):
            if first:
                optimizer.zero_grad(set_to_none)
            for part in range(parts):
                loss = net(torch.randn(4, 3)).square().mean() / parts
                if part < 8:
                    run.note_parts(step, loss, net, part)
                loss.backward()
            if parts > 1 or not set_to_none:
                run.note(step, "accumulated", net, parts - 1)
            run.note(step, "applied", net, parts - 1)
            with run.stepping(step, net):
                optimizer.step()
            if not first:
                optimizer.zero_grad(set_to_none)
        return state_of(net, optimizer)

    return loop


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("parts", [1, 4, 11])
def test_parts_and_their_sum(parts: int, level: str, tmp_path: pathlib.Path) -> None:
    log = run_both(_accumulating(parts), tmp_path, level=level)
    each = [("backward", part) for part in range(min(parts, 8))]
    each += [("accumulated", parts - 1)] * (parts > 1) + [("applied", parts - 1)]
    assert log.places == [(step, *place) for step in range(3) for place in each]


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("set_to_none", [True, False])
def test_gradients_are_cleared_in_either_place_and_way(
    first: bool, set_to_none: bool, tmp_path: pathlib.Path
) -> None:
    run_both(_accumulating(2, 4, set_to_none, first), tmp_path, level="op")


def test_gradients_that_are_never_cleared(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(3):
            net(torch.randn(4, 3)).square().mean().backward()
            if step:
                run.note(step, "accumulated", net)
            run.note(step, "applied", net)
            optimizer.step()
        return state_of(net)

    log = run_both(loop, tmp_path)
    assert (1, "accumulated", 0) in log.places and (0, "accumulated", 0) not in log.places
