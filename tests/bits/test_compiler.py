"""What torch compiles, exports, scripts and traces is what it would be without a watch.

No graph break, no recompile and no guard is added, at any level, and the training
is the same in every bit.
"""

from __future__ import annotations

import pathlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters
from torch.fx.experimental.proxy_tensor import make_fx

import tb_gradgraph
from tests.bits.outcome import bits_of, seed_all
from tests.bits.trainings import state_of
from tests.training.loops import Log

STEPS = 3
LEVELS = ("param", "module", "op")
Forward = Callable[[torch.Tensor], torch.Tensor]
Compile = Callable[[Any], Any]


class Transforms(nn.Module):
    """Calls transforms of functions, whose nodes are made within them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        slopes = torch.vmap(torch.func.grad(lambda row: row.sin().sum()))(x)
        out, change = torch.func.jvp(torch.tanh, (x,), (x,))
        return slopes + out + change


class Projected(nn.Module):
    """Multiplies a batch by one matrix without gradient, over a norm without gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fixed", torch.randn(1, 8, 16))
        self.weight = nn.Parameter(torch.randn(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        norm = torch.linalg.matrix_norm(self.weight.detach(), 2)
        return ((x[:, None] @ self.fixed) @ (self.weight / norm)).squeeze(1)


def make_net() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(3, 8), nn.Dropout(0.2), Projected(), nn.LayerNorm(4), nn.Linear(4, 2)
    )


def _whole(net: nn.Sequential, compiled: Compile) -> Forward:
    return compiled(net)


def _part(net: nn.Sequential, compiled: Compile) -> Forward:
    net[2] = compiled(net[2])
    return net


def _transforms(net: nn.Sequential, compiled: Compile) -> Forward:
    net[3] = compiled(nn.Sequential(Transforms(), net[3]))
    return net


def _function(net: nn.Sequential, compiled: Compile) -> Forward:
    return compiled(lambda x: net(x).exp())


def _breaking(net: nn.Sequential, compiled: Compile) -> Forward:
    def halves(x: torch.Tensor) -> torch.Tensor:
        x = net[:3](x)
        torch._dynamo.graph_break()
        return net[3:](x)

    return compiled(halves)


def train(make: Any, backend: str, whole: bool, watch: Callable[..., Any]) -> Any:
    """Train three steps; give what is left, in bits, and what the compiler did."""
    torch._dynamo.reset()
    counters.clear()
    seed_all(0)
    guards: list[list[tuple[str, str]]] = []
    compiled = torch._dynamo.optimize(
        backend, nopython=whole, guard_export_fn=lambda found: guards.append(_names_of(found))
    )
    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    forward = make(net, compiled)
    watch(net, optimizer)
    losses = []
    for _ in range(STEPS):
        loss = forward(torch.randn(4, 3)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    assert guards
    did = {"graphs": counters["stats"]["unique_graphs"], "calls": counters["stats"]["calls_captured"],
           "breaks": dict(counters["graph_break"]), "recompiles": dict(counters["recompiles"]),
           "guards": guards}  # fmt: skip
    return bits_of((state_of(net, optimizer), losses)), did


def _names_of(guards: Any) -> list[tuple[str, str]]:
    """Name guards; of names that are numbered as they are made the numbers are left out."""
    return sorted((re.sub(r"\d+", "#", str(g.name)), g.create_fn_name()) for g in guards)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize(
    ("backend", "whole", "levels"),
    [
        pytest.param("eager", True, LEVELS, id="eager, fullgraph"),
        pytest.param("aot_eager", False, ["op"], id="aot_eager"),
        pytest.param("eager", False, LEVELS, id="eager", marks=pytest.mark.slow),
        pytest.param("aot_eager", False, LEVELS, id="aot_eager, all", marks=pytest.mark.slow),
        pytest.param("aot_eager", True, LEVELS, id="aot_eager, fullgraph", marks=pytest.mark.slow),
    ],
)
def test_the_compiler_does_the_same(
    backend: str, whole: bool, levels: list[str], tmp_path: pathlib.Path
) -> None:
    makes = [_whole, _part, _transforms, _function, *([] if whole else [_breaking])]
    for make in makes:
        expected = train(make, backend, whole, lambda *_: None)
        for level in levels:
            logdir = tmp_path / f"{make.__name__}-{level}"
            with tb_gradgraph.SummaryWriter(str(logdir)) as writer:

                def watch(net: nn.Module, optimizer: Any) -> None:
                    options: Any = {"level": level, "every_n_steps": 1, "strict": True}  # noqa: B023
                    writer.watch(net, optimizer=optimizer, **options)  # noqa: B023

                found = train(make, backend, whole, watch)
            where = f"{make.__name__}, {level}"
            assert found[1] == expected[1], where
            assert found[0] == expected[0], where
            assert {record.step for record in Log(logdir).records} == set(range(STEPS)), where


def _exported(net: nn.Module, x: torch.Tensor) -> str:
    return str(torch.export.export(net, (x,)).graph)


def _exported_strictly(net: nn.Module, x: torch.Tensor) -> str:
    return str(torch.export.export(net, (x,), strict=True).graph)


def _traced(net: nn.Module, x: torch.Tensor) -> str:
    traced = torch.jit.trace(net, (x,), check_trace=False)
    return re.sub(r"___torch_mangle_\d+\.", "", str(traced.inlined_graph))


def _scripted(net: nn.Module, x: torch.Tensor) -> str:
    scripted = torch.jit.script(net)
    graph = re.sub(r"___torch_mangle_\d+\.", "", str(scripted.inlined_graph))
    return graph + str(bits_of(scripted(x)))


def _proxied(net: nn.Module, x: torch.Tensor) -> str:
    return make_fx(net)(x).code


def _symbolic(net: nn.Module, x: torch.Tensor) -> str:
    return torch.fx.symbolic_trace(net).code


def _explained(net: nn.Module, x: torch.Tensor) -> str:
    torch._dynamo.reset()
    found = torch._dynamo.explain(net)(x)
    return f"{found.graph_count} {found.graph_break_count} {found.op_count} {len(found.out_guards)}"


def _linearized(net: nn.Module, x: torch.Tensor) -> str:
    out, linear = torch.func.linearize(net, x)
    return str(bits_of((out, linear(x))))


def _of_functions(net: nn.Module, x: torch.Tensor) -> str:
    named = dict(net.named_parameters())
    loss = lambda parameters, row: torch.func.functional_call(net, parameters, row[None]).sum()  # noqa: E731
    each = torch.vmap(torch.func.grad(loss), (None, 0))(named, x)
    return str(bits_of((each, torch.func.jacfwd(net)(x), torch.func.hessian(net)(x[:1]))))


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(
    "take", [_exported, _exported_strictly, _traced, _scripted, _proxied, _symbolic, _explained,
             _linearized, _of_functions],
)  # fmt: skip
def test_what_is_taken_from_a_model_in_a_step_is_the_same(
    take: Callable[[nn.Module, torch.Tensor], str], tmp_path: pathlib.Path
) -> None:
    """In the first step, in which most is on, between its forward and its backward."""
    expected = _take_in_a_step(take, None)
    for level in LEVELS:
        with tb_gradgraph.SummaryWriter(str(tmp_path / level)) as writer:
            found = _take_in_a_step(take, writer, level=level, every_n_steps=1, strict=True)
        assert found == expected, level
        assert len(Log(tmp_path / level).records) >= 2


def _take_in_a_step(take: Any, writer: Any, **options: Any) -> Any:
    torch._dynamo.reset()
    seed_all(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    if writer is not None:
        writer.watch(net, optimizer=optimizer, **options)
    taken = []
    for _ in range(2):
        x = torch.randn(4, 3)
        loss = net(x).square().mean()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, with a watch and without
            taken.append(take(net, x))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return taken, bits_of(state_of(net, optimizer))
