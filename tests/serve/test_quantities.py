"""Quantities keep name, step and value from a record to the route, the downloads and the HTML file."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import math
import pathlib
import re
from typing import Any

import pytest

from tb_gradgraph.commands import main as cli
from tb_gradgraph.commands.export import export
from tb_gradgraph.commands.html_export import export_html
from tb_gradgraph.record import EventFiles
from tb_gradgraph.serve import Parameters, Reader, RequestError
from tb_gradgraph.serve.plugin import _ROUTES
from tests.record.samples import make_record
from tests.serve.logs import GRAPH, write_session

RECORDS = [
    make_record(GRAPH, 0, quantities={"loss": 1 / 3, "grad_norm": 2.0}),
    make_record(GRAPH, 0, backward_pass=1, quantities={"loss": math.nan, "grad_norm": 3.0}),
    make_record(
        *(GRAPH, 0), stage="applied", quantities={"grad_norm": 1.0, "lr/group =1": 0.1},
        quantity_reasons={"noise_scale": "one pass", "loss": "known elsewhere"},
    ),
    make_record(GRAPH, 1, quantities={"loss": -math.inf, "note/tokens": 1e300}),
]  # fmt: skip
EXPECTED = {
    "loss": {"steps": [0, 0, 1], "backward_passes": [0, 1, 0], "values": [1 / 3, "NaN", "-Infinity"]},
    "grad_norm/backward": {"steps": [0, 0], "backward_passes": [0, 1], "values": [2.0, 3.0]},
    "grad_norm/applied": {"steps": [0], "backward_passes": [0], "values": [1.0]},
    "lr/group =1": {"steps": [0], "backward_passes": [0], "values": [0.1]},
    "note/tokens": {"steps": [1], "backward_passes": [0], "values": [1e300]},
}  # fmt: skip


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    directory = tmp_path_factory.mktemp("quantities")
    write_session(directory, RECORDS, 2)
    return directory


def ask(logdir: pathlib.Path, **query: str) -> Any:
    reader = Reader(EventFiles(logdir))
    answer = _ROUTES["/quantities"](reader, Parameters({"run": ".", "tag": "net", **query}))
    return json.loads(b"".join([answer.content]))


def test_every_quantity_of_a_tag(logdir: pathlib.Path) -> None:
    assert ask(logdir) == {
        "run": ".",
        "tag": "net",
        "quantities": EXPECTED,
        "missing": {"noise_scale": "one pass"},
    }


def test_the_names_that_are_asked_for(logdir: pathlib.Path) -> None:
    names = ["lr/group =1", "loss"]
    found = ask(logdir, names=",".join([*names, "loss"]))["quantities"]
    assert list(found) == names
    assert found == {name: EXPECTED[name] for name in names}


@pytest.mark.parametrize("name", ["grad_norm", "x", "loss, lr", ",", "noise_scale"])
def test_an_unknown_name_is_answered_with_the_known_ones(logdir: pathlib.Path, name: str) -> None:
    with pytest.raises(
        RequestError, match="Expected the name of a quantity of the tag, got '"
    ) as e:
        ask(logdir, names=name)
    assert e.value.status == 404
    assert e.value.sentence.endswith("recorded: " + ", ".join(sorted(EXPECTED)) + ".")


def test_a_tag_without_any(tmp_path: pathlib.Path) -> None:
    write_session(tmp_path, [make_record(GRAPH)], 1)
    assert ask(tmp_path)["quantities"] == {}
    with pytest.raises(RequestError, match="got 'loss'; recorded: nothing"):
        ask(tmp_path, names="loss")


def test_an_export_has_them(logdir: pathlib.Path) -> None:
    records = json.loads(b"".join(export(logdir, "json")))["records"]
    assert [record["quantities"] for record in records] == [
        {"loss": 1 / 3, "grad_norm": 2.0},
        {"loss": "NaN", "grad_norm": 3.0},
        {"grad_norm": 1.0, "lr/group =1": 0.1},
        {"loss": "-Infinity", "note/tokens": 1e300},
    ]
    text = b"".join(export(logdir, "csv-quantities")).decode()
    found = list(csv.DictReader(io.StringIO(text)))
    assert [(line["step"], line["name"], float(line["value"])) for line in found[:2]] == [
        ("0", "loss", 1 / 3),
        ("0", "grad_norm/backward", 2.0),
    ]
    assert {line["name"] for line in found} == EXPECTED.keys()


def test_the_summary_lists_the_last_values(
    logdir: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["summary", str(logdir)]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "last values" in line)
    assert line == (
        "run ., tag net, last values (step 1): "
        "grad_norm/applied 1 (step 0), grad_norm/backward 3 (step 0), loss -inf, lr/group =1 0.1 (step 0)"
    )


def test_the_html_file_answers_the_route(logdir: pathlib.Path) -> None:
    page = export_html(logdir)
    packed = re.search(rb'id="answers"[^>]*>([^<]+)<', page)
    assert packed is not None
    content = gzip.decompress(base64.b64decode(packed[1]))
    assert json.dumps(EXPECTED["loss"], separators=(",", ":")).encode() in content
