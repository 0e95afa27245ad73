"""Copies of a watched model: made as ever, and not recorded."""

from __future__ import annotations

import copy
import io
import pathlib
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.training.loops import Log, small_net

LEVELS = ("param", "module", "op")


@pytest.fixture
def writer(tmp_path: pathlib.Path) -> Iterator[tb_gradgraph.SummaryWriter]:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        yield writer


def _step(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    net(torch.ones(2, 3)).square().mean().backward()
    optimizer.step()


def _twins(net: nn.Module) -> list[nn.Module]:
    buffer = io.BytesIO()
    torch.save(net, buffer)
    buffer.seek(0)
    return [
        copy.deepcopy(net),
        pickle.loads(pickle.dumps(net)),
        torch.load(buffer, weights_only=False),
    ]


@pytest.mark.parametrize("level", LEVELS)
def test_copies_are_not_recorded(level: str, writer: Any, tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizer = torch.optim.Adam(net.parameters(), 0.1)
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)
    average = torch.optim.swa_utils.AveragedModel(net)
    for step in range(3):
        loss = net(torch.ones(2, 3)).square().mean()
        for twin in _twins(net):
            own = torch.optim.Adam(twin.parameters(), 0.1)
            own.load_state_dict(copy.deepcopy(optimizer).state_dict())
            _step(twin, own)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(net)
        assert watch.step == step + 1
    writer.flush()
    assert Log(tmp_path).places == [
        (step, stage, 0) for step in range(3) for stage in ("backward", "applied")
    ]


def test_a_watch_cannot_be_copied(writer: Any) -> None:
    watch = writer.watch(small_net())
    with pytest.raises(TypeError, match="belongs to one training loop"):
        copy.deepcopy(watch)
