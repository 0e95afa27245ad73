"""Numbers of the user's own statistics, against the same functions on copies that plain torch made."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.record.read.read_logdir import LoggedRun
from tests.logged import read_one_run
from tests.training.own.added import Add


def second_moment(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double().square().mean()


def first_element(tensor: torch.Tensor) -> float | None:
    return tensor.reshape(-1)[0].item() if tensor.numel() else None


def make_net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 30), nn.Tanh(), nn.Linear(30, 30), nn.ReLU(), nn.Linear(30, 3)
    )


class Kept:
    """Copies of weights, outputs and gradients at each step, by the user's own hooks."""

    def __init__(self, net: nn.Module) -> None:
        self.weights: list[dict[str, torch.Tensor]] = []
        self.values: list[dict[str, torch.Tensor]] = []
        self.gradients: list[dict[str, torch.Tensor]] = []
        self._net = net

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Run a forward, and keep what each module puts out and, later, its gradient."""
        self.weights.append({n: p.detach().clone() for n, p in self._net.named_parameters()})
        values, gradients = dict[str, torch.Tensor](), dict[str, torch.Tensor]()
        handles = []
        for name, module in self._net.named_children():

            def keep(_: Any, __: Any, out: torch.Tensor, name: str = name) -> None:
                values[name] = out.detach().clone()
                out.register_hook(lambda g: gradients.update({name: g.detach().clone()}))

            handles.append(module.register_forward_hook(keep))
        out = self._net(x)
        for handle in handles:
            handle.remove()
        self.values.append(values)
        self.gradients.append(gradients)
        return out

    def keep_grads(self) -> None:
        """Keep the gradients of parameters."""
        named = self._net.named_parameters()
        self.gradients[-1].update({n: p.grad.clone() for n, p in named if p.grad is not None})


def train(
    net: nn.Module, logdir: pathlib.Path, keeps: bool, steps: int = 3, **options: Any
) -> tuple[LoggedRun, Kept, list[torch.Tensor]]:
    """Train a net; return what was recorded, copies if it ``keeps`` them, and the last weights."""
    kept = Kept(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.05, momentum=0.9)
    torch.manual_seed(1)
    with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, strict=True, **options)
        for _ in range(steps):
            x = torch.randn(7, 4, dtype=next(net.parameters()).dtype)
            out = kept.forward(x) if keeps else net(x)
            optimizer.zero_grad()
            out.square().sum().backward()
            if keeps:
                kept.keep_grads()
            optimizer.step()
    return read_one_run(logdir), kept, [p.detach().clone() for p in net.parameters()]


def named(graph: Graph, own: dict[int, float]) -> dict[str, float]:
    """Return numbers by the name of the parameter, or of the module whose last operation it is."""
    names = {}
    for node, row in zip(graph.nodes, graph.slot_offsets.tolist()):
        if node.kind == "operation" and node.scope >= 0:
            names[row] = graph.scopes[node.scope].path
        elif node.kind == "parameter":
            names[row] = node.name
    return {names[row]: number for row, number in own.items() if names.get(row)}


def assert_same(
    record: Record,
    graph: Graph,
    name: str,
    function: Callable[..., Any],
    of: dict[str, torch.Tensor],
) -> None:
    found = named(graph, record.own[name])
    expected = {key: function(tensor) for key, tensor in of.items()}
    assert found.keys() == {key for key, number in expected.items() if number is not None}
    for key, number in found.items():
        np.testing.assert_allclose(number, float(expected[key]), rtol=1e-6)


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("function", [second_moment, first_element])
@pytest.mark.parametrize("level", ["module", "op"])
def test_weights_gradients_and_values(
    level: str, function: Callable[..., Any], values: bool, add: Add, tmp_path: pathlib.Path
) -> None:
    for of in ("weight", "gradient", "value"):
        add(f"of_{of}", of=of)(function)
    run, kept, _ = train(make_net(), tmp_path, True, level=level, values=values)
    of_backward = [record for record in run.records if record.stage == "backward"]
    assert len(of_backward) == len(run.forwards) == 3
    for step, (forward, backward) in enumerate(zip(run.forwards, of_backward)):
        graph = run.graphs[forward.graph_hash]
        assert forward.own.keys() == {"of_weight", "of_value"}
        assert backward.own.keys() == {"of_gradient"}
        assert forward.table.present.any() == values
        assert_same(forward, graph, "of_weight", function, kept.weights[step])
        if level == "module":
            assert_same(forward, graph, "of_value", function, kept.values[step])
            assert_same(backward, graph, "of_gradient", function, kept.gradients[step])
        else:  # there the last operation of a module is one among several
            rows = {node.name: int(row) for node, row in zip(graph.nodes, graph.slot_offsets)}
            relu = rows["3/relu"]
            np.testing.assert_allclose(
                [forward.own["of_value"][relu], backward.own["of_gradient"][relu]],
                [
                    float(function(kept.values[step]["3"])),
                    float(function(kept.gradients[step]["3"])),
                ],
                rtol=1e-6,
            )
    assert run.forwards[0].own_measures["of_weight"] == OwnMeasure("weight")


def test_level_param_has_weights_and_gradients(add: Add, tmp_path: pathlib.Path) -> None:
    for of in ("weight", "gradient"):
        add(f"of_{of}", of=of)(second_moment)
    run, kept, _ = train(make_net(), tmp_path, True, level="param", values=False)
    forward, backward = run.forwards[1], [r for r in run.records if r.stage == "backward"][1]
    graph = run.graphs[forward.graph_hash]
    assert_same(forward, graph, "of_weight", second_moment, kept.weights[1])
    of_parameters = {name: kept.gradients[1][name] for name in kept.weights[1]}
    assert_same(backward, graph, "of_gradient", second_moment, of_parameters)


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("2.weight", {"2.weight"}),
        (["0.*", "4.bias"], {"0.weight", "0.bias", "4.bias"}),
        (lambda node: node.name.endswith("bias"), {"0.bias", "2.bias", "4.bias"}),
    ],
)
def test_select(select: Any, expected: set[str], add: Add, tmp_path: pathlib.Path) -> None:
    seen: list[tuple[int, ...]] = []
    add("size", of="weight", select=select)(lambda w: seen.append(tuple(w.shape)) or w.numel())
    run, kept, _ = train(make_net(), tmp_path, True)
    for record in run.forwards:
        assert named(run.graphs[record.graph_hash], record.own["size"]).keys() == expected
    assert len(seen) == 3 * len(expected)


def test_values_are_run_on_what_is_selected_alone_after_the_first_step(
    add: Add, tmp_path: pathlib.Path
) -> None:
    calls = []
    add("size", of="value", select="*relu")(lambda v: calls.append(v) or v.numel())
    run, _, _ = train(make_net(), tmp_path, False, steps=5, values=False)
    at_first = len(calls) - 4
    assert at_first > 4
    assert [len(record.own["size"]) for record in run.forwards] == [1] * 5


def test_nothing_is_run_without_a_watch_or_after_remove(add: Add, tmp_path: pathlib.Path) -> None:
    calls = []
    one = add("size")(lambda v: calls.append(v))
    net = make_net()
    net(torch.ones(2, 4)).sum().backward()
    assert not calls
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, strict=True)
        net(torch.ones(2, 4)).sum().backward()
        assert calls
        one.remove()
        calls.clear()
        net(torch.ones(2, 4)).sum().backward()
    assert not calls


def test_a_dict_has_a_number_for_each_part(add: Add, tmp_path: pathlib.Path) -> None:
    @add("ends", of="weight", unit="mm", worse="lower")
    def ends(w: torch.Tensor) -> dict[Any, Any]:
        return {"least": w.min(), "größte": w.max().item(), 3: None, "count": w.numel()}

    run, kept, _ = train(make_net(), tmp_path, True)
    (record, *_) = run.forwards
    graph = run.graphs[record.graph_hash]
    assert record.own.keys() == {"ends/least", "ends/größte", "ends/count"}
    assert_same(record, graph, "ends/least", torch.min, kept.weights[0])
    assert_same(record, graph, "ends/größte", torch.max, kept.weights[0])
    assert record.own_measures["ends/count"] == OwnMeasure("weight", "mm", "lower")
