"""Values that ``watch`` records, against copies that plain hooks of the user make."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.read.read_logdir import LoggedRun
from tests.logged import read_one_run
from tests.oracle import statistics_of
from tests.training.values.nets import NETS, noted_outputs


def _train(
    net: nn.Module, inputs: list[torch.Tensor], logdir: pathlib.Path, **options: Any
) -> tuple[LoggedRun, list[dict[Any, torch.Tensor]], list[dict[str, torch.Tensor]]]:
    """Train; return what was recorded, and at each step outputs and weights by plain torch."""
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trained, 0.01)
    outputs, weights = [], []
    with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, values=True, strict=True, **options)
        for x in inputs:
            with noted_outputs(net) as found:
                loss = net(x).float().square().sum()
            outputs.append(found)
            weights.append({n: p.detach().clone() for n, p in net.named_parameters()})
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return read_one_run(logdir), outputs, weights


def _assert_same(record: Record, row: int, tensor: torch.Tensor, rel: float = 1e-5) -> None:
    found, expected = record.table.row(row), statistics_of(tensor)
    assert found is not None
    for name, number in expected.items():
        own = getattr(found, name)
        assert own is number is None or own == pytest.approx(number, rel=rel, abs=1e-7), name


def _row_of_call(graph: Graph, path: str, call: int) -> int | None:
    """Return the row of the last operation of a module call; None if it made no node."""
    rows = [
        int(graph.slot_offsets[index])
        for index, node in enumerate(graph.nodes)
        if node.kind == "operation" and node.scope >= 0 and node.requires_grad
        if (graph.scopes[node.scope].path, graph.scopes[node.scope].call) == (path, call)
    ]
    return rows[-1] if rows else None


@pytest.mark.filterwarnings("ignore:.*Initializing zero-element:UserWarning")
@pytest.mark.parametrize("level", ["module", "op"])
@pytest.mark.parametrize("name", NETS)
def test_weights_and_outputs(name: str, level: str, tmp_path: pathlib.Path) -> None:
    torch.manual_seed(0)
    make, make_input = NETS[name]
    run, outputs, weights = _train(make(), [make_input() for _ in range(3)], tmp_path, level=level)
    assert [record.step for record in run.forwards] == [0, 1, 2]
    for record, of_calls, of_names in zip(run.forwards, outputs, weights):
        graph = run.graphs[record.graph_hash]
        names = {node.name: int(row) for node, row in zip(graph.nodes, graph.slot_offsets)}
        for parameter, value in of_names.items():
            if parameter in names:
                _assert_same(record, names[parameter], value)
        compared = 0
        for (path, call), value in of_calls.items():
            row = _row_of_call(graph, path, call)
            if row is not None and value.numel() and list(value.shape) == list(_shape(graph, row)):
                _assert_same(record, row, value)
                compared += 1
        assert compared or name == "empty"


def _shape(graph: Graph, row: int) -> tuple[int, ...]:
    return [slot for node in graph.nodes for slot in node.slots][row].shape


def test_only_weights_at_level_param(tmp_path: pathlib.Path) -> None:
    make, make_input = NETS["in place"]
    run, _, weights = _train(make(), [make_input()], tmp_path, level="param")
    (record,) = run.forwards
    graph = run.graphs[record.graph_hash]
    has = {
        node.name
        for node, row in zip(graph.nodes, graph.slot_offsets)
        if record.table.present[row] and node.kind != "root"
    }
    assert has == weights[0].keys()


def test_the_input_is_read_at_every_step(tmp_path: pathlib.Path) -> None:
    make, make_input = NETS["in place"]
    inputs = [make_input() for _ in range(3)]
    run, _, _ = _train(make(), inputs, tmp_path, level="module")
    for record, x in zip(run.forwards, inputs):
        graph = run.graphs[record.graph_hash]
        (row,) = (
            int(row) for node, row in zip(graph.nodes, graph.slot_offsets) if node.name == "x"
        )
        _assert_same(record, row, x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision(dtype: torch.dtype, tmp_path: pathlib.Path) -> None:
    net = nn.Sequential(nn.Linear(4, 30), nn.ReLU(), nn.Linear(30, 3)).to(dtype)
    run, outputs, _ = _train(net, [torch.randn(9, 4, dtype=dtype)], tmp_path, level="module")
    (record,) = run.forwards
    for (path, call), value in outputs[0].items():
        row = _row_of_call(run.graphs[record.graph_hash], path, call)
        assert row is not None
        _assert_same(record, row, value)


def test_autocast(tmp_path: pathlib.Path) -> None:
    class Net(nn.Sequential):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                return super().forward(x)

    net = Net(nn.Linear(4, 30), nn.ReLU(), nn.Linear(30, 3))
    run, outputs, _ = _train(net, [torch.randn(9, 4)], tmp_path, level="module")
    (record,) = run.forwards
    row = _row_of_call(run.graphs[record.graph_hash], "1", 0)
    assert row is not None and outputs[0]["1", 0].dtype == torch.bfloat16
    _assert_same(record, row, outputs[0]["1", 0])


def test_each_micro_batch_has_its_own(tmp_path: pathlib.Path) -> None:
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    batches = [torch.full((4, 3), float(scale)) for scale in (1, 10, 100)]
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1, values=True)
        expected = [net(x).detach() for x in batches]
        for x in batches:
            net(x).sum().backward()
        optimizer.step()
    run = read_one_run(tmp_path)
    assert [record.backward_pass for record in run.forwards] == [0, 1, 2]
    for record, output in zip(run.forwards, expected):
        row = _row_of_call(run.graphs[record.graph_hash], "", 0)
        assert row is not None
        _assert_same(record, row, output)


def test_values_can_be_left_out(tmp_path: pathlib.Path) -> None:
    net = nn.Linear(3, 2)
    for level, values in (("module", False), ("op", None)):
        with tb_gradgraph.SummaryWriter(str(tmp_path / level)) as writer:
            writer.watch(net, every_n_steps=1, level=level, values=values)
            net(torch.ones(1, 3)).sum().backward()
        assert read_one_run(tmp_path / level).forwards == ()


def test_a_node_inside_a_call_names_it(tmp_path: pathlib.Path) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return nn.functional.cross_entropy(self.lin(x), torch.zeros(len(x), dtype=torch.long))

    net = Net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, level="op", values=True)
        net(torch.randn(5, 3)).backward()
    run = read_one_run(tmp_path)
    (record,) = run.forwards
    graph = run.graphs[record.graph_hash]
    assert {node.operation: node.inside for node in graph.nodes if node.inside} == {
        **dict.fromkeys(("TBackward0", "AddmmBackward0"), "linear"),
        **dict.fromkeys(("LogSoftmaxBackward0", "NllLossBackward0"), "cross_entropy"),
    }
    has = {
        node.operation: bool(record.table.present[row])
        for node, row in zip(graph.nodes, graph.slot_offsets)
    }
    assert has["NllLossBackward0"] and not has["LogSoftmaxBackward0"]


@pytest.mark.parametrize("given", [1, "op", []])
def test_another_kind_of_values_is_refused(given: Any, tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(tb_gradgraph.CaptureError, match="values to be True or False"):
            writer.watch(nn.Linear(1, 1), values=given)
