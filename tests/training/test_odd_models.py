"""Every gradient of every odd model at the third step of a training, where rows share statistics."""

from __future__ import annotations

import copy
import pathlib
import warnings
from typing import Any

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.graph import Graph, Record
from tests.autograd.expected import OTHERWISE, inputs_of, made, named_parameters, roots_of
from tests.autograd.models import CASES, Case
from tests.logged import read_one_run
from tests.oracle import slot_gradients
from tests.training.loops import assert_bit_equal, assert_statistics

STEPS = 3
#: Models that cannot be asked by autograd.grad first: their graph can be run over once, or is made anew.
ONLY_PARAMETERS = OTHERWISE | {"selective checkpoint", "views of views"}


def _train(case: Case, writer: Any = None) -> dict[str, Any]:
    """Train for three steps; give gradients of the third, and what is left."""
    model = made(case)
    optimizer = Descent(model.parameters(), {})
    if writer is not None:
        writer.watch(model, optimizer=optimizer, every_n_steps=1, level="op")
    found: dict[str, Any] = {}
    for step in range(STEPS):
        torch.manual_seed(step)
        args, kwargs = inputs_of(case)
        output = model(*args, **kwargs)
        roots = roots_of(output if case.loss_fn is None else case.loss_fn(output))
        seeds = [torch.ones_like(root) for root in roots]
        if writer is None and step == STEPS - 1 and case not in _EXCEPTIONS:
            found["slots"] = slot_gradients(roots, seeds)
        torch.autograd.backward(roots, seeds)
        found["gradients"] = {
            name: copy.deepcopy(parameter.grad)
            for name, parameter in named_parameters(model).items()
        }
        optimizer.step()
        optimizer.zero_grad()
    found["left"] = dict(model.state_dict()), torch.get_rng_state()
    return found


class Descent(torch.optim.Optimizer):
    """Descends with any kind of gradient, and with none."""

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=0.01)


_EXCEPTIONS = [CASES[name] for name in ONLY_PARAMETERS]


@pytest.mark.parametrize("name", CASES)
def test_the_third_step(name: str, tmp_path: pathlib.Path) -> None:
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The .grad attribute of a Tensor that is not a leaf")
        expected = _train(case)
        with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
            found = _train(case, writer)
    assert_bit_equal(found["left"], expected["left"])
    run = read_one_run(tmp_path)
    assert [(r.step, r.backward_pass) for r in run.records if r.stage == "backward"] == [
        (step, 0) for step in range(STEPS)
    ]
    last = {record.stage: record for record in run.records}
    graph = run.graphs[last["applied"].graph_hash]
    _compare_parameters(graph, last["applied"], expected["gradients"])
    if "slots" in expected:
        _compare_slots(graph, last["backward"], expected["slots"])


def _compare_parameters(
    graph: Graph, record: Record, gradients: dict[str, torch.Tensor | None]
) -> None:
    rows = {
        node.name: int(graph.slot_offsets[index])
        for index, node in enumerate(graph.nodes)
        if node.kind == "parameter"
    }
    for name, gradient in gradients.items():
        if gradient is not None:
            _compare(record, rows[name], gradient, name)
        elif name in rows:
            assert not record.table.present[rows[name]], name


def _compare_slots(graph: Graph, record: Record, slots: list[list[torch.Tensor | None]]) -> None:
    operations = [
        index
        for index, node in enumerate(graph.nodes)
        if node.kind == "operation" and node.requires_grad
    ]
    assert len(operations) == len(slots)
    for index, gradients in zip(operations, slots):
        for nr, gradient in enumerate(gradients):
            row = int(graph.slot_offsets[index]) + nr
            if gradient is not None:
                _compare(record, row, gradient, graph.nodes[index].key)
            else:
                assert not record.table.present[row], graph.nodes[index].key


def _compare(record: Record, row: int, gradient: torch.Tensor, where: str) -> None:
    found = record.table.row(row)
    assert found is not None, where
    elements = gradient.values() if gradient.is_nested else gradient
    assert_statistics(found, elements, where)
