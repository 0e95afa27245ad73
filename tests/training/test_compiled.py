"""torch.compile of a whole model and of a part of it: no graph break and no recompile is added."""

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
from tests import warm
from tests.training.loops import Bare, Log, run_both, small_net

Forward = Callable[[torch.Tensor], torch.Tensor]


def _whole(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    compiled = torch.compile(net, backend="aot_eager")
    watch(compiled)
    return compiled


def _in_place(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    net.compile(backend="aot_eager")
    watch(net)
    return net


def _in_place_afterwards(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    watch(net)
    net.compile(backend="aot_eager")
    return net


def _part(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    net[0] = torch.compile(net[0], backend="aot_eager")
    watch(net)
    return net


def _whole_afterwards(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    watch(net)
    return torch.compile(net, backend="aot_eager")


def _part_afterwards(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    watch(net)
    net[0] = torch.compile(net[0], backend="aot_eager")
    return net


def _function(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    watch(net)
    return torch.compile(lambda x: net(x), backend="aot_eager")


def _function_of_a_compiled_module(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    watch(net)
    inner = torch.compile(net, backend="aot_eager")
    return torch.compile(lambda x: inner(x) * 2, backend="aot_eager")


def _function_before(net: nn.Module, watch: Callable[[nn.Module], Any]) -> Forward:
    compiled = torch.compile(lambda x: net(x), backend="aot_eager")
    compiled(torch.ones(4, 3)).sum().backward()
    net.zero_grad()
    watch(net)
    return compiled


class _Activation(nn.Module):
    """A module that is not compiled, and calls a function that is."""

    def __init__(self) -> None:
        super().__init__()
        self.function = torch.compile(lambda x: x.tanh() * 2, backend="aot_eager")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def _function_within(net: nn.Sequential, watch: Callable[[nn.Module], Any]) -> Forward:
    watch(net.append(_Activation()))
    return net


def _function_within_before(net: nn.Sequential, watch: Callable[[nn.Module], Any]) -> Forward:
    net.append(_Activation())(torch.ones(4, 3)).sum().backward()
    net.zero_grad()
    watch(net)
    return net


# torch warns in any case of a compiled function that gets a tensor with history.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize(
    ("level", "every_n_steps"),
    [
        ("op", 1),
        ("param", 2),
        # Each of both is there in another pair.
        pytest.param("op", 2, marks=pytest.mark.slow),
        pytest.param("param", 1, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        _whole,
        _whole_afterwards,
        _in_place,
        _in_place_afterwards,
        _part,
        _part_afterwards,
        _function,
        _function_before,
        _function_of_a_compiled_module,
        _function_within,
        _function_within_before,
    ],
)
def test_nothing_is_compiled_again(
    make: Any, every_n_steps: int, level: str, tmp_path: pathlib.Path
) -> None:
    def loop(run: Bare) -> Any:
        torch._dynamo.reset()
        counters.clear()
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        watch = run.watch
        forward = make(net, lambda model: watch(model, optimizer=optimizer))
        named = {
            name.replace("_orig_mod.", ""): parameter for name, parameter in net.named_parameters()
        }
        for step in range(5):
            optimizer.zero_grad()
            forward(torch.randn(4, 3)).square().mean().backward()
            if step % every_n_steps == 0:
                run.note(step, "backward", named)
                run.note(step, "applied", named)
            optimizer.step()
        found.append(
            (counters["stats"]["unique_graphs"], dict(counters["graph_break"]),
             dict(counters["recompiles"]))
        )  # fmt: skip
        return [parameter.detach() for parameter in named.values()]

    found: list[Any] = []
    run_both(loop, tmp_path, level=level, every_n_steps=every_n_steps)
    bare, watched = found
    assert watched == bare


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("is_warm", [True, False])
def test_what_is_not_compiled_keeps_its_modules(is_warm: bool, tmp_path: pathlib.Path) -> None:
    torch._dynamo.reset()
    net = small_net().append(_Activation())
    if is_warm:
        net(torch.ones(4, 3)).sum().backward()
        net.zero_grad()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, level="op")
        net(torch.ones(4, 3)).square().mean().backward()
    log = Log(tmp_path)
    graph = log.graph(log.records[0])
    paths = [(n.operation, graph.scopes[n.scope].path) for n in graph.nodes if n.operation]
    assert [scope.path for scope in graph.scopes] == ["", "0", "1", "2", "3"]
    assert ("AddmmBackward0", "2") in paths
    assert ("CompiledFunction", "3") in paths


def test_a_step_with_its_backward_is_compiled_once(tmp_path: pathlib.Path) -> None:
    """It breaks at the backward; nothing of ours is compiled."""

    def loop(run: Bare) -> Any:
        torch._dynamo.reset()
        counters.clear()
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)

        @torch.compile(backend="aot_eager")
        def step(x: torch.Tensor) -> None:
            net(x).square().mean().backward()

        for number in range(3):
            step(torch.randn(4, 3))
            run.note(number, "backward", net)
            run.note(number, "applied", net)
            optimizer.step()
            optimizer.zero_grad()
        found.append(
            (counters["stats"]["unique_graphs"], len(counters["graph_break"]),
             dict(counters["recompiles"]))
        )  # fmt: skip
        return [parameter.detach() for parameter in net.parameters()]

    found: list[Any] = []
    run_both(loop, tmp_path)
    bare, watched = found
    assert watched == bare


def test_a_compiler_that_is_loaded_in_the_first_step(tmp_path: pathlib.Path) -> None:
    """Then torch.compile itself is heard, because the compiler is not loaded when the step begins."""
    done = warm.run_cold("-m", "tests.training.late_compiler_process", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "0"]
    assert {record.step for record in Log(tmp_path).records} == {0, 1, 2}


@pytest.mark.parametrize("is_watched", [True, False], ids=["its optimizer", "another net's"])
def test_a_compiled_optimizer_step_is_one_graph(is_watched: bool, tmp_path: pathlib.Path) -> None:
    """Hooks on it are not traced."""

    def loop(run: Bare) -> Any:
        torch._dynamo.reset()
        counters.clear()
        nets = small_net(), small_net()
        rate = torch.tensor(0.1)  # else each value is compiled anew
        optimizers = [torch.optim.Adam(net.parameters(), rate) for net in nets]
        run.watch(nets[0], optimizer=optimizers[0])
        step = torch.compile(optimizers[not is_watched].step, backend="aot_eager")
        for number in range(3):
            sum(net(torch.randn(4, 3)).square().mean() for net in nets).backward()
            run.note(number, "applied", nets[0])
            if is_watched:
                step()
                optimizers[1].step()
            else:
                optimizers[0].step()
                step()
            for optimizer in optimizers:
                optimizer.zero_grad()
        found.append((counters["stats"]["unique_graphs"], dict(counters["recompiles"])))
        return [parameter.detach() for net in nets for parameter in net.parameters()]

    found: list[Any] = []
    run_both(loop, tmp_path)
    bare, watched = found
    assert watched == bare
