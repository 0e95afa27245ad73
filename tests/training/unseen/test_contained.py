"""Our fault at one node of a training costs only that node, and is reported once, by name."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tb_gradgraph.autograd.build import build
from tb_gradgraph.autograd.gradients import replay
from tb_gradgraph.diagnose import findings
from tb_gradgraph.summarize import batch
from tb_gradgraph.training.reading import backward_pass as reading
from tb_gradgraph.training.reading import batches
from tests.autograd.gradients.test_contained import _unless
from tests.compiled import without_compiled_code
from tests.training.loops import Bare, Log, run_both, state_of


def _is_odd(tensor: torch.Tensor) -> bool:
    return tensor.shape == (7, 5)  # the second weight's, and that of its transpose


def _is_bias(tensor: torch.Tensor) -> bool:
    return tensor.shape == (2,)  # the last one's, small enough to be kept whole


def _is_tanh(node: Any, *_: Any) -> bool:
    return type(node).__name__ == "TanhBackward0"


def _loop(run: Bare) -> Any:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2))
    net[1] = nn.Identity()  # one tanh
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    watch = run.watch(net, optimizer=optimizer)
    for step in range(3):
        optimizer.zero_grad(set_to_none=step == 0)
        loss = net(torch.randn(4, 3)).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
        optimizer.step()
    assert watch is None or (watch.failure is None and watch.step == 3)
    return state_of(net, optimizer)


#: Holder, name, when it raises, and the names of the nodes that are not read.
AT_ONE_NODE: dict[str, tuple[Any, str, Callable[..., bool], set[str]]] = {
    "a gradient's elements": (batches, "elements_of", _is_bias, {"4.bias"}),
    "whether it has memory": (batch, "has_memory", _is_odd, {"2.weight"}),
    "a node refuses a hook": (replay, "prehook_of", _is_tanh, {"3/tanh"}),
    "a node does not say its size": (replay, "_most_held", _is_tanh, set()),
    "a node does not say its name": (build, "operation_of", _is_tanh, set()),
}


@pytest.mark.parametrize("place", AT_ONE_NODE)
def test_a_fault_at_one_node(
    place: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_compiled_code(monkeypatch)
    expected = run_both(_loop, tmp_path / "expected", level="op")
    holder, name, is_it, unread = AT_ONE_NODE[place]
    monkeypatch.setattr(holder, name, _unless(is_it, getattr(holder, name)))
    is_told = place != "a node does not say its size"  # that costs nothing
    with pytest.warns() if is_told else _nothing() as warned:
        log = run_both(_loop, tmp_path / "found", level="op")
    assert len(warned) == is_told, [str(one.message) for one in warned]
    assert all("a fault" in str(one.message) for one in warned)
    assert log.places == expected.places
    for own, other in zip(log.records, expected.records, strict=True):
        graph = log.graph(own)
        rows = {row for row in own.unread if other.table.present[row]}
        assert {_named(graph, row) for row in rows} <= unread
        assert set(own.unread.values()) <= {"not read: Fault: a fault"}
        same = [row for row in range(graph.row_count) if row not in own.unread]
        np.testing.assert_allclose(own.table.values[same], other.table.values[same], 1e-6)
        assert not own.table.present[list(rows)].any()
    told = {_named(log.graph(one), row) for one in log.records for row in one.unread}
    assert told >= unread
    if unread:
        _assert_found(log, unread)


def _assert_found(log: Log, unread: set[str]) -> None:
    record = log.record(0, "backward")
    found = findings(log.graph(record), record.table, unread=record.unread)
    (finding,) = (one for one in found if one.kind == "not_read")
    assert set(finding.text.partition(": not read")[0].split(", ")) & unread


def _named(graph: Any, row: int) -> str:
    return next(
        node.name
        for node, first, end in zip(graph.nodes, graph.slot_offsets, graph.slot_offsets[1:])
        if first <= row < end
    )


class _nothing:  # noqa: N801  stands for pytest.warns where none is expected
    def __enter__(self) -> list[Any]:
        return []

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


def test_within_the_hook_too(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read while the backward runs: Python reads it if compiled code does not take it."""
    monkeypatch.setattr(reading, "add_now", _unless(_is_hidden, reading.add_now))

    def loop(run: Bare) -> Any:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).to(torch.float64)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(2):
            optimizer.zero_grad()
            net(torch.randn(4, 3, dtype=torch.float64)).square().sum().backward()
            run.note(step, "applied", net)
            optimizer.step()
        return state_of(net, optimizer)

    with pytest.warns(RuntimeWarning, match="a fault") as warned:
        log = run_both(loop, tmp_path, level="op")
    assert len(warned) == 1
    assert all(one.unread for one in log.records if one.stage == "backward")


def _is_hidden(_batch: Any, _row: int, gradient: torch.Tensor, *_: Any) -> bool:
    return gradient.shape == (4, 5)


def test_a_gradient_without_a_version_ends_nothing(tmp_path: pathlib.Path) -> None:
    """An inference tensor in ``.grad`` does not say how often it was changed."""

    def loop(run: Bare) -> Any:
        torch.manual_seed(0)
        net = nn.Linear(3, 2)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(2):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).square().sum().backward()
            with torch.inference_mode():
                given = net.weight.grad * 0.5
            net.weight.grad = given
            run.note(step, "applied", net)
            with run.stepping(step, net):
                optimizer.step()
        return [parameter.detach() for parameter in net.parameters()]

    run_both(loop, tmp_path)
