"""The heat map's numbers and the run's scalars, against what was logged."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.routes.flow_route import ARRIVED, NONE, NONFINITE
from tb_gradgraph.statistics import STATISTICS
from tests.record.samples import make_record, with_count
from tests.serve.conftest import Client
from tests.serve.gan_log import STEPS as GAN_STEPS
from tests.serve.logs import GRAPH, LONG_STEPS
from tests.serve.training_log import SKIPPED, STEPS, Training

SLOTS = GRAPH.slot_count
MIXED = {"run": "mixed", "tag": "net", "hash": GRAPH.hash}
TRAINING = {"run": "training", "tag": "training"}


def column(record, name: str) -> np.ndarray:
    return record.table.values[:SLOTS, STATISTICS.index(name)]


def test_every_step_of_a_long_run_in_pages(client: Client):
    query = {"run": "long", "tag": "net", "hash": GRAPH.hash, "statistic": "l2_norm"}
    header, arrays = client.get("flow", **query, **{"from": 1000, "count": 700}).frame()
    assert (header["from"], header["total"], header["slots"]) == (1000, LONG_STEPS, SLOTS)
    assert header["steps"] == list(range(1000, 1700))
    expected = [column(make_record(GRAPH, step), "l2_norm") for step in header["steps"]]
    np.testing.assert_allclose(arrays["values"], np.stack(expected), rtol=1e-6)
    header, arrays = client.get("flow", every=7, **query).frame()
    assert header["steps"] == list(range(0, LONG_STEPS, 7)) and header["total"] == 429
    np.testing.assert_allclose(
        arrays["values"][-1], column(make_record(GRAPH, 2996), "l2_norm"), rtol=1e-6
    )


def test_graphs_that_differ_are_joined_and_what_is_not_finite_is_marked(client: Client):
    header, arrays = client.get("flow", statistic="mean", stage="backward", **MIXED).frame()
    assert header["steps"] == [0, 1, 2, 3]
    assert header["backward_passes"] == [0, 0, 0, 0]
    smaller = Graph(GRAPH.nodes[:3], GRAPH.edges[:2], GRAPH.scopes)
    common = smaller.slot_count
    found = make_record(smaller, 2).table.values[:common, STATISTICS.index("mean")]
    np.testing.assert_allclose(arrays["values"][2, :common], found, rtol=1e-6)
    assert np.isnan(arrays["values"][2, common:]).all()
    assert (arrays["arrived"][2, common:] == NONE).all()
    record = with_count(make_record(GRAPH, 3), 2, "nan", 5)
    counts = [STATISTICS.index(name) for name in ("nan", "posinf", "neginf")]
    bad = (record.table.values[:SLOTS, counts] > 0).any(axis=1)
    expected = np.where(record.table.present[:SLOTS], np.where(bad, NONFINITE, ARRIVED), NONE)
    assert (arrays["arrived"][3] == expected).all() and bad[2]


def test_the_pass_that_is_nearest(client: Client):
    query = {"statistic": "l2_norm", "stage": "backward", **MIXED}
    header, arrays = client.get("flow", backward_pass=5, **query).frame()
    assert header["backward_passes"] == [0, 1, 0, 0]
    expected = column(make_record(GRAPH, 1, backward_pass=1), "l2_norm")
    np.testing.assert_allclose(arrays["values"][1], expected, rtol=1e-6)


def test_of_a_later_stage_only_steps_that_have_it(client: Client, training: Training):
    query = {"hash": training.graph.hash, "statistic": "update_ratio", "stage": "applied"}
    header, arrays = client.get("flow", **TRAINING, **query).frame()
    assert header["steps"] == [step for step in STEPS if step != SKIPPED]
    assert {*header["stages"]} == {"applied"}
    offsets = training.graph.slot_offsets.tolist()
    for column_index, step in enumerate(header["steps"]):
        for node, row in zip(training.graph.nodes, offsets):
            numbers = training.numbers.get((step, "applied", node.name))
            assert arrays["arrived"][column_index, row] == (NONE if numbers is None else ARRIVED)
            if numbers is not None:
                ratio = numbers["update_ratio"]
                np.testing.assert_allclose(arrays["values"][column_index, row], ratio, rtol=1e-6)


def test_what_each_optimizer_of_a_step_saw_stands_in_one_column(
    client: Client, gan: Mapping[tuple[int, str], float]
):
    hashes = client.runs()["gan"]["tags"]["gan"]["hashes"]
    rows_of = {one: _parameter_rows(client, "gan", one) for one in hashes}
    (graph_hash,) = (one for one, rows in rows_of.items() if len(rows) == 4)
    query = {"run": "gan", "tag": "gan", "hash": graph_hash, "statistic": "l2_norm"}
    header, arrays = client.get("flow", stage="applied", **query).frame()
    found = {
        (step, name): float(arrays["values"][index, row])
        for index, step in enumerate(header["steps"])
        for name, row in rows_of[graph_hash].items()
    }
    assert found == pytest.approx(gan, rel=1e-5) and len(gan) == 4 * GAN_STEPS
    assert (arrays["arrived"][:, list(rows_of[graph_hash].values())] == ARRIVED).all()


def _parameter_rows(client: Client, run: str, graph_hash: str) -> dict[str, int]:
    nodes = client.get("graph", run=run, hash=graph_hash).json()["nodes"]
    offsets = np.cumsum([0, *nodes["slot_count"]]).tolist()
    kinds = zip(nodes["name"], nodes["kind"], offsets)
    return {name: row for name, kind, row in kinds if kind == "parameter"}


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"run": "none"}, 404),
        ({"tag": "none"}, 404),
        ({"hash": "0" * 16}, 404),
        ({"statistic": "none"}, 400),
        ({"every": 0}, 400),
        ({"from": -1}, 400),
        ({"count": "x"}, 400),
    ],
)
def test_what_is_wrong_is_said(client: Client, changed: dict, status: int):
    reply = client.get("flow", **{**MIXED, "statistic": "l2_norm", **changed})
    assert reply.status == status
    assert reply.json()["error"].startswith("Expected")


def test_beyond_the_end_there_is_nothing(client: Client):
    header, arrays = client.get("flow", statistic="l2_norm", **{**MIXED, "from": 99}).frame()
    assert header["steps"] == [] and arrays["values"].shape == (0, SLOTS)


def test_scalars_of_the_same_run(client: Client):
    assert client.get("scalars", run="standard").json() == {"tags": ["loss"]}
    assert client.get("scalars", run="mixed").json() == {"tags": []}
    header, arrays = client.get("scalar", run="standard", tag="loss").frame()
    assert header == {"run": "standard", "tag": "loss", "steps": [0]}
    assert arrays["values"].tolist() == [0.5]
    assert client.get("scalar", run="standard", tag="none").status == 404
    assert client.get("scalars", run="none").status == 404
    assert client.get("scalar", run="standard").status == 400
