"""Garbage collection may end a watch in the midst of anything."""

from __future__ import annotations

import gc
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.autograd import backward_calls
from tb_gradgraph.autograd.torch_internals import tensor_hooks
from tb_gradgraph.training.step import scalers
from tests.training.loops import small_net


class _Collecting(list):
    """A list of listeners during whose change garbage is collected."""

    def append(self, each: Any) -> None:
        gc.collect()
        super().append(each)

    def remove(self, each: Any) -> None:
        gc.collect()
        super().remove(each)


@pytest.mark.parametrize("room", [backward_calls, scalers, tensor_hooks])
def test_a_model_that_is_collected_while_others_come_and_go(
    room: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room._replaced, "listeners", _Collecting(room._replaced.listeners))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watches = [_watch_in_a_ring(writer) for _ in range(3)]
        net = small_net()
        last = writer.watch(net, optimizer=torch.optim.SGD(net.parameters(), 0.1), tag="last")
        assert [watch.closed for watch in watches] == [True] * 3
        last.close()
    assert not room._replaced.listeners


def _watch_in_a_ring(writer: tb_gradgraph.SummaryWriter) -> Any:
    """Watch a model that only a garbage collection ends."""
    net = small_net()
    net.ring = net.__dict__
    ring: list[Callable[[], Any]] = []
    ring.append(lambda: (ring, net))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
    net(torch.ones(1, 3)).sum().backward()
    return watch
