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

from tests.watch.loops import Bare, run_both, small_net

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


# Of a model compiled after it is watched, torch warns that global hooks also see the wrapper,
# before any of them is called; ours know wrappers.
@pytest.mark.filterwarnings("ignore:Using `torch.compile.module.` when there are global hooks")
@pytest.mark.parametrize("level", ["param", "op"])
@pytest.mark.parametrize("every_n_steps", [1, 2])
@pytest.mark.parametrize(
    "make",
    [_whole, _whole_afterwards, _in_place, _in_place_afterwards, _part, _part_afterwards],
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
