"""Values of calls that ``watch`` sees at level "op", against those that ``capture`` reads by another way."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import pytest
import torch

import tb_gradgraph
from tests.autograd.models import CASES, Case
from tests.logged import read_one_run

#: What cannot be copied, or has a loss that is not a tensor.
LEFT_OUT = {"dataclass with a loss", "pruned", "subclass of Tensor", "slots and properties"}


def _run(model: torch.nn.Module, case: Case) -> torch.Tensor:
    torch.manual_seed(1)
    given = copy.deepcopy(case.input)
    output = model(**given) if isinstance(given, dict) else model(given)
    output = output if case.loss_fn is None else case.loss_fn(output)
    leaves = torch.utils._pytree.tree_leaves(output)
    floats = [t for t in leaves if isinstance(t, torch.Tensor) and t.is_floating_point()]
    return torch.stack([t.sum().float() for t in floats if t.requires_grad]).sum()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", sorted(CASES.keys() - LEFT_OUT))
def test_both_ways_give_the_same(name: str, tmp_path: pathlib.Path) -> None:
    case = CASES[name]
    torch.manual_seed(0)
    model = case.make()
    torch.manual_seed(1)
    captured = tb_gradgraph.capture(
        copy.deepcopy(model), copy.deepcopy(case.input), loss_fn=case.loss_fn, values=True
    )
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(model, every_n_steps=1, level="op", values=True, strict=True)
        _run(model, case).backward()
    run = read_one_run(tmp_path)
    (record,) = run.forwards
    graph = run.graphs[record.graph_hash]
    expected = {node.key: row for node, row in zip(captured.nodes, captured.graph.slot_offsets)}
    for node, row in zip(graph.nodes, graph.slot_offsets):
        found = record.table.row(int(row))
        if node.kind != "operation" or found is None or node.key not in expected:
            continue
        other = captured.view(int(expected[node.key])).value_statistics
        assert other is not None
        for statistic in ("numel", "l2_norm", "mean", "min", "max", "nan", "zero_fraction"):
            own: Any = getattr(found, statistic)
            expected_number = getattr(other, statistic)
            is_same = own is expected_number is None
            assert is_same or own == pytest.approx(expected_number, rel=1e-5, abs=1e-6), node.key
