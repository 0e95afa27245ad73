"""A fault of ours at one node costs that node alone: the graph and all other numbers are there."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.api.grad_graph import GradGraph
from tb_gradgraph.autograd.build import build
from tb_gradgraph.autograd.forward.trace import ForwardTrace
from tb_gradgraph.autograd.forward.variables import VariableNames
from tb_gradgraph.autograd.gradients import observe
from tb_gradgraph.summarize import batch, pending, stacks
from tests.compiled import without_compiled_code


class Fault(Exception):
    """What nobody expected."""


def _unless(is_it: Callable[..., bool], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function``, but for arguments of which ``is_it`` holds, for which it raises."""

    def odd(*args: Any, **kwargs: Any) -> Any:
        if is_it(*args):
            raise Fault("a fault")
        return function(*args, **kwargs)

    return odd


def _is_tanh(node: Any) -> bool:
    return type(node).__name__ == "TanhBackward0"


def _is_odd(tensor: torch.Tensor, *_: Any) -> bool:
    return tensor.shape == (7, 5)  # of the second weight alone


def _capture() -> GradGraph:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 7), nn.Linear(7, 64, bias=False))
    hidden = torch.randn(2, 3)
    return tb_gradgraph.capture(net, hidden)


#: What is patched: holder, name, when it raises, and the node that the warning names.
AT_ONE_NODE = {
    "what it is called": (build, "operation_of", _is_tanh, "TanhBackward0"),
    "shapes and types": (build.engine, "input_metadata", _is_tanh, "TanhBackward0"),
    "a leaf's description": (build, "slot_of", _is_odd, "2.weight"),
    "whether a leaf is readable": (build, "_kept", _is_odd, ""),
    "a prehook": (observe, "prehook_of", _is_tanh, "1"),
    "elements of a gradient": (observe, "elements_of", _is_odd, "2.weight"),
    "stored elements": (batch, "stored", _is_odd, "2.weight"),
}  # fmt: skip


@pytest.mark.parametrize("place", AT_ONE_NODE)
def test_a_fault_at_one_node(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiled_code(monkeypatch)  # which takes gradients before our Python does
    expected = _capture()
    holder, name, is_it, node = AT_ONE_NODE[place]
    monkeypatch.setattr(holder, name, _unless(is_it, getattr(holder, name)))
    with pytest.warns(RuntimeWarning, match="a fault") as warned:
        graph = _capture()
    assert len(warned) == 1 and node in str(warned[0].message)
    _assert_all_but_one(graph, expected)


def _assert_all_but_one(graph: GradGraph, expected: GradGraph) -> None:
    assert len(graph.backward_passes) == 1
    assert len(graph.nodes) == len(expected.nodes) and len(graph.edges) == len(expected.edges)
    table, other = graph.backward_passes[0].table, expected.backward_passes[0].table
    assert len(table.present) == len(other.present)
    odd = [row for row in range(len(table.present)) if table.present[row] != other.present[row]]
    assert odd == [row for row in graph.backward_passes[0].unread if other.present[row]]
    assert len(odd) <= 1
    for row in odd:
        assert graph.view(row).status == "not read: Fault: a fault"
    same = [row for row in range(len(table.present)) if row not in odd]
    np.testing.assert_array_equal(table.values[same], other.values[same])
    named = [one for one in graph.nodes if one.note.startswith("not read")]
    assert all(graph[one.name].statistics is not None for one in named)


@pytest.mark.parametrize(
    ("holder", "name"),
    [
        (batch, "part_of_held"),
        (batch, "part_of_reduced"),
        (stacks.Stack, "reduce"),
        (batch, "whole_blocks"),
    ],
)
def test_tensors_that_cannot_be_reduced_together_are_reduced_alone(
    holder: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiled_code(monkeypatch)
    tensors = [torch.randn(5), torch.randn(5), torch.randn(300, 2), torch.randn(300, 2)]
    tensors += [torch.randn(200_000), torch.randn(200_000)]
    expected, whole = _reduced(tensors)
    real, calls = getattr(holder, name), []

    def odd(*args: Any) -> Any:
        given = args[0] if name == "whole_blocks" else args[-2] if name == "part_of_held" else None
        many = name == "reduce" or len(given if given is not None else args[-1]) > 1
        calls.append(many)
        if many:
            raise Fault("a fault")
        return real(*args)

    monkeypatch.setattr(holder, name, odd)
    found, own = _reduced(tensors)
    assert any(calls)
    np.testing.assert_allclose(found.values, expected.values, 1e-6)
    assert found.present.all() and own.keys() == whole.keys()


def _reduced(tensors: list[torch.Tensor]) -> Any:
    found = batch.StatisticsBatch(len(tensors))
    found.add_many(range(len(tensors)), tensors)
    found.add(0, tensors[0], keep=True)
    found.add(1, tensors[1], keep=True)
    return found.finish()


def test_a_part_that_cannot_be_read_costs_its_own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    without_compiled_code(monkeypatch)
    found = batch.StatisticsBatch(3)
    for row, dtype in enumerate((torch.float32, torch.float64, torch.float16)):
        found.add(row, torch.ones(3, dtype=dtype))
    waiting = found.reduce()
    broken = waiting._parts[1]
    monkeypatch.setattr(
        waiting, "_parts", [*waiting._parts[:1],
                            pending.Part(broken.entries, broken.tensors, lambda *_: 1 / 0),
                            *waiting._parts[2:]],
    )  # fmt: skip
    table, _ = waiting.collect()
    assert table.present.tolist() == [True, False, True]
    assert waiting.unread == {1: "not read: ZeroDivisionError: division by zero"}


def test_variables_that_cannot_be_asked_what_they_are() -> None:
    class Gone:
        pass

    gone = Gone()
    dead = weakref.proxy(gone)
    del gone
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    graph = tb_gradgraph.capture(y.sum())
    assert graph["y"].name == "y" and graph["x"].name == "x"
    with pytest.raises(ReferenceError):
        isinstance(dead, torch.Tensor)


def test_names_that_cannot_be_read_cost_names_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = _capture()
    monkeypatch.setattr(VariableNames, "read", lambda *_: 1 / 0)
    with pytest.warns(RuntimeWarning, match="could not note .* division by zero") as warned:
        graph = _capture()
    assert len(warned) == 1
    assert [node.operation for node in graph.nodes if node.requires_grad] == [
        node.operation for node in expected.nodes if node.requires_grad
    ]
    assert len(graph.backward_passes) == 1


def test_an_error_without_a_message_is_told_by_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise ValueError

    def fail(_: Any) -> None:
        raise Speechless

    without_compiled_code(monkeypatch)
    monkeypatch.setattr(observe, "elements_of", fail)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        graph = _capture()
    assert len(warned) == 1 and "(Speechless)" in str(warned[0].message)
    assert graph["0.weight"].status == "not read: Speechless"


def test_an_operation_that_cannot_be_noted_costs_its_own_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = _capture()
    is_it = lambda _, __, ___, ____, result: result.shape == (2, 7)  # noqa: E731
    monkeypatch.setattr(ForwardTrace, "_note_made", _unless(is_it, ForwardTrace._note_made))
    with pytest.warns(RuntimeWarning, match="could not note aten.addmm.default") as warned:
        graph = _capture()
    assert len(warned) == 1
    own, others = ({one.key: one for one in found.nodes} for found in (graph, expected))
    differing = [key for key in others if own.get(key) != others[key]]
    assert {others[key].kind for key in differing} <= {"constant"}
    np.testing.assert_array_equal(
        graph.backward_passes[0].table.values, expected.backward_passes[0].table.values
    )
