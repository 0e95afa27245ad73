"""Writers of other libraries in a training loop of plain torch."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import tensorboardX
import torch
from torch.utils.tensorboard import SummaryWriter

import tb_gradgraph
from tests.integrations.replay import Log, check_accumulated_step, new_data, new_net, replay, sgd
from tests.integrations.untouched import check_equal, check_nothing_left, state_of

CLIP = 0.05


def train(net: Any, optimizer: torch.optim.Optimizer) -> None:
    for first in range(0, 24, 8):
        for part in (first, first + 4):
            x, y = new_data(24)[part : part + 4]
            (net.loss(x, y) / 2).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()


@pytest.mark.parametrize("kind", [SummaryWriter, tensorboardX.SummaryWriter], ids=["torch", "X"])
def test_steps_are_those_of_plain_torch(kind: Any, tmp_path: pathlib.Path):
    net = new_net()
    optimizer = sgd(net)
    with kind(str(tmp_path)) as writer:
        tb_gradgraph.watch(writer, net, optimizer=optimizer, every_n_steps=2, level="op")
        train(net, optimizer)
    check_nothing_left(net, [optimizer])
    log = Log(tmp_path)
    assert log.steps == [0, 2]
    for step in log.steps:
        steps = replay(net.seen, accumulate=2, clip=CLIP)
        check_accumulated_step(log, step, steps[step])
    bare = new_net()
    plain = sgd(bare)
    train(bare, plain)
    check_equal(state_of(net, optimizer), state_of(bare, plain))


def test_a_closed_writer_that_its_library_opened_again_records_again(tmp_path: pathlib.Path):
    writer, net = SummaryWriter(str(tmp_path)), new_net()
    for step in range(3):
        writer.add_scalar("loss", 1.0, step)
        tb_gradgraph.add_grad_graph(writer, net.out, torch.ones(1, 3), step)
        writer.close()
    assert Log(tmp_path).steps == [0, 1, 2]
