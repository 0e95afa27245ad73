"""One long text that is used very often, values without their graph or backward, and built-in names."""

from __future__ import annotations

import dataclasses
import pathlib
import zlib

import pytest

from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.record import read_logdir
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import Strings, seal
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes.export_route import answer_export
from tb_gradgraph.serve.runs.index import RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import STATISTICS
from tests.record.samples import make_graph, make_record
from tests.serve.fakes import FakeProvider
from tests.serve.hostile import HASH, huge_graph, peak_of, sealed
from tests.serve.logs import write_session

GRAPH = make_graph()
LONG = "a" * 60_000
TIMES = 60_000


def _segment(records: int, **columns: object) -> pb.Segment:
    zeros = [0] * records
    return pb.Segment(
        tag="net",
        graph_hash=HASH,
        rows=TIMES,
        strings=[LONG, "backward", "short", *(f"name {at}" for at in range(TIMES))],
        step=range(records),
        wall_time=zeros,
        backward_pass=zeros,
        present_rows=zeros,
        present=zlib.compress(bytes(records * TIMES // 8)),
        only_present=True,
        **{"objective": [2] * records, "stage": [1] * records, **columns},
    )


def _often(*names: str, **columns: object) -> pb.Segment:
    """Make one record, with the long text in some columns of many entries."""
    return _segment(1, **{name: [0] * TIMES for name in names}, **columns)


UNREAD = _often("unread_record", "unread_reason", unread_row=range(TIMES))
MISSING = _often("missing_record", "missing_reason", missing_name=range(3, TIMES + 3))
OBJECTIVES = _segment(1000, objective=[0] * 1000)
OBJECTIVES.rows, OBJECTIVES.present = 8, zlib.compress(bytes(1000))


def _stats(number: int, segment: pb.Segment, is_of_values: bool = False) -> tuple[str, Strings]:
    field = "forward_segments" if is_of_values else "segments"
    message = pb.StatisticsChunk(**{field: [segment]})
    return f"stats/{number:06}", sealed(message, pb.KIND_STATISTICS, True)


def _view(*records: tuple[str, Strings], with_graph: bool = True) -> RunView:
    return _reader(*records, with_graph=with_graph).runs()["run"]


def _reader(*records: tuple[str, Strings], with_graph: bool = True) -> Reader:
    fake = FakeProvider()
    if with_graph:
        fake.put("run", f"graph/{GRAPH.hash}", seal(encode_graph(GRAPH)))
    for tag, strings in records:
        fake.put("run", tag, strings)
    return Reader(fake)


def _good(number: int = 9) -> tuple[str, Strings]:
    return f"stats/{number:06}", seal(encode_chunk([make_record(GRAPH, 77)]))


@pytest.mark.parametrize("is_of_values", [False, True])
@pytest.mark.parametrize("segment", [UNREAD, MISSING], ids=["unread", "missing"])
def test_a_text_that_is_used_very_often_is_refused(segment: pb.Segment, is_of_values: bool) -> None:
    found = _reader(_stats(0, segment, is_of_values), _good())
    assert peak_of(found.runs) < 64 * 2**20
    (warning,) = found.runs()["run"].warnings
    assert "at most 268435456 letters of texts, got 3600" in warning
    assert [entry.step for entry in found.runs()["run"].records["net"]] == [77]


def test_texts_are_held_once_and_limited_in_a_run() -> None:
    found = _reader(*(_stats(number, OBJECTIVES) for number in range(6)), _good())
    assert peak_of(found.runs) < 64 * 2**20, "4 chunks of 60 MB of text, if it were copied"
    view = found.runs()["run"]
    refused = "expected at most 268435456 letters of texts in a run, got more"
    assert sum(refused in warning for warning in view.warnings) == 2
    assert 77 in [entry.step for entry in view.records["net"]]


def test_a_graph_with_a_text_that_is_used_very_often_is_refused() -> None:
    _, (_, payload) = huge_graph(20_000)
    message = pb.GraphRecord.FromString(zlib.decompress(payload))
    message.strings[0] = LONG
    view = _view((f"graph/{HASH}", sealed(message, pb.KIND_GRAPH, True)), _good())
    assert "graph: expected at most 268435456 letters of texts" in view.warnings[0]
    assert view.records["net"][0].step == 77


def test_a_run_in_python_has_the_same_limit(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path, [make_record(GRAPH, step) for step in range(3)], 1)
    monkeypatch.setattr(limits, "MAX_RUN_LETTERS", 30)
    (run,) = read_logdir(tmp_path)
    assert 0 < len(run.records) < 3
    assert "letters of texts in a run" in run.warnings[0]


def test_values_whose_graph_is_missing_are_told() -> None:
    chunk = encode_chunk([make_record(GRAPH, 0, stage="forward"), make_record(GRAPH, 0)])
    chunk.forward_segments[0].graph_hash = "f" * 16
    view = _view(("stats/000000", seal(chunk)))
    assert any(f"structure of graph {'f' * 16} is missing" in one for one in view.warnings)


def test_values_without_any_backward_are_told() -> None:
    chunk = encode_chunk([make_record(GRAPH, 0, stage="forward", tag="alone")])
    view = _view(("stats/000000", seal(chunk)), _good())
    (warning,) = view.warnings
    assert warning.startswith("Tag 'alone' has values of the forward and no record of a backward")


def test_a_name_of_the_users_own_that_is_built_in_gets_another() -> None:
    measures = {"l2_norm": OwnMeasure("gradient", reason=LONG), "mine": OwnMeasure("gradient")}
    own = {"l2_norm": {2: 0.25}, "mine": {2: 0.5}}
    found = _reader(
        (
            "stats/000000",
            seal(encode_chunk([make_record(GRAPH, 0, own=own, own_measures=measures)])),
        )
    )
    view = found.runs()["run"]
    assert list(view.own["net"]) == ["own:l2_norm", "mine"]
    assert len(view.own["net"]["own:l2_norm"].reason) == 1024
    assert found.statistic(view, view.records["net"][0], "own:l2_norm")[2] == 0.25
    asked = Parameters({"run": "run", "tag": "net", "format": "csv"})
    header = b"".join(answer_export(found, asked).content).decode().split("\r\n")[0].split(",")
    assert header[-2 - len(STATISTICS) :] == [*STATISTICS, "own:l2_norm", "mine"]
    assert len({*header}) == len(header)


def test_names_of_many_records_are_read_once_for_each_segment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    replace = dataclasses.replace

    def count(measure: OwnMeasure, **changes: str) -> OwnMeasure:
        made.append(measure.of)
        return replace(measure, **changes)

    measures = {f"name {at}": OwnMeasure("gradient") for at in range(5)}
    records = [make_record(GRAPH, step, own_measures=measures) for step in range(40)]
    view = _view(("stats/000000", seal(encode_chunk(records))))
    monkeypatch.setattr("tb_gradgraph.serve.runs.own_of_tags.dataclasses.replace", count)
    assert list(view.own["net"]) == list(measures)
    assert len(made) == 5
