"""Numbers of the user's own statistics keep every bit, and malformed ones are refused."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tb_gradgraph.errors import FormatError
from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.record import read_logdir
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.decode import Chunk, decode_chunk
from tb_gradgraph.record.format.encode import encode_chunk
from tb_gradgraph.record.format.envelope import seal
from tb_gradgraph.statistics import StatisticsTable
from tests.record.samples import make_graph, make_record
from tests.serve.logs import GRAPH, write_session

OWN = [
    {"rank": {0: 1 / 3, 8: -0.0, 3: 1e-320}, "share/größe": {2: math.nan, 1: math.inf}},
    {},
    {"share/größe": {2: -math.inf}},
]
MEASURES = {
    "rank": OwnMeasure("gradient", "", "lower"),
    "share/größe": OwnMeasure("value", "% of all", "", "at x: ValueError: no"),
    "never": OwnMeasure("weight", worse="higher"),
}


def make_records(**changes: Any) -> list:
    return [
        make_record(make_graph(), step, own=own, own_measures=MEASURES if own else {}, **changes)
        for step, own in enumerate(OWN)
    ]


def test_numbers_come_back_bit_by_bit():
    (segment,) = decode_chunk(seal(encode_chunk(make_records()))).segments
    found = [segment.own.of_record(at) for at in range(3)]
    np.testing.assert_equal(found, OWN)
    assert math.copysign(1, found[0]["rank"][8]) == -1
    assert segment.own.measures == MEASURES
    assert len(segment.own) == 6
    np.testing.assert_equal(segment.own.column(2, "rank", 9), np.full(9, np.nan))
    expected = np.full(9, np.nan)
    expected[[0, 3, 8]] = 1 / 3, 1e-320, -0.0
    np.testing.assert_equal(segment.own.column(0, "rank", 9), expected)
    assert segment.own.values("rank").tolist() == [1 / 3, -0.0, 1e-320]
    assert len(segment.own.values("unknown")) == 0


def test_a_record_without_other_numbers_is_read(tmp_path: pathlib.Path):
    table = StatisticsTable.empty(GRAPH.row_count)
    forward = make_record(
        GRAPH, stage="forward", table=table, own=OWN[0], own_measures=MEASURES
    )  # fmt: skip
    write_session(tmp_path, [forward, make_record(GRAPH)], 2)
    (run,) = read_logdir(tmp_path)
    (record,) = run.forwards
    np.testing.assert_equal(record.own, OWN[0])
    assert record.own_measures == MEASURES
    assert not record.table.present.any()
    assert run.records[0].own == {} and run.records[0].own_measures == {}


@pytest.mark.parametrize("name", ["", "a,b", "line\nend", "x" * 162])
def test_another_name_is_not_written(name: str):
    record = make_record(make_graph(), own_measures={name: OwnMeasure("value")})
    with pytest.raises(FormatError, match="printable name of a statistic"):
        encode_chunk([record])


def changed(change: Callable[[pb.Segment], Any]) -> Chunk:
    chunk = encode_chunk(make_records())
    change(chunk.segments[0])
    return decode_chunk(seal(chunk))


def _name(segment: pb.Segment, name: str) -> None:
    segment.strings.append(name)
    segment.own_name[0] = len(segment.strings) - 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda s: s.own_name.append(0), "columns of one length"),
        (lambda s: s.own_why.pop(), "columns of one length"),
        (lambda s: s.own_record.append(0), "columns of one length"),
        (lambda s: s.own_value.pop(), "columns of one length"),
        (lambda s: s.own_record.__setitem__(0, 3), "records, rows and names of own statistics"),
        (lambda s: s.own_row.__setitem__(0, s.rows), "records, rows and names of own statistics"),
        (lambda s: s.own_statistic.__setitem__(0, 3), "records, rows and names of own statistics"),
        (lambda s: s.own_name.__setitem__(0, 10**6), "texts of own statistics"),
        (lambda s: s.own_unit.__setitem__(0, 10**6), "texts of own statistics"),
        (lambda s: s.own_name.__setitem__(0, s.own_name[1]), "each own statistic once"),
        (lambda s: _name(s, ""), "printable name of a statistic, .* got ''"),
        (lambda s: _name(s, "a,b"), "printable name of a statistic, .* got 'a,b'"),
        (lambda s: _name(s, "a\x00b"), "printable name of a statistic"),
        (lambda s: _name(s, "a" * 162), "of at most 161 letters, got 'aaa"),
    ],
)
def test_a_segment_is_checked(change: Callable[[pb.Segment], Any], sentence: str):
    with pytest.raises(FormatError, match=sentence):
        changed(change)


def test_words_of_newer_writers_count_as_not_known():
    chunk = changed(lambda s: (s.own_of.__setitem__(0, 0), s.own_worse.__setitem__(0, 0)))
    assert chunk.segments[0].own.measures["rank"] == OwnMeasure("", "", "")


def test_of_two_numbers_of_one_row_the_later_counts():
    (segment,) = changed(lambda s: s.own_row.__setitem__(1, 0)).segments
    assert segment.own.of_record(0)["rank"] == {0: -0.0, 3: 1e-320}


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MAX_OWN", 5)
    with pytest.raises(FormatError, match="at most 5 numbers of own statistics, got 6"):
        changed(lambda s: None)
    monkeypatch.undo()
    monkeypatch.setattr(limits, "MAX_OWN_NAMES", 2)
    with pytest.raises(FormatError, match="at most 2 own statistics, got 3"):
        changed(lambda s: None)
