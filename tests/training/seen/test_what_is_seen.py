"""What a watch knows of a forward that it does not touch: lines, frozen parts, cuts, reasons."""

from __future__ import annotations

import pathlib
import sys
import warnings
from collections.abc import Callable

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.autograd.torch_internals.engine import TELLS_PACKED
from tb_gradgraph.autograd.torch_internals.walk import walk
from tb_gradgraph.autograd.user_code.anomaly_lines import line_of
from tb_gradgraph.graph import Graph
from tests.autograd.expected import OTHERWISE, inputs_of, made, roots_of
from tests.autograd.models import CASES, Case
from tests.logged import read_one_run

HEARS_METHODS = sys.version_info >= (3, 11)
HERE = pathlib.Path(__file__).name
#: Models whose graph is made by compiled code, which anomaly mode has compiled otherwise.
OTHER_LINES = OTHERWISE - {"user's hooks"}


class WithLoss(nn.Module):
    """A model with its loss: what is in no module is not looked at."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.model, self.case = made(case), case

    def forward(self) -> list[torch.Tensor]:
        args, kwargs = inputs_of(self.case)
        output = self.model(*args, **kwargs)
        return roots_of(output if self.case.loss_fn is None else self.case.loss_fn(output))


def _watched(model: nn.Module, logdir: pathlib.Path) -> Graph:
    with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
        writer.watch(model, level="op", every_n_steps=1, strict=True)
        roots = model()
        torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])
    return next(iter(read_one_run(logdir).graphs.values()))


def _stacked(model: nn.Module) -> list[str]:
    """Return the line of each node in order, from the stacks that autograd keeps when it is told to."""
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    try:
        roots = model()
    finally:
        torch.autograd.set_detect_anomaly(False)
    return [line_of(node) for node in walk(roots).nodes if node.next_functions]


@pytest.mark.parametrize("name", sorted(CASES.keys() - OTHER_LINES))
def test_every_operation_has_the_line_that_autograd_saw(name: str, tmp_path: pathlib.Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The .grad attribute of a Tensor that is not a leaf")
        warnings.filterwarnings("ignore", "Using backward.. with create_graph=True")
        expected = _stacked(WithLoss(CASES[name]))
        graph = _watched(WithLoss(CASES[name]), tmp_path)
    found = [node.source for node in graph.nodes if node.requires_grad and node.kind == "operation"]
    assert found == expected and all(found)


class Of(nn.Module):
    """Layers that a function may use, some frozen."""

    def __init__(self, function: Callable[[nn.Module, torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.lin, self.other = nn.Linear(3, 3), nn.Linear(3, 3)
        self.frozen = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).requires_grad_(False)
        self.w = nn.Parameter(torch.ones(3))
        self.function = function

    def forward(self) -> list[torch.Tensor]:
        return [self.function(self, torch.ones(2, 3)).sum()]


def _has(graph: Graph, *edges: tuple[str, str]) -> bool:
    """Return whether there are these edges; from torch 2.9 on it tells what operations kept."""
    found = {(graph.nodes[e.source].name, graph.nodes[e.target].name) for e in graph.edges}
    return found.issuperset(edges) == TELLS_PACKED


def _reason(graph: Graph, name: str) -> tuple[str, str]:
    (node,) = (node for node in graph.nodes if node.name == name)
    return node.reason, node.note


def test_a_frozen_part_is_drawn_call_by_call(tmp_path: pathlib.Path) -> None:
    graph = _watched(Of(lambda m, x: m.lin(m.frozen(x))), tmp_path)
    assert _has(
        graph,
        ("x", "frozen.0/Linear"),
        ("frozen.0.weight", "frozen.0/Linear"),
        ("frozen.0/Linear", "frozen.1/ReLU"),
        ("frozen.1/ReLU", "lin/addmm"),
    )
    assert _reason(graph, "frozen.0.weight")[0] == "frozen"


def test_a_frozen_weight_is_an_input(tmp_path: pathlib.Path) -> None:
    graph = _watched(Of(lambda m, x: m.frozen[0](m.lin(x))), tmp_path)
    assert _has(graph, ("frozen.0.weight", "frozen.0/addmm"))


def test_constants_have_their_names(tmp_path: pathlib.Path) -> None:
    def function(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        mask = x > 0
        return m.lin(x) * mask

    assert _has(_watched(Of(function), tmp_path), ("mask", "mul"))


@pytest.mark.parametrize("times", [1, 2])
def test_what_was_detached(times: int, tmp_path: pathlib.Path) -> None:
    def function(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        h = m.lin(x)
        for _ in range(times):
            m.other(h).detach()
        return h * m.other(h).detach()

    graph = _watched(Of(function), tmp_path)
    first = function.__code__.co_firstlineno
    names = [node.name for node in graph.nodes if node.name.startswith("detach")]
    assert bool(names) == (TELLS_PACKED and HEARS_METHODS)
    assert all(_has(graph, (name, "mul")) for name in names)
    reason, note = _reason(graph, "other.weight")
    assert reason == ("cut" if HEARS_METHODS else "not_in_loss")
    for line in (first + 3, first + 4) if HEARS_METHODS else (first + 3,):
        assert f"{HERE}:{line} in function)" in note


def test_what_was_used_without_gradient_or_not_at_all(tmp_path: pathlib.Path) -> None:
    def function(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            scale = m.other(x)
        return m.lin(x) * scale

    graph = _watched(Of(function), tmp_path)
    assert _has(graph, ("other/Linear", "mul"))
    reason, note = _reason(graph, "other.weight")
    line = function.__code__.co_firstlineno + 2
    assert reason == "no_grad" and f"{HERE}:{line} in function" in note
    assert _reason(graph, "w")[0] == "unused" and "as far as is seen" in _reason(graph, "w")[1]


def test_a_result_that_is_no_part_of_the_loss(tmp_path: pathlib.Path) -> None:
    def function(m: nn.Module, x: torch.Tensor) -> torch.Tensor:
        spare = x * m.w
        x = x.clone() if spare.shape == x.shape else x
        return m.lin(x)

    reason, note = _reason(_watched(Of(function), tmp_path), "w")
    line = function.__code__.co_firstlineno + 1
    assert reason == "not_in_loss" and f"{HERE}:{line} in function" in note


def test_a_tensor_that_a_variable_holds_is_drawn_in_the_model(tmp_path: pathlib.Path) -> None:
    graph = _watched(Of(lambda m, x: m.lin(x)), tmp_path)
    (x,) = (node for node in graph.nodes if node.kind == "constant")
    assert x.name == "x" and graph.scopes[x.scope].path == ""
