"""Where in the forward NaN and infinity began, and that sound forwards with masks are not blamed."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.diagnose import forward_faults, healthy_nets
from tests.diagnose.asked import ask, texts
from tests.diagnose.forward_faults import Doing
from tests.diagnose.wild_faults import WILD_FAULTS, WILD_SOUND

FAULTS = {**forward_faults.FAULTS, **WILD_FAULTS}
HEALTHY = {**healthy_nets.HEALTHY, **WILD_SOUND}

LEVELS = pytest.mark.parametrize("level", ["module", "op"])
#: What ``capture`` reads and ``watch`` does not: buffers, and operations outside of the model.
KNOWN_TO_CAPTURE = {
    "bad running statistics": "1.running_var",
    "target with NaN": "mul",
    "wanted class masked out": "masked_fill",
    "input with NaN": "input",
}
OF_FORWARD = ("nonfinite_value", "nonfinite_weight")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def of_forward(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [finding for finding in found if finding["kind"] in OF_FORWARD]


@LEVELS
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.filterwarnings("ignore:std.*degrees of freedom:UserWarning")
def test_the_first_place_is_named(name: str, level: str, tmp_path: pathlib.Path) -> None:
    fault = FAULTS[name]
    net, x = fault.make(), fault.x()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, level=level, values=True, strict=True)
        with torch.autocast("cpu", torch.float16, enabled=fault.half):
            loss = fault.loss(net(x))
        loss.backward()
    assert not torch.isfinite(loss)
    found = ask(tmp_path, 0)["findings"]
    first, others = found[0], found[1:]
    assert (first["node"], first["kind"], first["severity"]) == (
        getattr(fault, level),
        fault.kind,
        "error",
    )
    assert fault.says in first["text"]
    assert of_forward(others) == [], "one finding for one cause"
    after = [one for one in others if one["kind"].startswith(("nonfinite", "nan"))]
    assert {one["kind"] for one in after} <= {"nonfinite"}, "no operation of the backward is blamed"
    for one in after:
        assert one["text"].endswith(f"They came from the forward: it began at {first['node']}.")


# Where it is half precision, the loss is computed within autocast, which capture does not do.
@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if not fault.half])
@pytest.mark.filterwarnings("ignore:std.*degrees of freedom:UserWarning")
def test_capture_names_the_same_operation(name: str) -> None:
    fault = FAULTS[name]
    graph = tb_gradgraph.capture(fault.make(), fault.x(), loss_fn=fault.loss, values=True)
    first = graph.findings()[0]
    assert (first.kind, first.severity) == (fault.kind, "error")
    assert first.node in [node.name for node in graph.nodes]
    assert first.node.rpartition("/")[2] == KNOWN_TO_CAPTURE.get(name, fault.op.rpartition("/")[2])


@LEVELS
@pytest.mark.parametrize("name", HEALTHY)
def test_sound_nets_are_silent(name: str, level: str, tmp_path: pathlib.Path) -> None:
    make, make_input, loss_of = HEALTHY[name]
    net = make()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level, values=True)
        for _ in range(3):
            loss = loss_of(net(make_input()))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert torch.isfinite(loss)
    for step in range(3):
        for stage in ("backward", "applied"):
            found = ask(tmp_path, step, stage)["findings"]
            assert [one for one in found if one["kind"].startswith(("nonfinite", "nan"))] == []


@pytest.mark.parametrize("name", HEALTHY)
def test_capture_of_sound_nets_is_silent(name: str) -> None:
    make, make_input, loss_of = HEALTHY[name]
    graph = tb_gradgraph.capture(make(), make_input(), loss_fn=loss_of, values=True)
    assert [one for one in graph.findings() if one.kind.startswith(("nonfinite", "nan"))] == []


@LEVELS
def test_a_weight_that_a_step_made_infinite_is_found_at_the_next_step(level, tmp_path):
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    optimizer = torch.optim.SGD(net.parameters(), 3e38)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level, values=True)
        for _ in range(2):
            optimizer.zero_grad()
            (net(torch.randn(6, 4)).square().mean() * 100).backward()
            optimizer.step()
    (told,) = of_forward(ask(tmp_path, 0)["findings"])  # the training's, which begins there
    assert told["kind"] == "nonfinite_weight"
    assert told["text"].startswith(
        "At step 0 the optimizer made 0.weight, 0.bias, 2.weight, 2.bias"
    )
    for stage in ("backward", "applied"):
        first = ask(tmp_path, 1, stage)["findings"][0]
        assert first["kind"] == "nonfinite_weight"
        assert first["text"].startswith("4 weights already held NaN or infinity")


def test_each_pass_of_a_step_has_its_own_forward(tmp_path):
    net = nn.Sequential(nn.Linear(4, 5), Doing(lambda x: torch.sqrt(x.sum())))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with torch.no_grad():
        net[0].weight.zero_()
        net[0].bias.fill_(1.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, values=True)
        net(torch.ones(2, 4)).backward()
        net[0].bias.data.fill_(-1.0)
        net(torch.ones(2, 4)).backward()
        optimizer.step()
    assert of_forward(ask(tmp_path, 0)["findings"]) == []
    found = ask(tmp_path, 0, backward_pass=1)
    assert texts(found, "nonfinite_value")[0].count("sqrt")


def test_nan_that_does_not_reach_the_loss_is_a_note(tmp_path):
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.idle = nn.Linear(4, 3), nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.used(x) + torch.nan_to_num(torch.sqrt(self.idle(x) * 0 - 1).detach())

    graph = tb_gradgraph.capture(Net(), torch.randn(2, 4), loss_fn=lambda y: y.mean(), values=True)
    found = [one for one in graph.findings() if one.kind == "nonfinite_value"]
    assert [(one.severity, one.node) for one in found] == [("note", "sqrt")]
    assert "does not reach" in found[0].text


@LEVELS
def test_a_loss_that_only_the_scaler_made_infinite_is_a_note(level, tmp_path):
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=1e30)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level, values=True)
        loss = (net(torch.ones(6, 4)) + 1e10).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    found = ask(tmp_path, 0)["findings"]
    (told,) = of_forward(found)
    assert told["severity"] == "note" and "GradScaler" in told["text"]
    assert "nonfinite_origin" not in {one["kind"] for one in found}


@LEVELS
def test_both_nets_of_a_gan_are_silent(level, tmp_path):
    maker, judge = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 4)), nn.Linear(4, 1)
    both = nn.ModuleDict({"maker": maker, "judge": judge})
    optimizers = [torch.optim.Adam(net.parameters(), 1e-3) for net in (maker, judge)]
    loss_of = nn.BCEWithLogitsLoss()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(both, optimizer=optimizers, every_n_steps=1, level=level, values=True)
        for _ in range(3):
            made, real = maker(torch.randn(6, 2)), torch.randn(6, 4)
            ones, zeros = torch.ones(6, 1), torch.zeros(6, 1)
            optimizers[1].zero_grad()
            (loss_of(judge(real), ones) + loss_of(judge(made.detach()), zeros)).backward()
            optimizers[1].step()
            optimizers[0].zero_grad()
            loss_of(judge(made), ones).backward()
            optimizers[0].step()
    for step in range(3):
        found = ask(tmp_path, step)["findings"]
        assert [one for one in found if one["kind"].startswith(("nonfinite", "nan"))] == []


def test_nan_that_only_gradients_meet_is_an_error():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.lin(x)
            return torch.where(x[:, :3] > 9, torch.sqrt(-h.abs() - 1), h)

    graph = tb_gradgraph.capture(Net(), torch.randn(2, 4), loss_fn=torch.mean, values=True)
    first, *others = graph.findings()
    assert (first.severity, first.kind, first.node) == ("error", "nonfinite_value", "sqrt")
    assert "but gradients that come back to it are not finite" in first.text
    assert {one.kind for one in others} == {"nonfinite"}


def test_operations_that_are_as_likely_are_all_named(tmp_path):
    net = nn.Linear(4, 5)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, values=True)
        torch.log(torch.log(net(torch.randn(2, 4)) * 0 - 1) * 2).sum().backward()
    (text,) = texts(ask(tmp_path, 0), "nonfinite_value")
    assert "log or log.1 is the likeliest to have made it" in text


def test_of_many_places_the_first_are_told_and_the_rest_counted():
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 3) for _ in range(5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return sum(torch.log(layer(x) * 0) for layer in self.layers)

    net = nn.ModuleDict({f"net{nr}": Net() for nr in range(5)})
    net.forward = lambda x: sum(one(x) for one in net.values())
    graph = tb_gradgraph.capture(net, torch.randn(2, 4), loss_fn=torch.mean, values=True)
    found = [one for one in graph.findings() if one.kind == "nonfinite_value"]
    assert [one.node.partition("/")[0] for one in found] == ["net0", "net1", "net2"]
    assert "4 further calls of the same line" in found[0].text
    assert found[2].text.endswith("It began at 2 further places.")


@pytest.mark.parametrize("values", [False, True])
def test_without_values_it_is_said_that_the_forward_may_have_made_it(values: bool) -> None:
    """The sum of many outputs is differentiated, so no value is kept whole."""

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sqrt(x * weight - 5) * 2

    weight = torch.nn.Parameter(torch.ones(4, 64))
    found = tb_gradgraph.capture(Net(), torch.ones(4, 64), values=values).findings()
    kinds = [one.kind for one in found]
    if values:
        assert "nonfinite_value" in kinds and "nonfinite_origin" not in kinds
        return
    origins = [one.text for one in found if one.kind == "nonfinite_origin"]
    assert origins
    for text in origins:
        assert "Values were not recorded, so the forward may have made it already" in text


def test_where_the_forward_is_known_to_be_finite_the_backward_is_blamed() -> None:
    net = torch.nn.Linear(8, 8)
    x = torch.zeros(4, 8)
    with torch.no_grad():
        net.bias.zero_()
    graph = tb_gradgraph.capture(net, x, loss_fn=lambda y: y.square().sum().sqrt(), values=True)
    first = graph.findings()[0]
    assert first.kind == "nonfinite_origin" and "Values were not" not in first.text
