"""The routes on real event files, asked of real TensorBoard processes with default flags."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from tb_gradgraph.statistics import STATISTICS
from tests.record.samples import make_graph, make_record
from tests.serve.conftest import Client
from tests.serve.logs import LONG_STEPS

GRAPH = make_graph()
LONG = {"run": "long", "tag": "net", "hash": GRAPH.hash}
MIXED = {"run": "mixed", "tag": "net", "hash": GRAPH.hash}

QUESTIONS = [
    ("graph", LONG),
    ("step", LONG | {"step": 2999}),
    ("step", MIXED | {"step": 1, "backward_pass": 1, "stage": "clipped"}),
    ("series", LONG | {"statistic": "l2_norm"}),
    ("series", MIXED | {"statistic": "max", "from": 1, "count": 2}),
    ("node", LONG | {"row": 8}),
    ("node", MIXED | {"row": 0}),
    ("node", {"run": "mixed", "tag": "net", "key": "lin#0/MmBackward0.0:0"}),
    ("findings", MIXED | {"step": 3}),
    ("run_findings", MIXED),
    ("facts", MIXED),
    ("export", MIXED | {"format": "json"}),
    ("export", MIXED | {"format": "csv"}),
    ("export", MIXED | {"format": "dot"}),
    ("quantities", MIXED),
    ("quantities", MIXED | {"names": "loss"}),
    ("quantities", MIXED | {"names": "loss,x"}),
    ("step", MIXED | {"step": 77}),
    ("step", {"run": "mixed", "tag": "other tag/ü&=?", "step": -5}),
]


@pytest.mark.parametrize(("route", "query"), QUESTIONS)
def test_both_loaders_answer_alike(clients: dict[str, Client], route: str, query: dict):
    rust, python = (clients[name].get(route, **query) for name in ("rust", "python"))
    assert rust.status == python.status
    assert rust.content == python.content


def test_both_loaders_list_the_same_runs(clients: dict[str, Client]):
    rust, python = (clients[name].runs() for name in ("rust", "python"))
    for runs in (rust, python):
        del runs["flipped"]  # the one file that they read differently
    assert rust == python


def test_every_recorded_step_is_listed_and_served(client: Client):
    tag = client.runs()["long"]["tags"]["net"]
    assert tag["steps"] == list(range(LONG_STEPS))
    assert tag["hashes"] == [GRAPH.hash]
    header, arrays = client.get("series", statistic="mean", **LONG).frame()
    assert header["steps"] == list(range(LONG_STEPS))
    expected = [make_record(GRAPH, step).table.values[:, 1] for step in (0, 1500, 2999)]
    np.testing.assert_array_equal(arrays["values"][[0, 1500, 2999]], np.float32(expected))


def test_runs_lists_records_in_order(client: Client):
    run = client.runs()["mixed"]
    assert run["warnings"] == []
    tag = run["tags"]["net"]
    assert tag["steps"] == [0, 1, 1, 1, 2, 3]
    assert tag["backward_passes"] == [0, 0, 1, 1, 0, 0]
    assert tag["stages"] == ["backward"] * 3 + ["clipped"] + ["backward"] * 2
    assert tag["hash_index"] == [0, 0, 0, 0, 1, 0]
    assert tag["objectives"][4] == "smaller"
    assert tag["has_gradients"] == [True] * 6
    assert tag["wall_times"][0] == 1.7e9


def test_graph_has_all_columns(client: Client):
    graph = client.get("graph", **LONG).json()
    assert (graph["hash"], graph["rows"]) == (GRAPH.hash, GRAPH.row_count)
    assert graph["scopes"] == {
        "path": ["", "lin"],
        "call": [0, 0],
        "module": ["Net", "Linear"],
        "parent": [-1, 0],
    }
    nodes = graph["nodes"]
    assert nodes["aliases"][0] == ["tied.w"]
    assert nodes["note"][4] == "größer"
    assert nodes["reason"] == [""] * 6
    assert nodes["slot_count"] == [1, 1, 1, 2, 1, 1]
    assert nodes["dashboard_name"][2] == "Net/lin/mm"
    assert {len(column) for column in nodes.values()} == {len(GRAPH.nodes)}
    assert graph["slots"]["shape"][3:5] == [[4, 1], [4, 2]]
    assert graph["slots"]["retains_grad"] == [False, False, False, False, True, False, False]
    assert graph["edges"]["row"] == GRAPH.edge_rows.tolist()


def test_step_has_all_statistics_of_one_record(client: Client):
    header, arrays = client.get("step", step=1500, **LONG).frame()
    table = make_record(GRAPH, 1500).table
    np.testing.assert_array_equal(arrays["values"], np.float32(table.values.T))
    np.testing.assert_array_equal(arrays["present"], table.present)
    assert header["statistics"] == list(STATISTICS)
    assert (header["step"], header["stage"], header["objective"]) == (1500, "backward", "loss")
    assert (header["has_gradients"], header["rows"], header["whole"]) == (True, GRAPH.row_count, [])


def test_step_has_whole_tensors_with_nonfinite_elements_spelt_out(client: Client):
    header, arrays = client.get("step", step=1, **MIXED).frame()
    assert header["whole"] == [
        {"row": 0, "gradient": [1.5, "NaN", "Infinity", "-Infinity", 0.0, 1.0]},
        {"row": 2, "value": [1.0, 2.0]},
    ]
    assert header["left_out"] == {"gradient": [], "value": []}
    limits = np.finfo(np.float32)
    assert arrays["values"][0, 0] == limits.max
    assert arrays["values"][0, 2] == -limits.smallest_subnormal


def test_step_has_one_answer_a_stage(client: Client):
    query = MIXED | {"step": 1, "backward_pass": 1}
    assert client.get("step", **query).frame()[0]["stage"] == "backward"
    assert client.get("step", stage="clipped", **query).frame()[0]["stage"] == "clipped"
    assert client.get("step", stage="applied", **query).status == 404


def test_series_is_of_one_graph_and_may_be_cut(client: Client):
    header, arrays = client.get(
        "series", statistic="max", **MIXED, **{"from": 1, "count": 3}
    ).frame()
    assert (header["from"], header["total"]) == (1, 5)
    assert header["steps"] == [1, 1, 1]
    assert header["backward_passes"] == [0, 1, 1]
    assert arrays["values"].shape == (3, GRAPH.row_count)
    low, high = header["domain"]
    assert 0 < low < 1 < high < 33
    header, arrays = client.get("series", statistic="max", **MIXED, **{"from": 5}).frame()
    assert (header["steps"], arrays["values"].shape) == ([], (0, GRAPH.row_count))


def test_domain_is_one_for_all_graphs_of_a_tag(client: Client):
    hashes = client.runs()["mixed"]["tags"]["net"]["hashes"]
    assert len(hashes) == 2
    query = {"run": "mixed", "tag": "net", "statistic": "l2_norm", "count": 1}
    domains = [client.get("series", hash=one, **query).frame()[0]["domain"] for one in hashes]
    assert domains[0] == domains[1]


def test_domain_of_numbers_that_are_all_zero_is_null(client: Client):
    assert client.get("series", statistic="posinf", **LONG).frame()[0]["domain"] is None


def test_node_joins_graphs_that_differ_by_key(client: Client):
    header, arrays = client.get("node", row=2, **MIXED).frame()
    assert header["key"] == "lin#0/MmBackward0.0:0"
    assert header["steps"] == [0, 1, 1, 1, 2, 3]
    assert arrays["present"].tolist() == [1] * 6
    assert arrays["histogram"].shape == (6, 32)
    assert header["whole"] == [{"record": 1, "value": [1.0, 2.0]}]
    header, arrays = client.get("node", row=5, **MIXED).frame()
    assert arrays["present"].tolist() == [1, 1, 1, 1, 0, 1]
    assert np.isnan(arrays["values"][:, 4]).all()


def test_a_row_is_found_by_its_key_in_any_run(client: Client):
    for row, key in ((2, "lin#0/MmBackward0.0:0"), (GRAPH.row_count - 1, GRAPH.row_keys[-1])):
        for run in ("mixed", "long"):
            by_row = client.get("node", run=run, tag="net", hash=GRAPH.hash, row=row)
            assert client.get("node", run=run, tag="net", key=key).content == by_row.content
    # A stage that no record with this row has is an empty answer, not an unknown key.
    query = {"run": "mixed", "tag": "net", "key": GRAPH.row_keys[2], "stage": "applied"}
    assert client.get("node", **query).frame()[0]["steps"] == []


def test_findings_are_ranked(client: Client):
    found = client.get("findings", step=3, **MIXED).json()["findings"]
    assert found[0]["severity"] == "error"
    assert {"severity", "kind", "row", "node", "text", "advice"} == found[0].keys()


def test_later_session_wins_from_its_first_step(client: Client):
    run = client.runs()["restarted"]
    tag = run["tags"]["net"]
    assert tag["steps"] == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert tag["objectives"] == ["first"] * 6 + ["second"] * 3
    assert run["warnings"] == []


def test_file_that_was_cut_off_gives_what_is_whole(client: Client):
    run = client.runs()["cut"]
    assert run["tags"]["net"]["steps"] == [0, 1, 2]
    assert run["warnings"] == []


def test_flipped_byte_costs_its_chunk_or_what_follows(client: Client):
    """The data server goes on behind it and our checksum tells; the other loader stops there."""
    reply = client.get("series", statistic="mean", run="flipped", tag="net", hash=GRAPH.hash)
    steps = reply.frame()[0]["steps"]
    assert steps in ([0, 1], [0, 1, 3])
    warnings = client.runs()["flipped"]["warnings"]
    assert [line for line in warnings if "Bytes changed" in line] == warnings
    assert len(warnings) == (len(steps) == 3)


def test_damaged_and_newer_records_are_skipped_with_a_warning(client: Client):
    query = {"run": "damaged", "tag": "net", "hash": GRAPH.hash}
    assert client.get("series", statistic="l2_norm", **query).frame()[0]["steps"] == [0]
    run = client.runs()["damaged"]
    assert run["tags"]["net"]["steps"] == [0]
    text = "\n".join(run["warnings"])
    assert text.count("2 records were skipped because a newer tb_gradgraph wrote them") == 1
    for tag, what in (
        ("stats/000002", "Bytes changed"),
        ("stats/000004", "at least 1, got 0"),
        ("stats/000005", "got a broken one"),
        ("stats/000007", "does not fit its graph"),
        ("nonsense", "expected a tag of FORMAT.md"),
        ("graph/0000000000000000", "expected a protobuf"),
    ):
        assert any(tag in line and what in line for line in run["warnings"]), (tag, text)
    assert f"The structure of graph {'f' * 16} is missing" in text
    assert client.get("graph", run="damaged", hash="f" * 16).status == 404
    lost = {"run": "damaged", "tag": "lost"}
    assert client.get("step", step=6, **lost).status == 200
    assert client.get("export", format="csv", **lost).status == 200
    assert client.get("findings", step=6, **lost).status == 404


def test_export_json_has_structure_and_records(client: Client):
    reply = client.get("export", format="json", **MIXED)
    assert reply.headers["Content-Disposition"] == 'attachment; filename="gradgraph.json"'
    exported = reply.json()
    assert exported["graphs"][GRAPH.hash]["nodes"]["name"][0] == "lin.w"
    assert len(exported["records"]) == 5
    record = exported["records"][0]
    assert (record["step"], record["stage"]) == (0, "backward")
    expected = make_record(GRAPH, 0).table.values[:, 1]
    assert record["statistics"]["mean"][0] == expected[0]
    assert record["statistics"]["mean"][1] is None


def test_export_csv_has_a_line_for_each_row_with_numbers(client: Client):
    reply = client.get("export", format="csv", step=0, **MIXED)
    lines = list(csv.DictReader(io.StringIO(reply.content.decode())))
    lines = [line for line in lines if line["operation"] != "quantity"]
    assert len(lines) == GRAPH.row_count - 1
    assert lines[0]["key"] == "parameter:lin.w:0"
    assert float(lines[0]["l2_norm"]) == make_record(GRAPH, 0).table.values[0, 0]
    assert lines[0]["numel"] == "12.0"


def test_export_dot_draws_the_graph(client: Client):
    text = client.get("export", format="dot", step=0, **MIXED).content.decode()
    assert text.startswith("digraph {")
    assert 'n0 [label="lin.w" shape=ellipse' in text
    assert "n3 -> n4" in text


def test_tab_is_active_where_there_are_records(client: Client):
    listed = client.fetch("data/plugins_listing").json()["gradgraph"]
    assert listed["enabled"]
    assert listed["tab_name"] == "Grad Graph"
    assert listed["loading_mechanism"]["module_path"].endswith("/gradgraph/static/index.js")


def test_graph_appears_in_the_standard_dashboard_beside_the_users(client: Client):
    info = client.get("info", plugin="graphs").json()["standard"]
    assert info["run_graph"]
    assert info["tags"]["gradgraph/net"]["op_graph"]
    ours = client.get(
        "graph", plugin="graphs", run="standard", tag="gradgraph/net"
    ).content.decode()
    assert 'name: "Net/lin/mm"' in ours
    theirs = client.get("graph", plugin="graphs", run="standard").content.decode()
    assert "Linear" in theirs
    assert "Net/lin/mm" not in theirs


def test_pulse_is_one_word_while_nothing_is_recorded(client: Client):
    first, second = (client.get("pulse").json()["pulse"] for _ in range(2))
    assert first == second != ""
