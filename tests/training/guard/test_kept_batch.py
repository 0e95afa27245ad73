"""The batch that broke a training is kept, and shows the same again."""

from __future__ import annotations

import math
import pathlib
import random
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.training.guard import kept_batch, random_states
from tests.training.guard.breaking import log_of_negative, small_net, square, train


class Noisy(nn.Module):
    """A net with randomness, arguments of many kinds, and a loss that one of them breaks."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.dropout = nn.Linear(4, 1), nn.Dropout(0.5)

    def forward(self, x: torch.Tensor, *, scale: Any = 1.0, more: Any = None) -> torch.Tensor:
        return self.dropout(self.layer(x)).sum() * scale


def _load(directory: pathlib.Path) -> dict[str, Any]:
    (path,) = directory.glob("gradgraph_batch_*.pt")
    return torch.load(path, weights_only=True)


def _train(directory: pathlib.Path, more: Any = None) -> tuple[Noisy, list[float]]:
    torch.manual_seed(0)
    net, losses = Noisy(), []
    optimizer = torch.optim.SGD(net.parameters(), 0.0)
    with tb_gradgraph.SummaryWriter(str(directory)) as writer:
        writer.watch(net, optimizer=optimizer, on_finding="warn", keep_batch=True)
        for step in range(5):
            scale = torch.tensor(math.inf if step == 4 else 2.0)
            loss = net(torch.randn(3, 4), scale=scale, more=more)
            losses.append(loss.item())
            if step < 4:
                loss.backward()
                optimizer.step()
        with pytest.warns(UserWarning, match="the model was given is in .*gradgraph_batch_Noisy_4"):
            loss.backward()
    assert not net._forward_pre_hooks
    return net, losses


def test_it_gives_the_same_again(tmp_path: pathlib.Path):
    net, losses = _train(tmp_path, more={"of": [1, "two", torch.arange(2)], "none": None})
    kept = _load(tmp_path)
    assert (kept["tag"], kept["step"], kept["weights_finite"]) == ("Noisy", 4, True)
    assert kept["kwargs"]["more"]["of"][:2] == [1, "two"]
    assert kept["left_out"] == []
    torch.set_rng_state(kept["random_state"])
    again = net(*kept["args"], **kept["kwargs"])
    assert again.item() == losses[-1] or math.isnan(losses[-1])


class Drawing(nn.Module):
    """A net whose forward draws from every generator of the process, and is NaN by what it draws."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.drawn: list[tuple[float, float, float]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        drawn = random.random(), float(np.random.standard_normal()), float(torch.rand(1))
        self.drawn.append(drawn)
        return self.layer(x).sum() + torch.tensor(2.0 - sum(drawn)).log()


def test_every_generator_goes_on_from_there(tmp_path: pathlib.Path):
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    np.random.standard_normal()  # the second number of a pair waits in the state
    net = Drawing()
    optimizer = torch.optim.SGD(net.parameters(), 0.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, keep_batch=True)
        while (loss := net(torch.randn(3, 4))).isfinite():
            loss.backward()
            optimizer.step()
        with pytest.warns(UserWarning, match="the model was given is in"):
            loss.backward()
    kept = _load(tmp_path)
    torch.set_rng_state(kept["random_state"])
    random.setstate(kept["python_random_state"])
    name, keys, *rest = kept["numpy_random_state"]
    np.random.set_state((name, keys.numpy(), *rest))
    again = net(*kept["args"], **kept["kwargs"])
    assert loss.isnan() and again.isnan()
    assert net.drawn[-1] == net.drawn[-2]
    assert kept["device_random_states"] == {}


class Accelerator:
    """A module of torch for a device that does not exist."""

    @staticmethod
    def is_initialized() -> bool:
        return True

    @staticmethod
    def device_count() -> int:
        return 2

    @staticmethod
    def get_rng_state(number: int) -> torch.Tensor:
        return torch.full((16,), number, dtype=torch.uint8)


def test_generators_of_devices_are_kept(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch.xpu", Accelerator)
    states = random_states.random_states()
    torch.save(states, tmp_path / "states.pt")
    loaded = torch.load(tmp_path / "states.pt", weights_only=True)["device_random_states"]
    assert {device: state.tolist() for device, state in loaded.items()} == {
        "xpu:0": [0] * 16,
        "xpu:1": [1] * 16,
    }


def test_another_generator_of_numpy_is_left_out(monkeypatch: pytest.MonkeyPatch):
    state = np.random.Generator(np.random.PCG64()).bit_generator.state
    monkeypatch.setattr(np.random, "get_state", lambda legacy: state)
    assert random_states.random_states()["numpy_random_state"] is None


def test_compiled_code_is_not_disturbed(tmp_path: pathlib.Path):
    """The hook is not compiled, and that no batch is kept is said."""
    net, graphs = small_net(), []

    def as_it_is(graph: Any, _inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(net, backend=as_it_is, fullgraph=True)
    optimizer = torch.optim.SGD(net.parameters(), 0.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, keep_batch=True)
        for _ in range(3):
            square(0, compiled(torch.randn(3, 4))).backward()
            optimizer.step()
        with pytest.warns(UserWarning, match="is not kept: no call of it was seen, as in compiled"):
            (square(0, compiled(torch.randn(3, 4))) * math.nan).backward()
        compiled(torch.randn(3, 4))
    assert len(graphs) == 1


def test_what_cannot_be_kept_is_said(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept_batch, "LIMIT", 100)
    _train(tmp_path, more=(torch.zeros(100), object(), torch.zeros(2)))
    kept = _load(tmp_path)
    assert kept["args"][0].shape == (3, 4)  # 48 bytes
    assert kept["kwargs"]["more"][:2] == (None, None)
    assert kept["kwargs"]["more"][2].tolist() == [0, 0]
    assert kept["left_out"] == [
        "kwargs['more'][0]: its 400 bytes are more than there is room for.",
        "kwargs['more'][1]: a object is not kept.",
    ]


def test_of_a_sound_training_nothing_is_kept(tmp_path: pathlib.Path):
    net = small_net()
    assert train(tmp_path, 5, log_of_negative(99), net, keep_batch=True) == []
    assert not list(tmp_path.glob("*.pt"))
    assert not net._forward_pre_hooks


def test_bad_weights_are_told_of(tmp_path: pathlib.Path):
    net = small_net()
    with torch.no_grad():
        net[0].weight[0, 0] = math.nan
    train(tmp_path, 3, log_of_negative(99), net, keep_batch=True, every_n_steps=10**6)
    assert _load(tmp_path)["weights_finite"] is False


def test_a_file_that_cannot_be_written_costs_itself_alone(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: Any) -> None:
        raise OSError("no room")

    monkeypatch.setattr(torch, "save", full)
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, keep_batch=True, every_n_steps=10**6)
        square(0, net(torch.randn(3, 4))).backward()
        optimizer.step()
        loss = log_of_negative(1)(1, net(torch.randn(3, 4)))
        with (
            pytest.warns(UserWarning, match="The loss of step 1 is nan"),
            pytest.warns(RuntimeWarning, match="did not keep the batch .*no room"),
        ):
            loss.backward()
        assert watch.failure is None


def test_a_fault_of_the_recording_leaves_no_hook(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, keep_batch=True)
        assert len(net._forward_pre_hooks) == 1
        monkeypatch.setattr(type(watch._steps), "end", lambda *_: 1 / 0)
        square(0, net(torch.randn(3, 4))).backward()
        with pytest.warns(RuntimeWarning, match="stopped recording"):
            optimizer.step()
        assert not net._forward_pre_hooks
