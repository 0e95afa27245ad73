"""Steps that are not recorded: what is done on them is little, and the same for every model."""

from __future__ import annotations

import contextlib
import pathlib
import sys
from collections.abc import Iterator
from types import FrameType

import pytest
import torch

import tb_gradgraph
from tests.training.loops import Log

_OURS = str(pathlib.Path(tb_gradgraph.__file__).parent)
_NEVER = 10**6


def _net(layers: int) -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(layers)))


def _step(net: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
    net.zero_grad()
    net(torch.ones(2, 3)).square().mean().backward()
    if optimizer is not None:
        optimizer.step()


@contextlib.contextmanager
def _calls() -> Iterator[list[str]]:
    """Return the names of our functions that are called in the block."""
    found: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(_OURS):
            found.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("has_optimizer", [True, False])
@pytest.mark.parametrize("level", ["param", "op"])
@pytest.mark.parametrize(("on_finding", "most"), [(None, 26), ("warn", 28), ("raise", 31)])
def test_they_make_a_few_calls_whatever_the_model(
    has_optimizer: bool,
    level: str,
    on_finding: str | None,
    most: int,
    tmp_path: pathlib.Path,
) -> None:
    """Two of them look at the loss, and two more ask before the step whether to raise."""
    calls = []
    for layers in (2, 40):
        net = _net(layers)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        given = {"optimizer": optimizer} if has_optimizer else {}
        given["on_finding"] = on_finding
        with tb_gradgraph.SummaryWriter(str(tmp_path / str(layers))) as writer:
            writer.watch(net, every_n_steps=_NEVER, level=level, **given)
            for _ in range(2):
                _step(net, optimizer)
            with _calls() as found:
                _step(net, optimizer)
        calls.append(found)
    assert calls[0] == calls[1]
    assert 0 < len(calls[0]) <= most, " ".join(calls[0])


def test_a_backward_is_counted_that_reaches_new_layers_alone(tmp_path: pathlib.Path) -> None:
    """Where nobody gives an optimizer, steps are counted by what reaches the model's parameters."""
    net = _net(2)
    other = _net(2)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, every_n_steps=_NEVER, level="param")
        _step(net)
        _step(other)
        assert watch.step == 1
        for place in (0, 1):
            net[place] = torch.nn.Linear(3, 3)
        _step(net)
        assert watch.step == 2
        _step(other)
        assert watch.step == 2
        _step(net)
        assert watch.step == 3
    assert {record.step for record in Log(tmp_path).records} == {0}
