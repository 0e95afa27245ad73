"""A parameter that the optimizer was not given: told at every step and stage, with what is in ``.grad``."""

from __future__ import annotations

import copy
import pathlib

import pytest
import torch
from torch import nn

from tb_gradgraph import SummaryWriter
from tb_gradgraph.record.read.event_file_provider import EventFiles
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes.step_route import answer_step
from tb_gradgraph.serve.runs.reader import Reader
from tests.diagnose.asked import ask, read_header, texts

IDS = torch.arange(10)
SENTENCE = "is in no optimizer of this watch: it got a gradient and was not updated."


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tok, self.head = nn.Embedding(10, 8), nn.Linear(8, 10)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.tok(ids))


def train(
    logdir: pathlib.Path,
    model: Words,
    optimizers: list[torch.optim.Optimizer],
    every: int = 1,
    steps: int = 4,
) -> list[tuple[float, float]]:
    """Train; the last optimizer steps every so often. Give norms of tok's ``.grad``, own and held."""
    norms = []
    with SummaryWriter(str(logdir)) as writer:
        writer.watch(model, optimizer=optimizers, every_n_steps=1)
        for step in range(steps):
            for optimizer in optimizers:
                optimizer.zero_grad()
            twin = copy.deepcopy(model)
            twin.zero_grad()
            nn.functional.cross_entropy(twin(IDS), IDS).backward()
            nn.functional.cross_entropy(model(IDS), IDS).backward()
            norms.append((twin.tok.weight.grad.norm().item(), model.tok.weight.grad.norm().item()))
            for optimizer in optimizers[:-1]:
                optimizer.step()
            if step % every == 0:
                optimizers[-1].step()
    return norms


def test_it_is_told_with_what_adds_up_in_its_grad(tmp_path):
    model = Words()
    norms = train(tmp_path, model, [torch.optim.SGD(model.head.parameters(), lr=0.1)])
    for step, (own, held) in enumerate(norms):
        for stage in ("backward", "applied"):
            (text,) = texts(ask(tmp_path, step, stage), "not_optimized")
            assert text.startswith(f"tok.weight {SENTENCE}")
            adding = f"Its .grad keeps adding up (norm {held:.3g}, from this backward {own:.3g})"
            assert (adding in text) == (step > 0)


def test_the_record_of_the_stage_says_that_no_optimizer_has_it(tmp_path):
    model = Words()
    train(tmp_path, model, [torch.optim.SGD(model.head.parameters(), lr=0.1)], steps=2)
    reader = Reader(EventFiles(tmp_path))
    ((name, run),) = reader.runs().items()
    (tag,) = run.records
    for stage, expected in (("backward", []), ("applied", ["tok.weight"])):
        query = {"run": name, "tag": tag, "step": "1", "stage": stage}
        header = read_header(answer_step(reader, Parameters(query)))
        keys = reader.graph(run, header["hash"]).row_keys
        assert [keys[row] for row in header["no_optimizer"]] == [
            f"parameter:{one}:0" for one in expected
        ]


def test_many_of_them_are_one_finding(tmp_path):
    model = Words()
    train(tmp_path, model, [torch.optim.SGD([model.head.bias], lr=0.1)], steps=1)
    (text,) = texts(ask(tmp_path, 0), "not_optimized")
    assert text.startswith("2 parameters are in no optimizer of this watch: they got a gradient")
    assert "tok.weight" in text and "head.weight" in text


@pytest.mark.parametrize("step", [0, 1, 3])
def test_of_one_whose_optimizer_steps_seldom_it_is_not_said(tmp_path, step):
    model = Words()
    optimizers = [
        torch.optim.SGD(model.head.parameters(), lr=0.1),
        torch.optim.Adam(model.tok.parameters(), lr=0.1),
    ]
    train(tmp_path, model, list(optimizers), every=2)
    assert texts(ask(tmp_path, step), "not_optimized") == []


def test_of_one_whose_gradient_was_taken_away_that_is_said_too(tmp_path):
    """A record cannot tell the two apart."""
    model = Words()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(model, optimizer=optimizer, every_n_steps=1)
        nn.functional.cross_entropy(model(IDS), IDS).backward()
        model.tok.weight.grad = None
        optimizer.step()
    (text,) = texts(ask(tmp_path, 0), "not_optimized")
    assert text.endswith(
        "(If an optimizer does have it, its .grad was set to None before it stepped.)"
    )
