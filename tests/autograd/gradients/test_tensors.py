"""add_grad_graph(loss): the graph of tensors, and the backward passes that the user runs."""

from __future__ import annotations

import gc
import pathlib
import warnings

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.autograd.torch_internals import engine
from tb_gradgraph.record.read.read_logdir import read_logdir


def test_structure_is_written_though_backward_never_runs(tmp_path: pathlib.Path) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    writer = tb_gradgraph.SummaryWriter(str(tmp_path))
    loss = (w * 3).sum()
    graph = writer.add_grad_graph(loss, global_step=7)
    with pytest.warns(UserWarning, match="no backward ran over graph 'loss' of step 7"):
        writer.close()
    (run,) = read_logdir(tmp_path)
    (record,) = run.records
    assert (record.tag, record.step) == ("loss", 7)
    assert not record.table.present.any()
    assert run.graphs[record.graph_hash].row_keys == graph.graph.row_keys
    assert graph["w"].status == "backward has not run yet"
    assert "no backward yet" in str(graph)


def test_backward_replaces_the_bare_structure(tmp_path: pathlib.Path) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        for step in range(3):
            loss = (w * 3).sum()
            writer.add_grad_graph(loss, global_step=step)
            loss.backward()
    (run,) = read_logdir(tmp_path)
    assert [(r.step, r.backward_pass, bool(r.table.present.any())) for r in run.records] == [
        (0, 0, True), (1, 0, True), (2, 0, True),
    ]  # fmt: skip


def test_two_passes_of_one_graph_are_two_records(tmp_path: pathlib.Path) -> None:
    w = torch.tensor(2.0, requires_grad=True)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        loss = w * w
        graph = writer.add_grad_graph(loss)
        loss.backward(retain_graph=True)
        loss.backward()
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            loss.backward()
    assert len(graph.backward_passes) == 2
    (run,) = read_logdir(tmp_path)
    assert [(r.step, r.backward_pass) for r in run.records] == [(0, 0), (0, 1)]
    assert w.grad is not None and float(w.grad) == 8.0
    assert [float(p.gradients[0]) for p in graph.backward_passes] == [4.0, 4.0]


@pytest.mark.parametrize("by_grad", [False, True], ids=["backward", "grad"])
def test_both_ways_of_differentiating_are_recorded(by_grad: bool) -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    h = w * w
    loss = h.sum()
    graph = tb_gradgraph.capture(loss)
    if by_grad:
        torch.autograd.grad(loss, w)
    else:
        loss.backward()
    assert graph["w"].gradient.tolist() == [2.0, 4.0]
    assert graph["h"].gradient.tolist() == [1.0, 1.0]


def test_backward_of_another_graph_that_shares_a_leaf_is_not_ours() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    first, second = w * 3, w * 5
    graph = tb_gradgraph.capture(first)
    second.backward()
    assert not graph.backward_passes
    first.backward()
    assert float(graph["w"].gradient) == 3.0


def test_backward_from_the_middle_records_what_it_reaches() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    h = w * 3
    loss = h * h
    graph = tb_gradgraph.capture(loss)
    h.backward()
    assert float(graph["w"].gradient) == 3.0
    assert graph["loss"].status == "not reached by the backward"


def test_several_roots() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    first, second = (w * w).sum(), w.prod()
    graph = tb_gradgraph.capture([first, second])
    torch.autograd.backward([first, second], [torch.tensor(2.0), torch.tensor(10.0)])
    roots = [node.name for node in graph.nodes if node.kind == "root"]
    assert roots == ["first", "second"]
    assert float(graph["first"].gradient) == 2.0 and float(graph["second"].gradient) == 10.0
    assert graph["w"].gradient.tolist() == [24.0, 18.0]


def test_inputs_without_gradient_are_drawn() -> None:
    given = torch.ones(2, 2)
    w1 = torch.tensor(2.0, requires_grad=True)
    l1 = given * w1
    loss = l1.mean()
    graph = tb_gradgraph.capture(loss)
    found = {(graph.nodes[edge.source].name, graph.nodes[edge.target].name) for edge in graph.edges}
    assert (("given", "mul") in found) == engine.TELLS_PACKED  # from torch 2.9 on
    if not engine.TELLS_PACKED:
        return
    assert graph["given"].status == "needs no gradient"
    assert graph["given"].value.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_parameters_are_named_by_the_modules_in_the_calling_frame() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    loss = net(torch.ones(1, 2)).sum()
    graph = tb_gradgraph.capture(loss)
    names = {node.name for node in graph.nodes if node.kind == "parameter"}
    assert names == {"net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias"}


def test_our_failure_warns_once_and_leaves_backward_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tb_gradgraph.api.recorder import _PassSink

    def broken(*_arguments: object) -> None:
        raise ValueError("of our own")

    monkeypatch.setattr(_PassSink, "add", broken)
    w = torch.tensor(2.0, requires_grad=True)
    loss = w * w
    graph = tb_gradgraph.capture(loss)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss.backward(retain_graph=True)
        loss.backward()
    assert [str(w.message) for w in caught if "of our own" in str(w.message)] != []
    assert len(caught) == 1
    assert float(w.grad) == 8.0
    assert len(graph.backward_passes) == 2, "what was not read of them is said"
    assert not any(found.table.present.any() for found in graph.backward_passes)
    assert "of our own" in graph["w"].status


def test_a_thousand_captures_leave_no_tensors() -> None:
    def count() -> int:
        gc.collect()
        return sum(issubclass(type(found), torch.Tensor) for found in gc.get_objects())

    w = torch.tensor(2.0, requires_grad=True)
    loss = w * w
    tb_gradgraph.capture(loss)
    loss.backward()
    before = count()
    for _ in range(1000):
        loss = w * w
        tb_gradgraph.capture(loss)
        loss.backward()
    assert count() <= before
