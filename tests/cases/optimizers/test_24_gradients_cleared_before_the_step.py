"""Case 24: zero_grad() between backward and step, of all or of some: said, and no clipping."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import torch

from tb_gradgraph.graph import CLEARED
from tb_gradgraph.record.read.event_file_provider import EventFiles
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes.findings_route import answer_findings
from tb_gradgraph.serve.runs.reader import Reader
from tests.training.loops import Bare, run_both, training

CLEARED_AT = 1


def _loop(set_to_none: bool, passes: int = 1, some: bool = False, clips: bool = False) -> Any:
    def step_of(run: Bare, step: int, net: Any, optimizer: torch.optim.Optimizer) -> None:
        for _ in range(passes):
            net(torch.randn(4, 3)).square().mean().backward()
        if clips:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
        if step == CLEARED_AT:
            (net[0] if some else optimizer).zero_grad(set_to_none)
        run.note(step, "applied", net, passes - 1)

    return training(3, step_of, weighs=True)


def _findings(logdir: pathlib.Path, step: int) -> dict[str, str]:
    """Return what is said at the step's last record, by kind."""
    reader = Reader(EventFiles(str(logdir)))
    ((name, view),) = reader.runs().items()
    ((tag, entries),) = view.records.items()
    last = [entry for entry in entries if entry.step == step][-1]
    query = {"run": name, "tag": tag, "step": str(step), "stage": last.stage}
    answer = answer_findings(
        reader, Parameters({**query, "backward_pass": str(last.backward_pass)})
    )
    return {found["kind"]: found["text"] for found in json.loads(answer.content)["findings"]}


@pytest.mark.parametrize("passes", [1, 3])
def test_cleared_to_none_is_no_clipping(passes: int, tmp_path: pathlib.Path) -> None:
    log = run_both(_loop(True, passes), tmp_path)
    assert "clipped" not in {record.stage for record in log.records}
    assert not log.record(CLEARED_AT, "applied").table.present.any()
    told = {(r.step, r.objective.endswith(CLEARED)) for r in log.records if r.stage == "backward"}
    assert told == {(0, False), (1, True), (2, False)}
    found = _findings(tmp_path, CLEARED_AT)
    assert "cleared before the optimizer stepped" in found["cleared"]
    assert "gave 4 parameters" in found["cleared"].replace("had given", "gave")
    for step in (0, 2):
        assert "cleared" not in _findings(tmp_path, step)


def test_cleared_to_zero(tmp_path: pathlib.Path) -> None:
    run_both(_loop(False), tmp_path)
    found = _findings(tmp_path, CLEARED_AT)
    assert "all of it was set to zero" in found["cleared"]
    assert "clipped" not in found and "no_update" not in found


def test_some_cleared(tmp_path: pathlib.Path) -> None:
    """The norm of the rest is what it was: nothing was clipped, and those that are gone are named."""
    log = run_both(_loop(True, some=True), tmp_path)
    assert "clipped" not in {record.stage for record in log.records}
    assert "cleared" not in _findings(tmp_path, CLEARED_AT)


def test_clipped_and_then_some_cleared(tmp_path: pathlib.Path) -> None:
    """What was clipped is recorded as that, of what is left."""
    log = run_both(_loop(True, some=True, clips=True), tmp_path)
    clipped = log.record(CLEARED_AT, "clipped").table
    assert clipped.present.sum() == 2
    assert log.record(0, "clipped").table.present.sum() == 4
