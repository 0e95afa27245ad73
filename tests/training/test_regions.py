"""Compiled code that is called, left and ended in odd ways while a step is followed."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters

import tb_gradgraph
from tests.logged import read_one_run
from tests.training.loops import Bare, Log, run_both, small_net

# torch warns in any case of a compiled function that gets a tensor with history.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")


class _Noise(nn.Module):
    """Makes a tensor of none: torch asks the modes that are on whether they want to see it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rand(2)


class _Calling(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def _noise_in_place() -> nn.Module:
    noise = _Noise()
    noise.compile(backend="eager")
    return noise


def _noise_of_a_function() -> nn.Module:
    return _Calling(torch.compile(lambda x: x * torch.rand(2), backend="eager"))


def _noise_after_a_break() -> nn.Module:
    @torch.compile(backend="aot_eager")
    def function(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x * noise()

    noise = torch.compiler.disable(lambda: torch.rand(2))
    return _Calling(function)


def _cond() -> nn.Module:
    return _Calling(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)))


@pytest.mark.parametrize(
    "make", [_Noise, _noise_in_place, _noise_of_a_function, _noise_after_a_break, _cond]
)
def test_what_is_compiled_within_a_module_runs_as_without(
    make: Callable[[], nn.Module], tmp_path: pathlib.Path
) -> None:
    """The trace is off before torch notes which modes are on for the whole call."""

    def loop(run: Bare) -> Any:
        torch._dynamo.reset()
        counters.clear()
        net = small_net().append(make())
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(3):
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            run.note(step, "backward", net)
            optimizer.step()
        found.append((counters["stats"]["unique_graphs"], len(counters["graph_break"])))
        return [parameter.detach() for parameter in net.parameters()]

    found: list[Any] = []
    log = run_both(loop, tmp_path, level="op")
    bare, watched = found
    assert watched == bare
    scopes = [scope.path for scope in log.graph(log.record(0, "backward")).scopes]
    assert scopes[:4] == ["", "0", "1", "2"]


def test_a_watch_that_ends_within_compiled_code(tmp_path: pathlib.Path) -> None:
    """The end of such code is not heard then; the next watch knows all the same."""
    torch._dynamo.reset()
    net = small_net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, level="op", tag="first", every_n_steps=1)
        net(torch.ones(4, 3)).sum().backward()
        close = torch.compiler.disable(watch.close)

        @torch.compile(backend="aot_eager")
        def function(x: torch.Tensor) -> torch.Tensor:
            x = net[0](x)
            close()
            return net[2](net[1](x))

        function(torch.ones(4, 3)).sum().backward()
        writer.watch(net, level="op", tag="second")
        net(torch.ones(4, 3)).square().mean().backward()
    for tag in ("first", "second"):
        log = Log(tmp_path, tag)
        scopes = [scope.path for scope in log.graph(log.records[0]).scopes]
        assert scopes == ["", "0", "1", "2"], tag


def test_a_watch_that_begins_within_compiled_code(tmp_path: pathlib.Path) -> None:
    """Its first step has nothing on until that code ends."""
    torch._dynamo.reset()
    counters.clear()
    net = small_net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = torch.compiler.disable(lambda: writer.watch(net, level="op"))

        @torch.compile(backend="aot_eager")
        def function(x: torch.Tensor) -> torch.Tensor:
            watch()
            return net(x).sum()

        loss = function(torch.ones(4, 3))
        (loss + net(torch.ones(4, 3)).sum()).backward()
    assert counters["stats"]["unique_graphs"] == 1
    (record,) = read_one_run(tmp_path).records
    graph = Log(tmp_path).graph(record)
    paths = [(n.operation, graph.scopes[n.scope].path) for n in graph.nodes if n.operation]
    assert [scope.path for scope in graph.scopes] == ["", "0", "1", "2"]
    assert ("AddmmBackward0", "2") in paths


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_an_export_in_a_step_sees_no_hooks(strict: bool, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        graphs = []
        for step in range(2):
            optimizer.zero_grad()
            loss = net(torch.randn(4, 3)).square().mean()
            exported = torch.export.export(net, (torch.ones(4, 3),), strict=strict)
            graphs.append(str(exported.graph))
            loss.backward()
            run.note(step, "backward", net)
            optimizer.step()
        return graphs, [parameter.detach() for parameter in net.parameters()]

    run_both(loop, tmp_path, level="op")
