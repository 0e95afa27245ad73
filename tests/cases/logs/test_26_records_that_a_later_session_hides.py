"""Case 26: a restarted script that does not set watch.step: what it hides is reported, and can be shown."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest
import torch

import tb_gradgraph
from tb_gradgraph.commands import doctor
from tb_gradgraph.commands import main as cli
from tb_gradgraph.commands.export import export
from tb_gradgraph.commands.html_export import export_html
from tb_gradgraph.record.read.event_file_provider import EventFiles
from tb_gradgraph.record.read.read_logdir import read_logdir
from tb_gradgraph.serve.request.find import find_entry
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes.runs_route import answer_runs
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import STATISTICS

#: First step and steps of each session, and what of which is hidden: (session, by, from step, steps).
SESSIONS = {
    "repeated": ([(0, 6), (0, 2)], [(1, 2, 0, [0, 1, 2, 3, 4, 5])]),
    "resumed": ([(0, 6), (4, 4)], [(1, 2, 4, [4, 5])]),
    "resumed where it ended": ([(0, 3), (3, 3)], []),
    "thrice": ([(0, 4), (2, 4), (1, 2)], [(1, 3, 1, [1, 2, 3]), (2, 3, 1, [2, 3, 4, 5])]),
}


def _train(logdir: pathlib.Path, sessions: list[tuple[int, int]]) -> list[list[float]]:
    """Return the norm of the weight's gradient at each step of each session, by plain torch."""
    net = torch.nn.Linear(3, 1)
    norms = []
    for first, count in sessions:
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        norms.append([])
        with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
            watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
            watch.step = first
            for _ in range(count):
                optimizer.zero_grad()
                net(torch.randn(4, 3)).sum().backward()
                norms[-1].append(net.weight.grad.norm().item())
                optimizer.step()
    return norms


@pytest.mark.parametrize(("sessions", "hidden"), SESSIONS.values(), ids=SESSIONS.keys())
def test_what_is_hidden_is_counted(sessions, hidden, tmp_path, monkeypatch, capsys):
    _train(tmp_path, sessions)
    (run,) = read_logdir(tmp_path)
    found = [(some.number, some.by, some.from_step, list(some.steps)) for some in run.hidden]
    assert found == hidden
    assert [some.records for some in run.hidden] == [2 * len(steps) for *_, steps in hidden]
    view = Reader(EventFiles(str(tmp_path))).runs()["."]
    assert view.hidden == run.hidden
    monkeypatch.setattr(doctor, "CHECKS", ())
    for command in ("doctor", "summary"):
        assert cli.main([command, str(tmp_path)]) == 0
        printed = capsys.readouterr().out
        assert printed.count("are hidden: session") == len(hidden)
        assert ("watch.step = n" in printed) == bool(hidden)


def test_they_can_be_shown(tmp_path, capsys):
    norms = _train(tmp_path, [(0, 6), (0, 2)])
    reader = Reader(EventFiles(str(tmp_path)))
    (plain,) = json.loads(answer_runs(reader, Parameters({})).content)["runs"]
    (told,) = plain["hidden"]
    assert (told["records"], told["steps"], told["from_step"]) == (12, [*range(6)], 0)
    assert plain["tags"][0]["steps"] == [0, 0, 1, 1]
    every = json.loads(answer_runs(reader, Parameters({"sessions": "all"})).content)["runs"]
    shown = {run["run"]: run["tags"][0]["steps"] for run in every}
    assert shown == {".": [0, 0, 1, 1], told["run"]: sorted([*range(6)] * 2)}
    for step in range(6):
        query = {"run": told["run"], "tag": "Linear", "step": str(step), "stage": "applied"}
        run, entry = find_entry(reader, Parameters(query))
        norm = reader.statistic(run, entry, "l2_norm")
        graph = reader.graph(run, entry.graph_hash)
        at = [node.name for node in graph.nodes].index("weight")
        np.testing.assert_allclose(norm[graph.slot_offsets[at]], norms[0][step], rtol=1e-6)
    assert cli.main(["summary", str(tmp_path), "--all-sessions"]) == 0
    assert ". (session 1)" in capsys.readouterr().out


def test_they_can_be_exported(tmp_path):
    norms = _train(tmp_path, [(0, 3), (0, 2)])
    text = b"".join(export(tmp_path, "csv", ". (session 1)", stage="applied")).decode()
    rows = [line.split(",") for line in text.splitlines()]
    column, label = rows[0].index("l2_norm"), rows[0].index("key")
    found = [float(row[column]) for row in rows[1:] if row[label] == "parameter:weight:0"]
    np.testing.assert_allclose(found, norms[0], rtol=1e-6)
    assert STATISTICS[-1] in rows[0]
    assert b"<html" in export_html(tmp_path, ". (session 1)")[:2000].lower()
    assert b"<html" in export_html(tmp_path)[:2000].lower()
