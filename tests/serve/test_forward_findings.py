"""The route ``findings`` joins each record with the values of its own forward."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any

import pytest

from tb_gradgraph.graph import Record
from tb_gradgraph.record import EventFiles
from tb_gradgraph.serve import Parameters, Reader
from tb_gradgraph.serve.plugin import _ROUTES
from tests.record.samples import make_record, with_count
from tests.serve.logs import GRAPH, write_session

MM, MUL = 2, 5  # rows of the graph
BAD_STEP, BAD_PASS = 2, 1


def forward(step: int, backward_pass: int, *bad: int) -> Record:
    record = make_record(GRAPH, step, stage="forward", backward_pass=backward_pass)
    for row in bad:
        record = with_count(record, row, "nan", 3)
    return record


def records() -> list[Record]:
    """Return three steps of two passes and an applied stage; the second pass of the last has NaN."""
    made = []
    for step in range(3):
        for nr in range(2):
            is_bad = (step, nr) == (BAD_STEP, BAD_PASS)
            made.append(forward(step, nr, *((MM, 3, 4, MUL, 6) if is_bad else ())))
            backward = make_record(GRAPH, step, backward_pass=nr, every_n_steps=1)
            made.append(with_count(backward, 0, "nan", 2) if is_bad else backward)
        applied = make_record(GRAPH, step, stage="applied", backward_pass=1, every_n_steps=1)
        made.append(with_count(applied, 0, "nan", 2) if step == BAD_STEP else applied)
    return made


@pytest.fixture(scope="module", params=[1, 4, 20])
def logdir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("forwards")
    write_session(directory, records(), request.param)
    return directory


def ask(logdir: pathlib.Path, step: int, **query: object) -> dict[str, Any]:
    texts = {"run": ".", "tag": "net", "step": str(step)}
    texts.update((name, str(value)) for name, value in query.items())
    answer = _ROUTES["/findings"](Reader(EventFiles(logdir)), Parameters(texts))
    return json.loads(b"".join([answer.content]))


def kinds(found: dict[str, Any]) -> list[str]:
    return [
        one["kind"] for one in found["findings"] if one["kind"].startswith(("nonfinite", "nan"))
    ]


def test_a_pass_has_the_values_of_its_own_forward(logdir):
    assert kinds(ask(logdir, BAD_STEP, backward_pass=0)) == []
    found = ask(logdir, BAD_STEP, backward_pass=BAD_PASS)
    assert kinds(found) == ["nonfinite_value", "nonfinite"]
    first = found["findings"][0]
    assert (first["node"], first["row"]) == ("lin/mm", MM)
    assert "lin/mm (net.py:7)" in first["text"] and "3 NaN of 12 elements came out" in first["text"]


def test_the_stage_forward_means_the_backward_after_it(logdir):
    asked = {"backward_pass": BAD_PASS}
    assert ask(logdir, BAD_STEP, stage="forward", **asked) == ask(logdir, BAD_STEP, **asked)


def test_later_stages_have_the_first_bad_forward_of_their_step(logdir):
    assert kinds(ask(logdir, 0, stage="applied")) == []
    found = ask(logdir, BAD_STEP, stage="applied")
    assert kinds(found)[0] == "nonfinite_value"
    (after,) = (one for one in found["findings"] if one["kind"] == "nonfinite")
    assert after["text"].endswith("They came from the forward: it began at lin/mm.")


def test_other_steps_point_to_it(logdir):
    elsewhere = {one["step"]: one["text"] for one in ask(logdir, 0)["elsewhere"]}
    assert "lin/mm (net.py:7)" in elsewhere[BAD_STEP]


def test_without_records_of_values_gradients_are_diagnosed_alone(tmp_path):
    write_session(tmp_path, [one for one in records() if one.stage != "forward"], 5)
    assert kinds(ask(tmp_path, BAD_STEP, backward_pass=BAD_PASS)) == ["nonfinite_origin"]


def test_values_of_another_graph_are_not_joined(tmp_path):
    others = [
        make_record(GRAPH, BAD_STEP, backward_pass=BAD_PASS),
        with_count(forward(BAD_STEP, BAD_PASS, MM), 0, "nan", 0),
    ]
    others[1] = dataclasses.replace(others[1], graph_hash="0123456789abcdef")
    write_session(tmp_path, others, 5)
    assert kinds(ask(tmp_path, BAD_STEP, backward_pass=BAD_PASS)) == []
