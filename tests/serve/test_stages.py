"""A training with every stage of a step: each route answers of the stage that it was asked for."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from tb_gradgraph.commands import main as cli
from tb_gradgraph.statistics import OF_PARAMETERS, STATISTICS
from tests.serve.conftest import Client
from tests.serve.training_log import (
    CLIPPED,
    LOSS_SCALE,
    SKIPPED,
    STAGES_OF_A_STEP,
    STEPS,
    Training,
    stages_of,
)

TAG = {"run": "training", "tag": "training"}
STAGES = STAGES_OF_A_STEP[2:]


def row_of(training: Training, name: str) -> int:
    graph = training.graph
    (row,) = (
        row for node, row in zip(graph.nodes, graph.slot_offsets.tolist()) if node.name == name
    )
    return row


def test_runs_tells_stages_in_order_and_what_the_scaler_did(client: Client):
    tag = client.runs()["training"]["tags"]["training"]
    assert tag["stages"] == [stage for step in STEPS for stage in stages_of(step)]
    assert tag["backward_passes"][:6] == [0, 1, 1, 1, 1, 1]
    assert {step for step, is_so in zip(tag["steps"], tag["skipped"]) if is_so} == {SKIPPED}
    assert {*tag["loss_scales"]} == {LOSS_SCALE}
    assert {*tag["every_n_steps"]} == {10} and {*tag["costs"]} == {0.0625}


@pytest.mark.parametrize("stage", STAGES)
def test_step_gives_the_numbers_of_its_stage(client: Client, training: Training, stage: str):
    header, arrays = client.get("step", step=20, stage=stage, **TAG).frame()
    assert (header["stage"], header["loss_scale"], header["skipped"]) == (stage, LOSS_SCALE, False)
    assert (header["every_n_steps"], header["cost"]) == (10, 0.0625)
    names = [name for step, at, name in training.numbers if (step, at) == (20, stage)]
    assert int(arrays["present"].sum()) == len(names) == 4
    for name in names:
        found = arrays["values"][:, row_of(training, name)]
        numbers = training.numbers[20, stage, name]
        expected = [numbers.get(statistic) for statistic in STATISTICS]
        expected = [np.nan if number is None else number for number in expected]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert np.isnan(found[STATISTICS.index("update_ratio")]) == (stage != "applied")


def test_step_without_a_stage_is_the_backward_pass(client: Client):
    for number in (0, 1):
        header, arrays = client.get("step", step=20, backward_pass=number, **TAG).frame()
        assert (header["stage"], header["backward_pass"]) == ("backward", number)
        assert int(arrays["present"].sum()) > 4


def test_step_of_a_stage_that_was_skipped_is_a_sentence(client: Client):
    reply = client.get("step", step=SKIPPED, stage="applied", **TAG)
    assert reply.status == 404
    assert "got step 30, stage applied." in reply.json()["error"]
    reply = client.get("step", step=20, stage="applied", backward_pass=0, **TAG)
    assert "got step 20, backward pass 0, stage applied." in reply.json()["error"]
    header, _ = client.get("step", step=SKIPPED, stage="unscaled", **TAG).frame()
    assert header["skipped"]


@pytest.mark.parametrize("statistic", ["l2_norm", *OF_PARAMETERS[:3]])
def test_series_of_a_stage_has_its_steps(client: Client, training: Training, statistic: str):
    query = TAG | {"hash": training.graph.hash, "statistic": statistic, "stage": "applied"}
    header, arrays = client.get("series", **query).frame()
    steps = [step for step in STEPS if step != SKIPPED]
    assert (header["steps"], header["stages"]) == (steps, ["applied"] * len(steps))
    row = row_of(training, "head.weight")
    expected = [training.numbers[step, "applied", "head.weight"][statistic] for step in steps]
    np.testing.assert_allclose(arrays["values"][:, row], expected, rtol=1e-6)
    others = np.delete(
        arrays["values"],
        [
            row_of(training, f"{of}.{part}")
            for of in ("body", "head")
            for part in ("weight", "bias")
        ],
        1,
    )
    assert np.isnan(others).all()
    assert header["domain"][0] <= min(expected) <= max(expected) <= header["domain"][1]


def test_node_gives_every_stage_of_every_step(client: Client, training: Training):
    row, query = row_of(training, "body.weight"), TAG | {"hash": training.graph.hash}
    header, arrays = client.get("node", row=row, **query).frame()
    tag = client.runs()["training"]["tags"]["training"]
    assert [header[name] for name in ("steps", "stages", "backward_passes")] == [
        tag[name] for name in ("steps", "stages", "backward_passes")
    ]
    norms = arrays["values"][STATISTICS.index("l2_norm")]
    for at, (step, stage) in enumerate(zip(header["steps"], header["stages"])):
        if stage != "backward" and step != SKIPPED:
            expected = training.numbers[step, stage, "body.weight"]["l2_norm"]
            assert norms[at] == pytest.approx(expected, rel=1e-6)
    only, _ = client.get("node", row=row, stage="applied", **query).frame()
    assert only["stages"] == ["applied"] * 5


def kinds(client: Client, **query: object) -> dict[str, dict]:
    found = client.get("findings", **TAG, **query).json()["findings"]
    return {finding["kind"]: finding for finding in found}


def test_findings_of_the_backward_name_what_is_missing_and_of_later_stages_do_not(client: Client):
    assert kinds(client, step=20)["no_gradient"]["node"].startswith("spare.")
    for stage in STAGES:
        assert "no_gradient" not in kinds(client, step=20, stage=stage)


@pytest.mark.parametrize("stage", ["backward", "clipped", "applied"])
def test_findings_tell_of_clipping_whichever_stage_is_asked_for(
    client: Client, training: Training, stage: str
):
    finding = kinds(client, step=CLIPPED, stage=stage)["clipped"]
    norms = {
        at: np.sqrt(
            sum(
                numbers["l2_norm"] ** 2
                for (step, of, _), numbers in training.numbers.items()
                if (step, of) == (CLIPPED, at)
            )
        )
        for at in ("accumulated", "clipped")
    }
    factor = norms["accumulated"] / norms["clipped"]
    assert factor > 100
    assert finding["severity"] == "warning"
    assert f"Clipping made the gradient {factor:.3g} times smaller" in finding["text"]
    assert f"{norms['accumulated']:.3g} (backward)" in finding["text"]
    assert "clipped" not in kinds(client, step=20)


def test_findings_tell_of_a_skipped_step_calmly(client: Client):
    finding = kinds(client, step=SKIPPED)["step_skipped"]
    assert finding["severity"] == "note"
    assert (
        "at a loss scale of 1024 because 4 of 4 parameters' gradients held NaN" in finding["text"]
    )
    assert "clipped" not in kinds(client, step=SKIPPED)
    later = kinds(client, step=SKIPPED, stage="unscaled")
    assert (
        "At the stage unscaled 4 of 4 parameters' gradients hold NaN" in later["nonfinite"]["text"]
    )
    assert "step_skipped" not in kinds(client, step=20)


def test_export_can_be_of_one_stage(client: Client, training: Training):
    reply = client.get("export", format="csv", stage="applied", step=20, **TAG)
    lines = list(csv.DictReader(io.StringIO(reply.content.decode())))
    assert {line["stage"] for line in lines} == {"applied"} and len(lines) == 4
    assert {line["loss_scale"] for line in lines} == {"1024.0"}
    for line in lines:
        expected = training.numbers[20, "applied", line["name"]]
        assert float(line["update_ratio"]) == pytest.approx(expected["update_ratio"], rel=1e-6)
    records = client.get("export", format="json", step=SKIPPED, **TAG).json()["records"]
    assert [record["skipped"] for record in records] == [True] * 4
    drawn = client.get("export", format="dot", step=20, **TAG).content
    assert drawn == client.get("export", format="dot", step=20, stage="backward", **TAG).content


def test_export_command_can_be_of_one_stage(logs, capfdbinary):
    assert (
        cli.main(["export", str(logs / "training"), "--format", "csv", "--stage", "applied"]) == 0
    )
    lines = list(csv.DictReader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert {line["stage"] for line in lines} == {"applied"}


def test_summary_lists_stages_and_skipped_steps(logs, capsys):
    assert cli.main(["summary", str(logs / "training")]) == 0
    _, _, row, *unreached = capsys.readouterr().out.partition("\n\n")[0].splitlines()
    assert row.split()[-3:] == ["0..50", "backward,accumulated,unscaled,clipped,applied", "1"]
    assert unreached == [
        f"run ., graph {row.split()[2]}: no gradient can reach",
        "  spare.weight: Unused: no operation of this forward used it.",
        "  spare.bias: Unused: no operation of this forward used it.",
    ]
