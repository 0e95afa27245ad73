"""The findings of a training as a whole: the same as those of its log, kept, and made again as it grows."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest

from tb_gradgraph.diagnose import RunFinding, course_of, find_in_course
from tb_gradgraph.diagnose.run import course_step
from tb_gradgraph.graph import Record
from tb_gradgraph.record import EventFiles, read_logdir
from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import seal
from tb_gradgraph.serve.evidence import recorded_course
from tb_gradgraph.serve.evidence.recorded_course import read_course
from tb_gradgraph.serve.plugin import _ROUTES
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes import run_findings_route
from tb_gradgraph.serve.runs.reader import Reader
from tests.record.samples import make_graph, make_record, make_table, with_count
from tests.serve.fakes import FakeProvider
from tests.serve.logs import write_session

GRAPH = make_graph()
STEPS, BAD = 40, 12
FIELDS = {field.name for field in dataclasses.fields(RunFinding)}


def record_at(step: int, **changes: Any) -> Record:
    """Make a record whose gradients are not finite from step BAD on."""
    record = make_record(GRAPH, step, every_n_steps=1, **changes)
    return with_count(record, 2, "nan", 3) if step >= BAD else record


def ask(reader: Reader, **query: str) -> dict[str, Any]:
    answer = _ROUTES["/run_findings"](reader, Parameters({"run": ".", "tag": "net", **query}))
    return json.loads(answer.content)


@pytest.fixture
def logdir(tmp_path: pathlib.Path) -> pathlib.Path:
    loss = {step: math.nan if step >= BAD else 1 / (1 + step) for step in range(STEPS)}
    records = [record_at(step, quantities={"loss": loss[step]}) for step in range(STEPS)]
    write_session(tmp_path, records, 7)
    return tmp_path


def test_they_are_those_of_the_log(logdir: pathlib.Path):
    (run,) = read_logdir(logdir)
    expected = find_in_course(course_of(".", "net", run.graphs, run.records, run.forwards))
    told = ask(Reader(EventFiles(logdir)))
    assert (told["version"], told["run"], told["tag"]) == (1, ".", "net")
    assert (told["records"], told["steps"], told["healthy"]) == (STEPS, STEPS, False)
    assert [one["text"] for one in told["findings"]] == [one.text for one in expected]
    assert [set(one) for one in told["findings"]] == [FIELDS] * len(expected)
    first = told["findings"][0]
    assert (first["severity"], first["first_step"], first["last_step"]) == ("error", BAD, 39)


def test_numbers_of_the_course_are_those_of_the_records(logdir: pathlib.Path):
    (run,) = read_logdir(logdir)
    reader = Reader(EventFiles(logdir))
    course = read_course(reader, reader.runs()["."], "net")
    assert len(course.steps) == len(run.records)
    for step, record in zip(course.steps, run.records):
        (found,) = step.passes
        np.testing.assert_array_equal(found.table.values, record.table.values)
        np.testing.assert_array_equal(found.table.present, record.table.present)
        np.testing.assert_array_equal(found.table.histogram, record.table.histogram)
        assert dict(found.gradients) == dict(found.values) == {}
        assert found.quantities.keys() == record.quantities.keys()


def test_a_very_long_training_is_examined_at_some_steps(monkeypatch, logdir: pathlib.Path):
    parameters = sum(node.kind == "parameter" for node in GRAPH.nodes)
    monkeypatch.setattr(course_step, "MOST_CELLS", 10 * parameters)
    reader = Reader(EventFiles(logdir))
    course = read_course(reader, reader.runs()["."], "net")
    found = {*range(0, STEPS, 4), BAD - 1, BAD, STEPS - 1}
    assert [step.step for step in course.looked_at.steps] == sorted(found)
    told = ask(reader)
    assert (told["records"], told["steps"]) == (STEPS, len(found))
    assert told["findings"][0]["first_step"] == BAD


def test_columns_that_are_too_large_to_keep_at_hand_are_read_again(
    monkeypatch, logdir: pathlib.Path
):
    whole = ask(Reader(EventFiles(logdir)))
    monkeypatch.setattr(recorded_course, "_MOST_BYTES", 100)
    assert ask(Reader(EventFiles(logdir))) == whole


def test_whole_tensors_are_read_when_they_are_asked_for(tmp_path: pathlib.Path):
    whole = {0: np.array([[1.0, 2.0]], np.float32)}
    write_session(tmp_path, [make_record(GRAPH, 0, gradients=whole, values=whole)], 1)
    reader = Reader(EventFiles(tmp_path))
    (step,) = read_course(reader, reader.runs()["."], "net").steps
    (record,) = step.passes
    assert (list(record.gradients), len(record.values)) == ([0], 1)
    np.testing.assert_array_equal(record.values[0], whole[0])


def test_a_run_without_errors_and_warnings_is_healthy(monkeypatch, logdir: pathlib.Path):
    note = RunFinding(kind="cancelled", severity="note", text="A note.")
    monkeypatch.setattr(recorded_course, "find_in_course", lambda course: [note])
    told = ask(Reader(EventFiles(logdir)))
    assert told["healthy"] is True
    assert [one["text"] for one in told["findings"]] == ["A note."]


def test_records_without_a_backward_are_not_called_healthy(monkeypatch, tmp_path: pathlib.Path):
    rows = tuple(range(GRAPH.row_count))
    record = make_record(GRAPH, 0, table=make_table(GRAPH, absent=rows))
    write_session(tmp_path, [record], 1)
    monkeypatch.setattr(recorded_course, "find_in_course", lambda course: [])
    assert ask(Reader(EventFiles(tmp_path)))["healthy"] is False


class Growing:
    """A log that grows, and a clock that a test turns."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake, self.now, self.made = FakeProvider(), 100.0, 0
        self.reader = Reader(self.fake, clock=lambda: self.now)
        monkeypatch.setattr(run_findings_route.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(recorded_course, "find_in_course", self._find)

    def _find(self, course: object) -> list[RunFinding]:
        self.made += 1
        self.now += 2  # it takes two seconds
        return []

    def put_graph(self) -> None:
        self.fake.put("run", f"graph/{GRAPH.hash}", seal(encode_graph(GRAPH)))

    def put(self, step: int) -> None:
        self.fake.put("run", f"stats/{step:06d}", seal(encode_chunk([make_record(GRAPH, step)])))

    def ask(self) -> dict[str, Any]:
        self.now += 3  # so that the reader looks again
        return ask(self.reader, run="run")

    def records(self) -> int:
        return self.ask()["records"]


def test_an_answer_is_kept_until_the_log_grows(monkeypatch: pytest.MonkeyPatch):
    log = Growing(monkeypatch)
    log.put_graph()
    log.put(0)
    assert [log.records(), log.records()] == [1, 1]
    log.now += 1000
    assert (log.records(), log.made) == (1, 1)
    log.put(1)
    assert (log.records(), log.made) == (2, 2)


def test_a_graph_may_be_read_after_its_records(monkeypatch: pytest.MonkeyPatch):
    log = Growing(monkeypatch)
    log.put(0)
    told = log.ask()
    assert (told["records"], told["steps"], told["healthy"]) == (1, 0, False)
    log.put_graph()
    log.now += 1000
    told = log.ask()
    assert (told["records"], told["steps"], told["healthy"]) == (1, 1, True)


def test_findings_of_a_growing_log_take_a_small_part_of_the_time(monkeypatch: pytest.MonkeyPatch):
    log = Growing(monkeypatch)
    log.put_graph()
    log.put(0)
    assert log.records() == 1
    log.put(1)
    assert (log.records(), log.made) == (1, 1)  # made three seconds ago, and it took two
    log.now += 2 * run_findings_route.PATIENCE
    assert (log.records(), log.made) == (2, 2)


def test_a_damaged_record_costs_only_itself(client):
    told = client.get("run_findings", run="damaged", tag="net").json()
    assert told["records"] == told["steps"] == 1
