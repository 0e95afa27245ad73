"""Case 41: a step that TensorBoard has no room for is refused at the call, and no other record is lost."""

from __future__ import annotations

import pathlib

import pytest
import torch

from tb_gradgraph import SummaryWriter
from tb_gradgraph.errors import CaptureError
from tests.logged import read_one_run

TOO_LARGE = (2**63, -(2**63) - 1, 2**200)


def test_add_grad_graph_refuses_it_and_keeps_all_others(tmp_path: pathlib.Path) -> None:
    model = torch.nn.Linear(2, 1)
    steps = [0, 1, -(2**63), -1, 2**63 - 1, 2**53 + 1]
    with SummaryWriter(str(tmp_path)) as writer:
        for step in steps:
            writer.add_grad_graph(model, torch.ones(1, 2), step)
            for bad in TOO_LARGE:
                with pytest.raises(CaptureError, match=f"to fit in 64 bits, got {bad}"):
                    writer.add_grad_graph(model, torch.ones(1, 2), bad)
    assert [record.step for record in read_one_run(tmp_path).records] == sorted(steps)


def test_a_step_after_the_last_one_costs_itself_alone(tmp_path: pathlib.Path) -> None:
    with pytest.warns(RuntimeWarning, match="'a', step 9223372036854775808"):
        _write_past_the_last_step(tmp_path)
    assert [record.step for record in read_one_run(tmp_path).records] == [2**63 - 1, 0]


def _write_past_the_last_step(logdir: pathlib.Path) -> None:
    model = torch.nn.Linear(2, 1)
    with SummaryWriter(str(logdir)) as writer:
        writer.add_grad_graph(model, torch.ones(1, 2), 2**63 - 1, tag="a")
        writer.add_grad_graph(model, torch.ones(1, 2), tag="a")
        writer.add_grad_graph(model, torch.ones(1, 2), tag="b")


def test_watch_refuses_it_and_goes_on(tmp_path: pathlib.Path) -> None:
    model = torch.nn.Linear(2, 1)
    with SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(model, every_n_steps=1, level="param")
        for step in (3, 4):
            for bad in (*TOO_LARGE, -1, True, 1.0):
                with pytest.raises(CaptureError, match=r"from 0 to 2\*\*63-1, got"):
                    watch.step = bad
            watch.step = step
            model(torch.ones(1, 2)).sum().backward()
    assert {record.step for record in read_one_run(tmp_path).records} == {3, 4}
