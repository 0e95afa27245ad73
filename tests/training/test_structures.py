"""Graphs that are met again, and others: shared rows never lie, whatever changes from step to step."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.modules import module as torch_module

import tb_gradgraph
from tb_gradgraph.training.reading import structures
from tests.training.loops import Bare, Log, run_both, small_net, state_of


def test_a_user_that_changes_a_gradient_between_reshapes(tmp_path: pathlib.Path) -> None:
    """At first the hook changes nothing, and later it does: no row lies about it."""

    def loop(run: Bare) -> Any:
        net = nn.Linear(6, 6)
        optimizer = torch.optim.SGD(net.parameters(), 0.0)
        run.watch(net, optimizer=optimizer, level="op")
        for step in range(4):
            optimizer.zero_grad()
            factor = 3.0 if step >= 2 else 1.0
            y = net(torch.ones(4, 6) * 2)
            reshaped = y.view(2, 2, 6)
            reshaped.register_hook(lambda g, factor=factor: g * factor)
            turned = reshaped.transpose(0, 1)
            added = turned + torch.ones(2, 2, 6)
            loss = added.square().sum()
            for name, tensor in (("y", y), ("reshaped", reshaped), ("turned", turned)):
                tensor.retain_grad()
                kept[name] = tensor
            loss.backward()
            names = {"y": "addmm", "reshaped": "view", "turned": "transpose"}
            run.give(step, "backward", {names[n]: t.grad for n, t in kept.items()})
            run.note(step, "backward", net)
            optimizer.step()
        return state_of(net, optimizer)

    kept: dict[str, torch.Tensor] = {}
    log = run_both(loop, tmp_path)
    assert len(log.records) == 8


def test_shapes_that_change_from_step_to_step(tmp_path: pathlib.Path) -> None:
    """At a batch of one an addition and an expansion change no shape; later they do."""

    def loop(run: Bare) -> Any:
        net = nn.Linear(6, 20)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer, level="op")
        for step, batch in enumerate((1, 1, 5, 1, 3)):
            optimizer.zero_grad()
            token = net(torch.ones(1, 6) * 3).tanh()
            wide = token.expand(batch, 20)
            shifted = wide.sin() + token
            loss = (shifted * torch.randn(batch, 20)).sum()
            token.retain_grad()
            wide.retain_grad()
            shifted.retain_grad()
            loss.backward()
            found = {"tanh": token.grad, "expand": wide.grad, "add": shifted.grad}
            run.give(step, "backward", found)
            run.note(step, "backward", net)
            optimizer.step()
        return state_of(net, optimizer)

    run_both(loop, tmp_path)


def test_structure_that_changes_joins_by_key(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer, level="op")
        for step in range(6):
            optimizer.zero_grad()
            y = net(torch.randn(4, 3))
            (y.square().mean() if step % 2 else y.sin().sum()).backward()
            run.note(step, "backward", net)
            run.note(step, "applied", net)
            optimizer.step()
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path)
    assert len({record.graph_hash for record in log.records}) == 2
    keys = [set(graph.row_keys) for graph in log.run.graphs.values()]
    assert {"parameter:0.weight:0", "0#0/AddmmBackward0.0:0"} <= keys[0] & keys[1]


def test_modules_of_a_settled_graph_are_not_followed_until_it_changes(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structures, "MANY_CALLS", 3)
    followed = []

    def loop(run: Bare) -> Any:
        net = small_net()
        run.watch(net, level="op")
        for step in range(9):
            net.zero_grad()
            y = net(torch.randn(4, 3))
            followed.append(bool(torch_module._global_forward_hooks))
            (y.sin().sum() if step in (6, 7) else y.square().mean()).backward()
            run.note(step, "backward", net)
        return state_of(net)

    log = run_both(loop, tmp_path)
    bare, watched = followed[:9], followed[9:]
    assert not any(bare)
    # Built at step 0, known at 1 to 4; the one of step 6 is new, and built with its modules at 7.
    assert watched == [True] * 5 + [False, False, True, True]
    graphs = [log.run.graphs[record.graph_hash] for record in log.records]
    of_step = {record.step: graph for record, graph in zip(log.records, graphs)}
    assert [scope.path for scope in of_step[5].scopes] == [
        scope.path for scope in of_step[7].scopes
    ]
    assert "0" in [scope.path for scope in of_step[7].scopes]
    assert not [scope.path for scope in of_step[6].scopes if scope.path]
    assert of_step[8].hash == of_step[0].hash


def test_few_module_calls_are_always_followed(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        run.watch(net, level="op")
        for step in range(12):
            net.zero_grad()
            y = net(torch.randn(4, 3))
            (y.sin().sum() if step == 10 else y.square().mean()).backward()
            run.note(step, "backward", net)
        return state_of(net)

    log = run_both(loop, tmp_path)
    for record in log.records:
        scopes = log.run.graphs[record.graph_hash].scopes
        assert {"", "0", "1", "2"} == {scope.path for scope in scopes}


def test_a_model_that_is_another_at_every_step(tmp_path: pathlib.Path) -> None:
    """Past a hundred graphs parameters alone are recorded."""
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level="op")
        for step in range(130):
            y = net(torch.ones(2, 3))
            for _ in range(step):
                y = y + 0.01
            optimizer.zero_grad()
            y.square().mean().backward()
            optimizer.step()
        assert watch.failure is None
    log = Log(tmp_path)
    assert len(log.run.graphs) == 100
    assert len(log.records) == 260
    found = log.tensor(129, "applied", "0.weight").statistics
    assert found is not None and found.numel == 24


def test_graphs_of_equal_operations_that_are_wired_otherwise(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = nn.Linear(6, 6)
        run.watch(net, level="op")
        for step in range(4):
            net.zero_grad()
            y = net(torch.ones(4, 6))
            first = y.sin()
            second = first.cos() if step % 2 else y.cos()
            y.retain_grad()
            first.retain_grad()
            (second * first).sum().backward()
            run.give(step, "backward", {"addmm": y.grad, "sin": first.grad})
            run.note(step, "backward", net)
        return state_of(net)

    log = run_both(loop, tmp_path)
    assert len(log.run.graphs) == 2
