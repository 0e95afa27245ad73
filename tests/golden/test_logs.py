"""Log directories that earlier states of the package wrote: each is read, summed up, exported and served.

``logs/dev1`` to ``dev5`` are what ``write_log.py`` wrote with torch 2.13 and the package as it was
- dev1: when a graph could first be shown;
- dev2: before rows without a gradient were left out of the stored form;
- dev3: when trainings could first be watched;
- dev4: when the panel could compare, draw charts and follow a run;
- dev5: before torch 2.15 was supported.
A released version adds its own: ``python write_log.py logs/VERSION`` in an environment that has it.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import pathlib

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.data_provider import MultiplexerDataProvider
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins import base_plugin
from torch import nn
from werkzeug.test import Client

from tb_gradgraph.commands import main as cli
from tb_gradgraph.serve.loader import GradGraphLoader
from tests.golden.write_log import MOST_NORM, STEPS, make_input, make_net
from tests.logged import read_one_run, read_record, read_tensor
from tests.serve.conftest import Reply

LOGS = pathlib.Path(__file__).parent / "logs"
VERSIONS = sorted(path.name for path in LOGS.iterdir())
TRAININGS = [version for version in VERSIONS if (LOGS / version / "training").is_dir()]
Gradients = dict[str, torch.Tensor]


def gradients_at(step: int) -> Gradients:
    """Compute what ``write_graphs`` logged at a step."""
    net = make_net()
    net(make_input() * (step + 1)).sum().backward()
    return {name: parameter.grad for name, parameter in net.named_parameters()}


@functools.cache
def trained() -> dict[tuple[int, str], Gradients]:
    """Train as ``train`` does, without the package: gradients by step and stage."""
    net, seen = make_net(), {}
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        net(make_input()).square().mean().backward()
        for stage in ("backward", "applied"):
            if stage == "applied":
                nn.utils.clip_grad_norm_(net.parameters(), MOST_NORM)
            named = net.named_parameters()
            seen[step, stage] = {name: parameter.grad.clone() for name, parameter in named}
        optimizer.step()
    return seen


def assert_gradients(found: dict[str, float], expected: Gradients) -> None:
    """Compare norms by name."""
    norms = {name: gradient.norm().item() for name, gradient in expected.items()}
    assert {name: found[name] for name in norms} == pytest.approx(norms, rel=1e-5)


def test_there_are_logs_of_graphs_and_of_trainings():
    assert len(VERSIONS) >= 5 and len(TRAININGS) >= 3


@pytest.mark.parametrize("version", VERSIONS)
def test_graphs_are_read(version: str):
    run = read_one_run(LOGS / version / "graphs")
    for step in (0, 7):
        record = read_record(run, tag="Sequential", step=step)
        tensors = {name: read_tensor(run, record, name) for name in gradients_at(step)}
        assert_gradients(
            {name: tensor.statistics.l2_norm for name, tensor in tensors.items()},
            gradients_at(step),
        )
        for name, gradient in gradients_at(step).items():
            np.testing.assert_allclose(tensors[name].gradient, gradient.numpy(), rtol=1e-5)
            parameter = dict(make_net().named_parameters())[name]
            np.testing.assert_allclose(tensors[name].value, parameter.detach().numpy())
    record = read_record(run, tag="tensors")
    assert [read_tensor(run, record, name).gradient for name in ("y1", "y2", "x")] == [-4, 4, 4]


@pytest.mark.parametrize("version", TRAININGS)
def test_trainings_are_read(version: str):
    run = read_one_run(LOGS / version / "training")
    for (step, stage), expected in trained().items():
        record = read_record(run, step=step, stage=stage)
        norms = {
            name: read_tensor(run, record, name).statistics.l2_norm
            for name in expected
        }  # fmt: skip
        assert_gradients(norms, expected)


@pytest.mark.parametrize("version", VERSIONS)
def test_summary_and_exports_take_it(version: str, capfdbinary, tmp_path: pathlib.Path):
    logdir = str(LOGS / version)
    assert cli.main(["summary", logdir]) == 0
    for run in (path.name for path in (LOGS / version).iterdir()):
        page = tmp_path / f"{run}.html"
        assert cli.main(["export", "--html", logdir, "--run", run, str(page)]) == 0
        assert page.read_bytes().startswith(b"<!doctype html>")
    target = tmp_path / "out.json"
    arguments = ["export", logdir, "--run", "graphs", "--tag", "tensors", "--output", str(target)]
    assert cli.main(arguments) == 0
    assert json.loads(target.read_text())["tag"] == "tensors"
    arguments = ["export", logdir, "--run", "graphs", "--tag", "tensors", "--format", "csv"]
    capfdbinary.readouterr()
    assert cli.main(arguments) == 0
    rows = csv.DictReader(io.StringIO(capfdbinary.readouterr().out.decode()))
    assert float({row["key"]: row for row in rows}["leaf:x:0"]["l2_norm"]) == 4


@pytest.mark.parametrize("version", VERSIONS)
def test_routes_serve_it(version: str):
    ask = answering(LOGS / version)
    runs = {run["run"]: run for run in ask("/runs").json()["runs"]}
    assert runs.keys() == {path.name for path in (LOGS / version).iterdir()}
    for name, run in runs.items():
        assert not run.get("warnings")
        for tag in run["tags"]:
            asked = {"run": name, "tag": tag["tag"], "step": tag["steps"][-1]}
            assert ask("/findings", **asked).status == 200
            header, arrays = ask("/step", **asked).frame()
            assert header and arrays
            graph = ask("/graph", run=name, hash=tag["hashes"][-1])
            assert graph.status == 200


def answering(logdir: pathlib.Path):
    """Load the plugin on a log directory; give what asks it."""
    multiplexer = EventMultiplexer()
    multiplexer.AddRunsFromDirectory(str(logdir))
    multiplexer.Reload()
    provider = MultiplexerDataProvider(multiplexer, str(logdir))
    loaded = GradGraphLoader().load(base_plugin.TBContext(data_provider=provider))
    clients = {path: Client(app) for path, app in loaded.get_plugin_apps().items()}

    def ask(path: str, **query: object) -> Reply:
        answer = clients[path].get(path, query_string={k: str(v) for k, v in query.items()})
        return Reply(answer.status_code, dict(answer.headers), answer.data)

    return ask
