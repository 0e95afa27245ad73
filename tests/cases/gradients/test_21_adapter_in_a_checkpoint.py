"""Case 21: a trainable weight inside a reentrant checkpoint whose input needs no gradient is drawn, and why.

So is every parameter of a watched model that no gradient can reach; of thousands there is one line a module.
"""

from __future__ import annotations

import pathlib
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import tb_gradgraph
from tb_gradgraph.commands import main as cli
from tb_gradgraph.diagnose import findings
from tests.training.loops import Bare, Log, run_both, state_of

LEVELS = ("param", "module", "op")


class Block(nn.Module):
    """A frozen layer with an adapter beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(4, 4).requires_grad_(False)
        self.adapter = nn.Parameter(torch.randn(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + x @ self.adapter


class Net(nn.Module):
    def __init__(self, reentrant: bool) -> None:
        super().__init__()
        self.block, self.head = Block(), nn.Linear(4, 1)
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with warnings.catch_warnings():  # torch says it too, once
            warnings.simplefilter("ignore", UserWarning)
            return self.head(checkpoint(self.block, x, use_reentrant=self.reentrant))


def _training(reentrant: bool, input_needs_gradient: bool) -> Any:
    def loop(run: Bare) -> Any:
        net = Net(reentrant)
        trained = [p for p in net.parameters() if p.requires_grad]
        optimizer = torch.optim.SGD(trained, 0.01)
        run.watch(net, optimizer=optimizer)
        for step in range(2):
            optimizer.zero_grad()
            net(torch.randn(2, 4, requires_grad=input_needs_gradient)).sum().backward()
            run.note(step, "backward", net)
            run.note(step, "applied", {"block.adapter": net.block.adapter})
            optimizer.step()
        return state_of(net, optimizer)

    return loop


@pytest.mark.parametrize("level", LEVELS)
def test_the_adapter_is_drawn_and_says_why(level: str, tmp_path: pathlib.Path) -> None:
    log = run_both(_training(True, False), tmp_path, level=level)
    for record in log.records:
        names = [node.name for node in log.graph(record).nodes if node.kind == "parameter"]
        wanted = [
            "block.adapter",
            "block.base.weight",
            "block.base.bias",
            "head.weight",
            "head.bias",
        ]
        assert sorted(names) == sorted(wanted)
    found = log.tensor(1, "backward", "block.adapter")
    assert found.statistics is None and found.node.reason == "no_grad"
    assert "none of whose inputs requires a gradient" in found.node.note
    record = log.record(1, "backward")
    told = [f for f in findings(log.graph(record), record.table) if f.node == "block.adapter"]
    assert [(one.severity, one.kind) for one in told] == [("warning", "no_gradient")]


@pytest.mark.parametrize(("reentrant", "input_needs_gradient"), [(True, True), (False, False)])
def test_as_either_cure_says_it_has_a_gradient(
    reentrant: bool, input_needs_gradient: bool, tmp_path: pathlib.Path
) -> None:
    log = run_both(_training(reentrant, input_needs_gradient), tmp_path)
    found = log.tensor(1, "backward", "block.adapter")
    assert found.statistics is not None and found.node.reason == ""


def test_in_a_capture() -> None:
    graph = tb_gradgraph.capture(Net(True), torch.randn(2, 4))
    view = graph["block.adapter"]
    assert view.statistics is None and view.node.reason == "no_grad"
    assert "none of whose inputs requires a gradient" in view.node.note


class Experts(nn.Module):
    """One of many is used."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3)) for _ in range(count)
        )
        self.spare = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.experts[1](x)


@pytest.mark.parametrize("level", LEVELS)
def test_all_that_is_unused_is_there_and_folds(
    level: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    net = Experts(300)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.randn(2, 3)).sum().backward()
            optimizer.step()
    log = Log(tmp_path)
    record = log.record(1, "backward")
    nodes = log.graph(record).nodes
    got = {name for name, parameter in net.named_parameters() if parameter.grad is not None}
    assert {node.name for node in nodes if node.kind == "parameter"} == set(
        dict(net.named_parameters())
    )
    assert {n.name for n in nodes if n.kind == "parameter" and n.reason != "unused"} == got
    told = findings(log.graph(record), record.table)
    assert [one.kind for one in told] == ["no_gradient"] * 2
    texts = sorted(one.text for one in told)
    assert texts[0].startswith("experts: 1,196 parameters (experts.0.0.weight, ")
    assert texts[1].startswith("spare in Experts: Unused")
    cli.main(["summary", str(tmp_path)])
    printed = capsys.readouterr().out.partition("\n\n")[0]
    assert "  experts: 1,196 parameters (" in printed and "  spare: Unused" in printed
    assert len(printed.splitlines()) < 12
