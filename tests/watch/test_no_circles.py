"""What a recorded step was read with goes at once: no reference circles wait for the collector.

A circle would keep tensors of the step alive, and some hundred megabytes of a large graph.
"""

from __future__ import annotations

import gc
import pathlib
from collections.abc import Iterator

import pytest
import torch

from tb_gradgraph import SummaryWriter


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """What only a collection would free, once the test asks for one."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize("level", ["param", "module", "op"])
@pytest.mark.parametrize("with_optimizer", [False, True])
def test_recorded_steps_leave_no_circles(
    level: str, with_optimizer: bool, tmp_path: pathlib.Path, garbage: list[object]
) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.Adam(net.parameters())
    with SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(
            net, optimizer=optimizer if with_optimizer else None, every_n_steps=2, level=level
        )
        gc.collect()
        garbage.clear()  # of the attaching, if any
        for _ in range(6):
            optimizer.zero_grad()
            net(torch.randn(3, 4)).square().mean().backward()
            optimizer.step()
        writer.flush()
        gc.collect()
        ours = [value for value in garbage if type(value).__module__.startswith("tb_gradgraph")]
        tensors = [value for value in garbage if isinstance(value, torch.Tensor)]
        assert watch.failure is None
        assert not ours
        assert not tensors
