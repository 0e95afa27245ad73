"""Variables name tensors: also the last one of a function, and never a tensor that they did not hold."""

# ruff: noqa: RET504  that a variable is assigned before it is returned is what is tested

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.api.grad_graph import GradGraph


class Of(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor, torch.Tensor], Any]) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor([2.0, 3.0]))
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x, self.w)


def _capture(function: Callable[[torch.Tensor, torch.Tensor], Any]) -> GradGraph:
    return tb_gradgraph.capture(Of(function), torch.ones(2))


def _names(function: Callable[[torch.Tensor, torch.Tensor], Any]) -> dict[str, str]:
    """Return operation and variable of each operation that has one."""
    graph = _capture(function)
    return {
        slot.name: node.name
        for node in graph.nodes
        if node.kind == "operation"
        for slot in node.slots
        if slot.name
    }


def test_a_variable_assigned_last() -> None:
    def last(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = x * w
        return y

    assert _names(last) == {"y": "mul"}


def test_what_a_helper_returns_has_its_name_there_first() -> None:
    def helper(given: torch.Tensor) -> torch.Tensor:
        inner = given.exp()
        return inner

    def outer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        h = helper(x * w)
        return h

    assert _names(outer) == {"inner": "exp", "given": "mul"}


def test_what_torchs_modules_return_is_named_where_it_is_assigned() -> None:
    lin = nn.Linear(2, 2)

    def outer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        h = lin(x * w)
        out = torch.relu(h)
        return out

    graph = _capture(outer)
    assert graph["h"].scope.module == "Linear" and graph["out"].node.name == "relu"
    (used,) = [e for e in graph.edges if graph.nodes[e.target].name == "relu"]
    assert graph.nodes[used.source] is graph["h"].node


def test_one_variable_for_many_tensors_in_a_loop() -> None:
    def loop(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = x
        for _ in range(3):
            y = y * w
        return y

    graph = _capture(loop)
    named = [node.name for node in graph.nodes for slot in node.slots if slot.name == "y"]
    assert named == ["mul", "mul.1", "mul.2"]


def test_unpacked_walrus_closure_and_in_place() -> None:
    def many(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        cell = x * w

        def inside() -> torch.Tensor:
            return cell + 1

        first, second = torch.stack([inside(), cell]).unbind()
        if (third := first * second).sum() > 0:
            third += 1
        return third

    names = _names(many)
    assert names["cell"] == "mul" and names["first"] == names["second"] == "unbind"
    assert names["third"] == "add.1"  # the later of the two wins the name in this table
    both = [n.name for n in _capture(many).nodes for s in n.slots if s.name == "third"]
    assert both == ["mul.1", "add.1"]


def test_an_expression_has_no_name() -> None:
    def nothing(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = (x * w).exp()
        z = y.sin() + 1
        return z * 2

    names = _names(nothing)
    assert names == {"y": "exp", "z": "add"}


def test_attributes_items_and_deleted_variables_give_no_wrong_name() -> None:
    def places(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        kept = {}
        kept["a"] = x * w
        y = 5
        gone = kept["a"].exp()
        total = gone.sum()
        del gone
        y = total * y
        return y

    assert _names(places) == {"gone": "exp", "total": "sum", "y": "mul.1"}


def test_generators_and_recursion() -> None:
    def parts(x: torch.Tensor) -> Iterator[torch.Tensor]:
        part = x.sin()
        yield part
        late = x.cos()
        yield late

    def deep(x: torch.Tensor, depth: int) -> torch.Tensor:
        level = x * depth
        return deep(level, depth - 1) if depth > 1 else level

    def outer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        made = parts(x * w)
        first = next(made) + next(made)
        second = deep(first, 3)
        return second

    names = _names(outer)
    assert names["part"] == "sin" and names["level"].startswith("mul")
    assert "late" not in names, "a suspended frame is read at its next operation only"


def test_a_name_after_an_exception() -> None:
    def raises(x: torch.Tensor) -> torch.Tensor:
        lost = x.exp()
        raise ValueError(lost)

    def outer(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        try:
            y = raises(x * w)
        except ValueError as error:
            y = error.args[0]
        return y

    assert _names(outer)["lost"] == "exp"


def test_constants_masks_and_leaves_made_on_the_way() -> None:
    def constants(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        scale = torch.tensor([2.0, 4.0])
        mask = w.detach() > 2.5
        free = torch.zeros(2, requires_grad=True)
        return (x * w * scale * mask + free).sum()

    graph = _capture(constants)
    assert graph["scale"].value.tolist() == [2.0, 4.0] and graph["scale"].node.kind == "constant"
    assert graph["mask"].node.operation == "gt"
    assert graph["free"].node.kind == "leaf" and graph["free"].gradient.tolist() == [1.0, 1.0]


def test_variables_of_the_caller_name_nothing_in_the_forward() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    mine = model(torch.ones(1, 2))
    graph = tb_gradgraph.capture(model, torch.ones(1, 2))
    assert "mine" not in graph
    assert mine.grad_fn is not None


def test_frames_and_tensors_are_let_go() -> None:
    alive: list[weakref.ref[torch.Tensor]] = []

    def last(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        large = torch.zeros(100)
        alive.append(weakref.ref(large))
        y = x * w
        return y

    gc.disable()
    try:
        graph = _capture(last)
        assert "y" in graph
        assert alive[0]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", ["exec", "lambda"])
def test_code_without_a_file(kind: str) -> None:
    namespace: dict[str, Any] = {}
    code = "def made(x, w):\n    y = x * w\n    return y\n"
    exec(compile(code, "<ipython-input-1>", "exec"), namespace)
    function = namespace["made"] if kind == "exec" else lambda x, w: x * w
    graph = _capture(function)
    operation = next(node for node in graph.nodes if node.kind == "operation")
    assert operation.slots[0].name == ("y" if kind == "exec" else "")
    assert operation.source != ""
