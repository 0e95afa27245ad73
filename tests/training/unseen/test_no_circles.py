"""What a recorded step was read with goes at once: no reference circles wait for the collector.

A circle would keep tensors of the step alive, and some hundred megabytes of a large graph.
"""

from __future__ import annotations

import pathlib

import pytest

from tests import warm

# In a process of its own: circles of other tests are none of ours.
SCRIPT = """
import gc, sys
import torch
from tb_gradgraph import SummaryWriter

logdir, level, with_optimizer = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
optimizer = torch.optim.Adam(net.parameters())
writer = SummaryWriter(logdir)
watch = writer.watch(
    net, optimizer=optimizer if with_optimizer else None, every_n_steps=2, level=level
)
gc.collect()
gc.disable()
gc.set_debug(gc.DEBUG_SAVEALL)
for _ in range(6):
    optimizer.zero_grad()
    net(torch.randn(3, 4)).square().mean().backward()
    optimizer.step()
writer.flush()
gc.collect()
assert watch.failure is None and watch.step == 6
for value in gc.garbage:
    if isinstance(value, torch.Tensor) or type(value).__module__.startswith("tb_gradgraph"):
        print(type(value).__module__, type(value).__qualname__)
"""


@pytest.mark.parametrize("with_optimizer", [False, True])
@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_recorded_steps_leave_no_circles(
    level: str, with_optimizer: bool, tmp_path: pathlib.Path
) -> None:
    arguments = [str(tmp_path), level, str(with_optimizer)]
    finished = warm.run("-c", SCRIPT, *arguments)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == []
