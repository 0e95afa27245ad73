"""Logs of several processes are one run with the numbers of the whole, or say what is missing."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from tb_gradgraph.ranks import join_ranks
from tb_gradgraph.ranks.joined_run import rank_of
from tb_gradgraph.record import LoggedRun, Process, read_logdir
from tests.ranks.rank_logs import RankOf, mesh_ranks, write_rank
from tests.training.loops import assert_statistics

WHOLE = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))


def halves(dim: int) -> tuple[torch.Tensor, ...]:
    return WHOLE.tensor_split(2, dim)


def written(
    logdir: pathlib.Path, ranks: Sequence[RankOf], steps: Sequence[int] = (0,)
) -> LoggedRun:
    """Write the logs of processes; return the joined run."""
    for rank in ranks:
        write_rank(logdir, rank, WHOLE.shape, steps)
    (run,) = join_ranks(read_logdir(logdir))
    return run


MESHES = {
    "sharded": mesh_ranks({"fsdp": 2}, "fsdp:S0", {(at,): halves(0)[at] for at in range(2)}),
    "uneven": mesh_ranks(
        {"fsdp": 4}, "fsdp:S0", {(at,): WHOLE.tensor_split(4)[at] for at in range(4)}
    ),
    "one part empty": mesh_ranks({"fsdp": 2}, "fsdp:S0", {(0,): WHOLE, (1,): WHOLE[:0]}),
    "hybrid": mesh_ranks(
        {"replicate": 2, "shard": 2},
        "replicate:R,shard:S0",
        {(copy, at): halves(0)[at] for copy in range(2) for at in range(2)},
    ),
    "sharded and tensor parallel": mesh_ranks(
        {"fsdp": 2, "tp": 2},
        "fsdp:S0,tp:S1",
        {(a, b): halves(0)[a].tensor_split(2, 1)[b] for a in range(2) for b in range(2)},
    ),
    "both along one dimension": mesh_ranks(
        {"fsdp": 2, "tp": 2},
        "fsdp:_S0,tp:S0",
        {(a, b): WHOLE.tensor_split(4)[2 * b + a] for a in range(2) for b in range(2)},
    ),
}


@pytest.mark.parametrize("name", MESHES)
def test_parts_are_joined_to_the_whole(name: str, tmp_path: pathlib.Path) -> None:
    run = written(tmp_path, MESHES[name], steps=(0, 3))
    assert run.name == "." and run.warnings == ()
    (graph,) = run.graphs.values()
    assert not graph.part_rows
    assert [record.step for record in run.records] == [0, 3]
    for record in run.records:
        whole = WHOLE * (record.step + 1)
        assert_statistics(record.table.row(0), whole, name)
        assert record.quantities["grad_norm"] == pytest.approx(float(whole.norm()))
        assert record.quantities["loss"] == np.mean([rank.loss for rank in MESHES[name]])


def test_what_each_process_computed_is_the_middle_one(tmp_path: pathlib.Path) -> None:
    run = written(tmp_path, MESHES["hybrid"])
    (record,) = run.records
    assert record.table.row(1).l2_norm == 2.0  # of 1, 2, 3 and 4 the lower middle


def test_nan_of_one_process_is_not_lost(tmp_path: pathlib.Path) -> None:
    ranks = list(MESHES["hybrid"])
    ranks[3] = dataclasses.replace(ranks[3], sample=torch.tensor([1.0, float("nan"), 0, 0]))
    (record,) = written(tmp_path, ranks).records
    assert record.table.row(1).nan == 1


@pytest.mark.parametrize("name", ["sharded", "sharded and tensor parallel"])
def test_a_missing_rank_is_told_and_its_tensors_stay_parts(
    name: str, tmp_path: pathlib.Path
) -> None:
    ranks = MESHES[name]
    run = written(tmp_path, [*ranks[:1], *ranks[2:]])
    if len(ranks) == 2:  # rank 0 alone is a run as before
        assert run.warnings == ()
    else:
        (warning,) = run.warnings
        assert warning.startswith("3 of 4 ranks were recorded; missing: 1.")
    (graph,) = run.graphs.values()
    assert graph.part_rows == {0}


def test_a_missing_copy_is_not_missed(tmp_path: pathlib.Path) -> None:
    ranks = MESHES["hybrid"]
    run = written(tmp_path, ranks[:2])  # ranks 2 and 3 have the same parts
    assert run.warnings == ()
    assert_statistics(run.records[0].table.row(0), WHOLE, "first copy")


def test_a_step_that_one_rank_lacks_has_no_number_and_a_reason(tmp_path: pathlib.Path) -> None:
    first, second = MESHES["sharded"]
    write_rank(tmp_path, first, WHOLE.shape, (0, 1, 2))
    write_rank(tmp_path, second, WHOLE.shape, (0, 2))
    (run,) = join_ranks(read_logdir(tmp_path))
    lacking = run.records[1]
    assert lacking.step == 1 and lacking.table.row(0) is None
    assert lacking.unread == {0: "1 of 2 parts were recorded at this step"}
    assert "grad_norm" not in lacking.quantities
    assert lacking.quantity_reasons["grad_norm"] == "not all parts of the parameters were recorded"
    for record in (run.records[0], run.records[2]):
        assert_statistics(record.table.row(0), WHOLE * (record.step + 1), "others")


def test_parts_that_are_not_all_elements_give_no_number(tmp_path: pathlib.Path) -> None:
    first, second = MESHES["sharded"]
    run = written(tmp_path, [first, dataclasses.replace(second, part=second.part[:1])])
    (record,) = run.records
    assert record.table.row(0) is None
    assert record.unread[0] == "its parts have 16 elements together, not 24"


def test_the_log_of_another_training_is_left_out(tmp_path: pathlib.Path) -> None:
    first, second = MESHES["sharded"]
    other = dataclasses.replace(second.process, run_id="host:2")
    run = written(tmp_path, [first, dataclasses.replace(second, process=other)])
    assert "ranks/1 is of another training (rank 1 of 2, run id 'host:2')" in run.warnings[0]
    (graph,) = run.graphs.values()
    assert graph.part_rows == {0}


def test_a_log_that_claims_any_size_of_a_mesh_is_read(tmp_path: pathlib.Path) -> None:
    most = 2**32 - 1
    mesh = tuple((f"dim{number}", most, 0) for number in range(40))
    placement = ",".join(f"{name}:S0" for name, *_ in mesh)
    ranks = [
        RankOf(Process(rank, most, "host:1", mesh), placement, WHOLE, torch.ones(4))
        for rank in range(2)
    ]
    run = written(tmp_path, ranks)
    assert run.warnings[0].startswith("2 of 4294967295 ranks were recorded; missing: 2, 3, 4")
    (graph,) = run.graphs.values()
    assert graph.part_rows == {0}


def test_ranks_that_ran_another_graph_are_told_once(tmp_path: pathlib.Path) -> None:
    first, second = MESHES["sharded"]
    write_rank(tmp_path, first, WHOLE.shape, (0, 1, 2))
    write_rank(tmp_path, second, (7, 4), (0, 1, 2))
    (run,) = join_ranks(read_logdir(tmp_path))
    told = [text for text in run.warnings if "ran another graph" in text]
    assert (
        len(told) == 1 and "tag 'net': ranks 1 ran another graph than rank 0 at step 0" in told[0]
    )
    (graph,) = run.graphs.values()
    assert graph.part_rows == {0}


def test_terms_of_a_sum_are_not_joined(tmp_path: pathlib.Path) -> None:
    ranks = mesh_ranks({"tp": 2}, "tp:P", {(0,): WHOLE, (1,): -WHOLE})
    run = written(tmp_path, ranks)
    (graph,) = run.graphs.values()
    assert graph.part_rows == {0}
    assert_statistics(run.records[0].table.row(0), WHOLE, "the first term")


def test_several_trainings_beside_each_other(tmp_path: pathlib.Path) -> None:
    for name in ("one", "two"):
        for rank in MESHES["sharded"]:
            write_rank(tmp_path / name, rank, WHOLE.shape)
    write_rank(tmp_path / "lost", MESHES["sharded"][1], WHOLE.shape)  # rank 0 wrote nothing
    runs = join_ranks(read_logdir(tmp_path))
    assert [run.name for run in runs] == ["lost/ranks/1", "one", "two"]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("ranks/1", (".", 1)),
        ("a/b/ranks/12", ("a/b", 12)),
        ("ranks/ranks/2", ("ranks", 2)),
        ("a/ranks/0", None),
        ("a/ranks/01", None),
        ("a/ranks/x", None),
        ("a/ranks/1/b", None),
        ("aranks/1", None),
        ("a/ranks/9999999999", None),
        ("<b>\n/ranks/1", ("<b>\n", 1)),
    ],
)
def test_names_of_runs(run: str, expected: tuple[str, int] | None) -> None:
    assert rank_of(run) == expected
