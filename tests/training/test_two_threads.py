"""Trainings on several threads at once do not count each other's steps."""

from __future__ import annotations

import pathlib
import sys
import threading
from collections.abc import Iterator

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import read_one_run

STEPS = 30


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    """Let threads take turns much more often than they usually do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def _train(place: pathlib.Path, every_n_steps: int, level: str) -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    with tb_gradgraph.SummaryWriter(str(place)) as writer:
        writer.watch(net, every_n_steps=every_n_steps, level=level, strict=True)
        for _ in range(STEPS):
            net(torch.ones(2, 3)).sum().backward()


@pytest.mark.parametrize("level", ["param", "module", "op"])
@pytest.mark.parametrize("every_n_steps", [1, 3])
def test_each_step_is_recorded_once(tmp_path: pathlib.Path, every_n_steps: int, level: str) -> None:
    """No optimizer is given, so that backwards end the steps."""
    places = [tmp_path / str(number) for number in range(3)]
    threads = [
        threading.Thread(target=_train, args=(place, every_n_steps, level)) for place in places
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for place in places:
        steps = [record.step for record in read_one_run(place).records]
        assert steps == list(range(0, STEPS, every_n_steps))
