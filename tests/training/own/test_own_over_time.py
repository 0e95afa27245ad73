"""Numbers of the user's own statistics in loops: scalers, micro-batches, other graphs, devices."""

from __future__ import annotations

import pathlib
import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.training.own import own_calls
from tests.logged import read_one_run
from tests.training.own.added import Add
from tests.training.own.test_own_of_watch import first_element, named, second_moment, train
from tests.training.own.test_own_of_watch import make_net as seeded_net

make_net = lambda: nn.Sequential(nn.Linear(4, 30), nn.Tanh(), nn.Linear(30, 3))  # noqa: E731


@pytest.mark.parametrize("is_named", [True, False])
def test_the_factor_of_a_scaler_is_divided_out(
    is_named: bool, add: Add, tmp_path: pathlib.Path
) -> None:
    add("moment")(second_moment)
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    expected = []
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        options = {"grad_scaler": scaler} if is_named else {}
        writer.watch(net, optimizer=optimizer, every_n_steps=1, strict=True, **options)
        for _ in range(3):
            x = torch.randn(5, 4)
            bare = torch.autograd.grad(net(x).square().sum(), list(net.parameters()))
            expected.append([float(second_moment(one)) for one in bare])
            optimizer.zero_grad()
            loss = net(x).square().sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    run = read_one_run(tmp_path)
    records = [record for record in run.records if record.stage == "backward"]
    names = [name for name, _ in net.named_parameters()]
    assert len(records) == 6  # torch.autograd.grad over the net is a backward too
    for record, numbers in zip(records[1::2], expected):
        found = named(run.graphs[record.graph_hash], record.own["moment"])
        assert record.loss_scale == 1024
        assert [found[name] for name in names] == pytest.approx(numbers, rel=1e-5)


def test_each_micro_batch_has_its_own(add: Add, tmp_path: pathlib.Path) -> None:
    add("first", of="value", select="*addmm")(first_element)
    add("gradient_of_bias", select="2.bias")(first_element)
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    values, gradients = [], []
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, strict=True)
        for _ in range(3):
            optimizer.zero_grad()
            for scale in (1.0, 10.0):
                before = 0.0 if net[2].bias.grad is None else float(net[2].bias.grad[0])
                out = net(torch.randn(5, 4))
                values.append(out[0, 0].item())
                (scale * out.sum()).backward()
                gradients.append(float(net[2].bias.grad[0]) - before)
            optimizer.step()
    run = read_one_run(tmp_path)
    found = [named(run.graphs[r.graph_hash], r.own["first"])["2"] for r in run.forwards]
    np.testing.assert_allclose(found, values, rtol=1e-6)
    of_bias = [r.own["gradient_of_bias"] for r in run.records if r.stage == "backward"]
    np.testing.assert_allclose([n for (n,) in map(dict.values, of_bias)], gradients, rtol=1e-5)


class Changing(nn.Module):
    """Runs its parts in one of two orders."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.flips = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [self.b, self.a] if self.flips else [self.a, self.b]
        for part in parts:
            x = part(x).tanh()
        return x


@pytest.mark.parametrize("level", ["module", "op"])
def test_no_number_is_of_another_tensor(level: str, add: Add, tmp_path: pathlib.Path) -> None:
    add("first", of="value", select="a/addmm")(first_element)
    net, expected = Changing(), []
    net.a.register_forward_hook(lambda _, __, out: expected.append(out[0, 0].item()))
    flips = [False, True, True, False, True, False]
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, strict=True, level=level, values=False)
        for net.flips in flips:
            net(torch.randn(3, 4)).sum().backward()
    run = read_one_run(tmp_path)
    found = [list(record.own.get("first", {}).values()) for record in run.forwards]
    assert found[1] in ([], [expected[1]])  # the first time in this order
    assert [of for of, _ in zip(found, flips)][2:] == [[one] for one in expected[2:]]
    assert found[0] == [expected[0]]


def test_numbers_on_a_device_are_copied_together(
    add: Add, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_calls, "_AT_ONCE", frozenset())
    for of in ("weight", "gradient", "value"):
        add(f"of_{of}", of=of)(lambda t: {"a": t.sum(), "b": t.float().mean().bfloat16(), "c": 1})
    run, _, _ = train(seeded_net(), tmp_path / "late", False)
    monkeypatch.undo()
    again, _, _ = train(seeded_net(), tmp_path / "at once", False)
    for late, at_once in zip((*run.forwards, *run.records), (*again.forwards, *again.records)):
        assert late.own == at_once.own
    assert len(run.forwards[0].own) == 6


def test_backwards_on_other_threads(add: Add, tmp_path: pathlib.Path) -> None:
    """Two trainings at once; each has the numbers of its own net."""
    add("mean_of", of="weight")(lambda w: w.mean())
    nets = [nn.Linear(3, 3), nn.Linear(3, 3)]
    with torch.no_grad():
        for value, net in enumerate(nets):
            for parameter in net.parameters():
                parameter.fill_(value)

    def run(net: nn.Module, place: pathlib.Path) -> None:
        with tb_gradgraph.SummaryWriter(str(place)) as writer:
            writer.watch(net, every_n_steps=1, strict=True)
            for _ in range(20):
                net(torch.ones(2, 3)).sum().backward()

    threads: list[Any] = [
        threading.Thread(target=run, args=(net, tmp_path / str(number)))
        for number, net in enumerate(nets)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(2):
        for record in read_one_run(tmp_path / str(number)).forwards:
            assert set(record.own["mean_of"].values()) == {float(number)}


def test_shared_statistics_do_not_share_numbers(add: Add, tmp_path: pathlib.Path) -> None:
    """A reshape passes its gradient on unchanged, but for the shape, on which a function may depend."""

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(4, 6)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            flat = self.lin(x)
            square = flat.reshape(-1, 2, 3)
            return (square * square).sum()

    for of in ("gradient", "value"):
        add(f"last_size_of_{of}", of=of, select=["flat", "square"])(lambda t: t.shape[-1])
    net = Net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, strict=True, level="op")
        for _ in range(4):
            net(torch.randn(5, 4)).backward()
    run = read_one_run(tmp_path)
    for name, records in (("gradient", run.records), ("value", run.forwards)):
        for record in records:
            graph = run.graphs[record.graph_hash]
            names = [slot.name for node in graph.nodes for slot in node.slots]
            own = record.own[f"last_size_of_{name}"]
            assert {names[row]: size for row, size in own.items()} == {"flat": 6, "square": 3}
