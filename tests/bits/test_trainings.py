"""Two hundred steps end bit for bit as they do without a watch, at every level.

``make test`` runs each training at one level, and each level once; ``make slow`` runs the others.
"""

from __future__ import annotations

import functools
import pathlib
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.bits.outcome import bits_of, seed_all
from tests.bits.trainings import STEPS, Watchers, digits, sequences, series
from tests.training.loops import Log

LEVELS = ("param", "module", "op")
TRAININGS = (digits, sequences, series)


def _unwatched(*_: Any) -> None:
    """Do nothing."""


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*:UserWarning")  # steps that are skipped
@pytest.mark.parametrize(
    ("train", "level"),
    [
        pytest.param(train, level, marks=() if nr == place else pytest.mark.slow)
        for nr, train in enumerate(TRAININGS)
        for place, level in enumerate(LEVELS)
    ],
)
def test_a_training(train: Any, level: str, tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:

        def watch(net: nn.Module, optimizer: torch.optim.Optimizer, scaler: Any) -> None:
            options: Any = {"level": level, "every_n_steps": 1, "strict": True, "values": True}
            writer.watch(net, optimizer=optimizer, grad_scaler=scaler, **options)

        found = _end_of(train, watch)
    assert found == _end_unwatched(train)
    assert {record.step for record in Log(tmp_path).records} == set(range(STEPS))


@functools.cache
def _end_unwatched(train: Any) -> Any:
    return _end_of(train, _unwatched)


def _end_of(train: Any, watch: Watchers) -> Any:
    seed_all(0)
    return bits_of(train(watch))


def test_a_bit_is_seen() -> None:
    """The comparison can fail: one bit of one weight, before the first step, is told from none."""

    def spoil(net: nn.Module, *_: Any) -> None:  # not the last bit: steps round it away
        with torch.no_grad():
            next(net.parameters()).view(-1)[:1].view(torch.int32).bitwise_xor_(1 << 12)

    assert _end_of(digits, spoil) != _end_of(digits, _unwatched)
