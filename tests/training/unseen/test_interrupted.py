"""Loops that end by an exception, Ctrl-C or SIGTERM: what was recorded is on disk."""

from __future__ import annotations

import pathlib

import pytest

from tests import warm
from tests.training.loops import Log

PROGRAM = """
import os, signal, sys, torch, tb_gradgraph
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), 0.1)
writer = tb_gradgraph.SummaryWriter(sys.argv[1])
watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level="op")
last = int(sys.argv[3])
for step in range(10):
    optimizer.zero_grad()
    loss = net(torch.ones(2, 3)).sum()
    loss.backward()
    if step == last:
        if sys.argv[2] == "exception":
            raise ValueError("the user's own")
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
    optimizer.step()
"""


@pytest.mark.parametrize("how", ["exception", "SIGINT", "SIGTERM"])
@pytest.mark.parametrize("last", [0, 3])
def test_what_was_recorded_is_on_disk(how: str, last: int, tmp_path: pathlib.Path) -> None:
    ended = warm.run("-c", PROGRAM, str(tmp_path), how, str(last))
    assert ended.returncode != 0 and "tb_gradgraph" not in ended.stderr
    steps = [(s, stage, 0) for s in range(last) for stage in ("backward", "applied")]
    assert Log(tmp_path).places == [*steps, (last, "backward", 0)]
