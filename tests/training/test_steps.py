"""The step of a record: counted, set by the user, resumed; watches attached anew, several at once."""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import pytest
import torch

import tb_gradgraph
from tb_gradgraph import CaptureError
from tests.training.loops import Bare, Log, run_both, small_net, state_of


def _net() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    net = small_net()
    return net, torch.optim.SGD(net.parameters(), 0.1)


def _step(net: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    net(torch.ones(2, 3)).square().mean().backward()
    optimizer.step()


@pytest.mark.parametrize("level", ["param", "op"])
def test_a_run_that_is_resumed(level: str, tmp_path: pathlib.Path) -> None:
    net, optimizer = _net()
    for first, last in ((0, 5), (3, 8)):
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            watch = writer.watch(net, optimizer=optimizer, every_n_steps=2, level=level)
            watch.step = first
            for step in range(first, last):
                assert watch.step == step
                _step(net, optimizer)
    applied = [record.step for record in Log(tmp_path).records if record.stage == "applied"]
    assert applied == [0, 2, 4, 6]


@pytest.mark.parametrize("where", ["before", "after the forward"])
def test_steps_that_are_set_in_the_loop(where: str, tmp_path: pathlib.Path) -> None:
    """Steps of one's own, as tokens seen; wherever they are set, names and records are whole."""
    net, optimizer = _net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=10, level="op")
        for step in range(0, 60, 5):
            optimizer.zero_grad()
            if where == "before":
                watch.step = step
            loss = net(torch.ones(2, 3)).square().mean()
            if where == "after the forward":
                watch.step = step
            loss.backward()
            optimizer.step()
    log = Log(tmp_path)
    assert [r.step for r in log.records if r.stage == "applied"] == list(range(0, 60, 10))
    last = log.graph(log.records[-1])
    assert [scope.path for scope in last.scopes] == ["", "0", "1", "2"]


def test_a_step_is_an_integer(tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(small_net())
        with pytest.raises(
            CaptureError, match=r"watch\.step: expected an integer from 0 to 2\*\*63-1, got 1\.5"
        ):
            watch.step = 1.5


@pytest.mark.parametrize("every_n_steps", [1, 3])
def test_two_watches_and_a_capture_at_once(every_n_steps: int, tmp_path: pathlib.Path) -> None:
    """What add_grad_graph runs is no step of the training."""

    def loop(run: Bare) -> Any:
        net, optimizer = _net()
        first = run.watch(net, tag="a", every_n_steps=every_n_steps)
        second = run.watch(net, optimizer=optimizer, tag="b", level="param")
        for step in range(6):
            if first is not None:
                tb_gradgraph.capture(net, torch.ones(2, 3))
            _step(net, optimizer)
            if step % every_n_steps == 0:
                run.note(step, "backward", net, tag="a")
            run.note(step, "backward", net, tag="b")
            assert first is None or (first.step, second.step) == (step + 1, step + 1)
        return state_of(net, optimizer)

    run_both(loop, tmp_path, level="op")
    assert len(Log(tmp_path, "a").records) == 6 / every_n_steps


def test_watching_again_ends_the_first(tmp_path: pathlib.Path) -> None:
    net, optimizer = _net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        first = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        _step(net, optimizer)
        second = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        second.step = 1
        _step(net, optimizer)
        assert (first.closed, second.closed) == (True, False)
    assert Log(tmp_path).places == [
        (step, stage, 0) for step in range(2) for stage in ("backward", "applied")
    ]


def test_a_removed_directory_is_one_warning(tmp_path: pathlib.Path) -> None:
    """So is a full disk: what cannot be written ends the watch."""
    net, optimizer = _net()
    writer = tb_gradgraph.SummaryWriter(str(tmp_path))
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
    _step(net, optimizer)
    writer.flush()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    writer._get_file_writer().add_summary = full
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(50):
            _step(net, optimizer)
        writer.flush()
        _step(net, optimizer)
        _step(net, optimizer)
    assert "No space left on device" in str(warned[0].message)
    assert len(warned) == 1 and watch.closed


def test_a_watch_that_begins_between_forward_and_backward(tmp_path: pathlib.Path) -> None:
    """The first graph lacks what was not seen; the next one has it."""
    net, optimizer = _net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        loss = net(torch.ones(2, 3)).square().mean()
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level="op")
        loss.backward()
        optimizer.step()
        for _ in range(3):
            _step(net, optimizer)
    log = Log(tmp_path)
    scopes = [[scope.path for scope in log.graph(record).scopes] for record in log.records]
    assert scopes == [[]] * 2 + [["", "0", "1", "2"]] * 6
