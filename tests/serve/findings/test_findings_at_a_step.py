"""The findings of a step include those of the whole training that are true at it, each once."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.health import findings
from tb_gradgraph.record import EventFiles, read_logdir
from tb_gradgraph.serve.plugin import _ROUTES
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.runs.reader import Reader

STEPS, SPIKES = 60, (20, 52)


def ask(logdir: pathlib.Path, route: str, **query: object) -> dict[str, Any]:
    reader = Reader(EventFiles(logdir))
    (run,) = reader.runs().values()
    (tag,) = run.records
    given = {"run": run.name, "tag": tag, **{name: str(value) for name, value in query.items()}}
    return json.loads(_ROUTES[f"/{route}"](reader, Parameters(given)).content)


def at(logdir: pathlib.Path, step: int, **query: object) -> dict[str, dict[str, Any]]:
    found = ask(logdir, "findings", step=step, **query)["findings"]
    kinds = [(one["kind"], one["node"]) for one in found]
    assert len(kinds) == len(set(kinds)), "each once"
    return {one["kind"]: one for one in found}


@pytest.fixture(scope="module")
def spiked(tmp_path_factory) -> pathlib.Path:
    """Train with a gradient that is 1,500 times as large at two steps, and a layer in a list."""
    directory = tmp_path_factory.mktemp("spiked")
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4))
    net.further = [nn.Linear(4, 4)]
    optimizer = torch.optim.SGD(net.parameters(), 1e-5)
    with tb_gradgraph.SummaryWriter(directory) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for step in range(STEPS):
            x = torch.randn(16, 16)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), x[:, :4].argmax(-1))
            factor = 1500 if step in SPIKES else 1
            hook = net[2].weight.register_hook(lambda grad, factor=factor: grad * factor)
            loss.backward()
            hook.remove()
            optimizer.step()
    return directory


def test_a_spike_is_told_at_its_steps_alone(spiked: pathlib.Path) -> None:
    (told,) = (one for one in findings(spiked) if one.kind == "gradient_spike")
    assert told.spans == tuple((step, step) for step in SPIKES)
    assert [step for step in range(STEPS) if told.holds_at(step)] == list(SPIKES)
    for step in (0, 19, 21, 40, 59):
        assert "gradient_spike" not in at(spiked, step)
    for step in SPIKES:
        for stage in ("backward", "applied"):
            found = at(spiked, step, stage=stage)["gradient_spike"]
            assert (found["severity"], found["text"]) == (told.severity, told.text)


def test_what_is_true_of_the_whole_training_is_told_at_every_step(spiked: pathlib.Path) -> None:
    (told,) = (one for one in findings(spiked) if one.kind == "unregistered")
    assert told.spans == ((0, STEPS - 1),)
    for step in (0, 33, STEPS - 1):
        assert at(spiked, step)["unregistered"]["text"] == told.text


def test_the_node_of_a_finding_of_the_training_is_that_of_the_shown_graph(
    spiked: pathlib.Path,
) -> None:
    (run,) = read_logdir(spiked)
    (graph,) = run.graphs.values()
    found = at(spiked, SPIKES[0])["gradient_spike"]
    assert found["node"] == "2.weight"
    assert graph.row_keys[found["row"]].startswith("parameter:2.weight")


def test_what_the_step_shows_itself_keeps_its_numbers_and_is_as_severe(
    tmp_path: pathlib.Path,
) -> None:
    torch.manual_seed(0)
    net = nn.Linear(16, 4)
    optimizer = torch.optim.SGD(net.parameters(), 1.0)
    with tb_gradgraph.SummaryWriter(tmp_path) as writer:
        writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for step in range(20):
            optimizer.zero_grad()
            (net(torch.ones(2, 16)).sum() * 0.1 * (2 + step % 2)).backward()
            optimizer.step()
    (told,) = (one for one in findings(tmp_path) if one.kind == "large_update")
    texts = set()
    for step in range(20):
        if told.holds_at(step):
            found = at(tmp_path, step, stage="applied")["large_update"]
            assert found["severity"] == told.severity
            texts.add(found["text"])
    assert len(texts) > 5


def test_the_facts_of_a_training_are_served(spiked: pathlib.Path) -> None:
    (run,) = read_logdir(spiked)
    ((tag, facts),) = run.facts.items()
    answer = ask(spiked, "facts")
    assert (answer["run"], answer["tag"]) == (".", tag)
    told = answer["facts"]
    assert told["parameters"] == facts.parameters == 4
    assert told["elements"] == sum(p.numel() for p in nn.Linear(16, 16).parameters()) + 68
    (optimizer,) = told["optimizers"]
    (group,) = optimizer["groups"]
    assert (optimizer["name"], group["settings"]["lr"]) == ("SGD", 1e-5)
    assert group["names"] == {"first": ["0.weight", "0.bias", "2.weight", "2.bias"], "count": 4}
    assert told["unregistered"] == {"first": ["further"], "count": 1}


def test_a_training_without_facts_has_null(tmp_path: pathlib.Path) -> None:
    with tb_gradgraph.SummaryWriter(tmp_path) as writer:
        writer.add_grad_graph(nn.Linear(2, 2), torch.ones(1, 2))
    assert ask(tmp_path, "facts")["facts"] is None
