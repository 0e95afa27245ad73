"""Every fact of a step keeps its name and its value from a record to whoever reads it."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import pathlib
import struct
from typing import Any

import pytest

import tb_gradgraph.record
from tb_gradgraph.commands.export import export
from tb_gradgraph.graph import FACTS, StepFacts
from tb_gradgraph.record import EventFiles, read_logdir
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.serve import Parameters, Reader
from tb_gradgraph.serve.routes.runs_route import answer_runs
from tb_gradgraph.serve.routes.step_route import answer_step
from tests.record.samples import make_record
from tests.serve.logs import GRAPH, write_session

#: In the plural as people say it; the routes' answers are a contract.
PLURALS = ["objectives", "stages", "loss_scales", "skipped", "every_n_steps", "costs"]


def _told() -> dict[str, Any]:
    """Make up a value of each fact that no other has, and that float32 holds."""
    kinds = {field.name: field.type for field in dataclasses.fields(StepFacts)}
    make = {"str": "text {}".format, "float": lambda n: n + 0.5, "int": lambda n: n + 100}
    make["bool"] = bool
    return {name: make[str(kind)](number) for number, (name, kind) in enumerate(kinds.items(), 1)}


TOLD = _told()
SILENT = {fact.name: fact.default for fact in FACTS} | {"objective": "loss"}
QUERY = {"run": ".", "tag": "net", "step": "1"}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Write a record that says nothing of its step, and one that says everything."""
    directory = tmp_path_factory.mktemp("facts")
    write_session(directory, [make_record(GRAPH), make_record(GRAPH, 1, **TOLD)], 2)
    return directory


@pytest.fixture
def reader(logdir: pathlib.Path) -> Reader:
    return Reader(EventFiles(logdir))


def test_each_value_is_another_than_the_others() -> None:
    assert len({*map(repr, TOLD.values())}) == len(FACTS) == len(TOLD)
    assert all(TOLD[fact.name] != fact.default for fact in FACTS)


def test_the_log_is_read_as_it_was_written(logdir: pathlib.Path) -> None:
    (run,) = read_logdir(logdir)
    silent, told = run.records
    assert {name: getattr(silent, name) for name in SILENT} == SILENT
    assert {name: getattr(told, name) for name in TOLD} == TOLD


def test_runs_has_a_column_of_each(reader: Reader) -> None:
    (run,) = json.loads(b"".join([answer_runs(reader, Parameters({})).content]))["runs"]
    (tag,) = run["tags"]
    for fact, plural in zip(FACTS, PLURALS):
        assert tag[plural] == [SILENT[fact.name], TOLD[fact.name]], plural


def test_step_has_each(reader: Reader) -> None:
    content = b"".join([answer_step(reader, Parameters(QUERY)).content])
    (length,) = struct.unpack_from("<I", content)
    header = json.loads(content[4 : 4 + length])
    assert {name: header[name] for name in TOLD} == TOLD


def test_an_export_has_each(logdir: pathlib.Path) -> None:
    (_, record) = json.loads(b"".join(export(logdir, "json")))["records"]
    assert {name: record[name] for name in TOLD} == TOLD
    lines = csv.DictReader(io.StringIO(b"".join(export(logdir, "csv", step="1")).decode()))
    cells = {name: str(value) for name, value in TOLD.items() if name != "objective"}
    assert {name: next(lines)[name] for name in cells} == cells


@pytest.mark.parametrize("name", TOLD)
def test_each_is_a_column_of_the_format(name: str) -> None:
    assert name in pb.Segment.DESCRIPTOR.fields_by_name
    contract = pathlib.Path(tb_gradgraph.record.__file__).with_name("FORMAT.md")
    assert f"`{name}`" in contract.read_text(encoding="utf-8").partition("## 4.")[2]
