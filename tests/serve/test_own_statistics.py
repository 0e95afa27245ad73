"""Statistics of the user's own keep every number from a record to the routes and the downloads."""

from __future__ import annotations

import csv
import io
import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest

from tb_gradgraph.commands.export import export
from tb_gradgraph.commands.html_export import export_html
from tb_gradgraph.own_statistics import OwnMeasure
from tb_gradgraph.record import EventFiles
from tb_gradgraph.serve import Parameters, Reader, RequestError
from tb_gradgraph.serve.plugin import _ROUTES
from tb_gradgraph.serve.request import find
from tb_gradgraph.statistics import STATISTICS, StatisticsTable
from tests.record.samples import make_record
from tests.serve.conftest import Reply
from tests.serve.logs import GRAPH, write_session

GRADIENT = {"share/a": OwnMeasure("gradient", "%", "lower"), "row": OwnMeasure("gradient")}
WEIGHT = {"rank": OwnMeasure("weight", "", "higher", "at x: ValueError: no")}
NOTHING = StatisticsTable.empty(GRAPH.row_count)


def _forward(step: int, number: float) -> Any:
    own = {"rank": {0: number}}
    options = {"stage": "forward", "table": NOTHING, "own": own, "own_measures": WEIGHT}
    return make_record(GRAPH, step, **options)


RECORDS = [
    _forward(0, 0.5),
    make_record(GRAPH, 0, own={"share/a": {2: 0.25, 3: math.inf}}, own_measures=GRADIENT),
    _forward(1, math.nan),
    make_record(GRAPH, 1, own={"share/a": {2: 4.0}, "row": {1: -1.0}}, own_measures=GRADIENT),
    make_record(GRAPH, 2),
]


@pytest.fixture(scope="module", params=[1, 5])
def logdir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    directory = tmp_path_factory.mktemp("own")
    write_session(directory, RECORDS, request.param)
    return directory


def ask(logdir: pathlib.Path, route: str, **query: object) -> Any:
    query = {"run": ".", "tag": "net", "hash": GRAPH.hash, **query}
    texts = {name: str(value) for name, value in query.items()}
    answer = _ROUTES[f"/{route}"](Reader(EventFiles(logdir)), Parameters(texts))
    reply = Reply(200, {}, b"".join([answer.content]))
    return reply.json() if answer.content_type == "application/json" else reply.frame()


def test_runs_list_the_names(logdir: pathlib.Path) -> None:
    (tag,) = ask(logdir, "runs")["runs"][0]["tags"]
    assert tag["own"] == [
        {"name": "rank", "of": "weight", "unit": "", "worse": "higher", "reason": "at x: ValueError: no"},
        {"name": "share/a", "of": "gradient", "unit": "%", "worse": "lower", "reason": ""},
        {"name": "row", "of": "gradient", "unit": "", "worse": "", "reason": ""},
    ]  # fmt: skip
    assert tag["has_values"] == [True, True, False]


def test_series(logdir: pathlib.Path) -> None:
    header, arrays = ask(logdir, "series", statistic="share/a")
    expected = np.full((3, GRAPH.row_count), np.nan, np.float32)
    expected[0, [2, 3]] = 0.25, np.inf
    expected[1, 2] = 4
    np.testing.assert_array_equal(arrays["values"], expected)
    assert header["domain"] == [0.25, 4.0]
    _, arrays = ask(logdir, "series", statistic="rank", stage="forward")
    np.testing.assert_array_equal(arrays["values"][:, 0], [0.5, np.nan])
    assert np.isnan(ask(logdir, "series", statistic="rank")[1]["values"]).all()


def test_flow(logdir: pathlib.Path) -> None:
    header, arrays = ask(logdir, "flow", statistic="share/a", stage="backward")
    assert header["steps"] == [0, 1, 2]
    np.testing.assert_array_equal(arrays["values"][:, 2], [0.25, 4, np.nan])
    _, arrays = ask(logdir, "flow", statistic="rank", stage="forward")
    np.testing.assert_array_equal(arrays["values"][:, 0], [0.5, np.nan])


def test_step_and_node(logdir: pathlib.Path) -> None:
    header, arrays = ask(logdir, "step", step=1)
    assert tuple(header["statistics"]) == (*STATISTICS, "share/a", "row")
    np.testing.assert_array_equal(
        arrays["values"][-2:, :3], [[np.nan, np.nan, 4], [np.nan, -1, np.nan]]
    )
    header, arrays = ask(logdir, "node", row=0, stage="forward")
    place = header["statistics"].index("rank")
    np.testing.assert_array_equal(arrays["values"][place], [0.5, np.nan])


@pytest.mark.parametrize("route", ["series", "flow"])
def test_an_unknown_name_is_answered_with_the_known_ones(logdir: pathlib.Path, route: str) -> None:
    with pytest.raises(RequestError, match=r"l2_norm, .*rank, share/a, row; got 'share'") as e:
        ask(logdir, route, statistic="share")
    assert e.value.status == 400


def test_downloads(logdir: pathlib.Path) -> None:
    records = json.loads(b"".join(export(logdir, "json")))["records"]
    assert [record["own"] for record in records] == [
        {"rank": {"rows": [0], "values": [0.5]}},
        {"share/a": {"rows": [2, 3], "values": [0.25, "Infinity"]}},
        {"rank": {"rows": [0], "values": ["NaN"]}},
        {"share/a": {"rows": [2], "values": [4.0]}, "row": {"rows": [1], "values": [-1.0]}},
        {},
    ]
    lines = list(csv.DictReader(io.StringIO(b"".join(export(logdir, "csv")).decode())))
    found = [
        (x["step"], x["stage"], x["row"], x["share/a"], x["own:row"], x["rank"]) for x in lines
    ]
    assert [one for one in found if any(one[3:])] == [
        ("0", "forward", "0", "", "", "0.5"),
        ("0", "backward", "2", "0.25", "", ""),
        ("0", "backward", "3", "inf", "", ""),
        ("1", "forward", "0", "", "", "nan"),
        ("1", "backward", "1", "", "-1.0", ""),
        ("1", "backward", "2", "4.0", "", ""),
    ]


def test_the_html_file_is_made(logdir: pathlib.Path) -> None:
    assert b"answers" in export_html(logdir)


def test_a_log_with_very_many_names(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s/{number}" for number in range(1030)]
    own = {"own": {name: {1: 1.0} for name in names}}
    measures = dict.fromkeys(names, OwnMeasure("gradient"))
    write_session(tmp_path, [make_record(GRAPH, own_measures=measures, **own)], 1)
    (tag,) = ask(tmp_path, "runs")["runs"][0]["tags"]
    assert [one["name"] for one in tag["own"]] == names[:1024]
    monkeypatch.setattr(find, "OWN_NUMBERS", 3 * GRAPH.row_count)
    assert ask(tmp_path, "step", step=0)[0]["statistics"] == [*STATISTICS, *names[:3]]
    with pytest.raises(RequestError, match="s/39; got 's/1025'"):
        ask(tmp_path, "series", statistic="s/1025")


def test_a_tag_without_any(tmp_path: pathlib.Path) -> None:
    write_session(tmp_path, [make_record(GRAPH)], 1)
    assert ask(tmp_path, "runs")["runs"][0]["tags"][0]["own"] == []
    assert tuple(ask(tmp_path, "step", step=0)[0]["statistics"]) == STATISTICS
