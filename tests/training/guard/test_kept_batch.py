"""The batch that broke a training is kept, and shows the same again."""

from __future__ import annotations

import math
import pathlib
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.training.guard import kept_batch
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
