"""The plugin joins what the processes of a training wrote, as they write it."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

from tb_gradgraph.ranks import join_ranks
from tb_gradgraph.record import EventFiles, read_logdir
from tb_gradgraph.serve import Reader
from tests.ranks.rank_logs import write_rank
from tests.ranks.test_joined_run import MESHES, WHOLE
from tests.training.loops import assert_statistics


class Growing:
    """The provider of a log directory, read anew at each listing."""

    def __init__(self, logdir: pathlib.Path) -> None:
        self._logdir = logdir
        self._files = EventFiles(logdir)

    def list_tensors(self, *given, **named):
        self._files = EventFiles(self._logdir)
        return self._files.list_tensors(*given, **named)

    def read_tensors(self, *given, **named):
        return self._files.read_tensors(*given, **named)


@pytest.mark.parametrize("name", MESHES)
def test_the_plugin_shows_what_is_read_without_it(name: str, tmp_path: pathlib.Path) -> None:
    for rank in MESHES[name]:
        write_rank(tmp_path / "net", rank, WHOLE.shape, (0, 5))
    (run,) = join_ranks(read_logdir(tmp_path))
    reader = Reader(EventFiles(tmp_path))
    views = reader.runs()
    ranks = {f"net/ranks/{rank.process.rank}" for rank in MESHES[name]}
    assert set(views) == {"net", *ranks}
    view = views["net"]
    assert len(view.records["net"]) == 2
    for entry, record in zip(view.records["net"], run.records):
        table = reader.table(view, entry)
        np.testing.assert_allclose(table.values, record.table.values, rtol=1e-6)
        assert entry.quantities == record.quantities
    assert not reader.graph(view, view.records["net"][0].graph_hash).part_rows


def test_what_is_missing_is_among_the_warnings(tmp_path: pathlib.Path) -> None:
    ranks = MESHES["sharded and tensor parallel"]
    for rank in (*ranks[:1], *ranks[2:]):
        write_rank(tmp_path, rank, WHOLE.shape)
    (run,) = join_ranks(read_logdir(tmp_path))
    views = Reader(EventFiles(tmp_path)).runs()
    assert list(views["."].warnings) == list(run.warnings)
    assert "3 of 4 ranks were recorded; missing: 1." in run.warnings[0]
    assert views["ranks/2"].warnings == ()


def test_each_process_is_shown_by_itself(tmp_path: pathlib.Path) -> None:
    ranks = MESHES["sharded"]
    for rank in ranks:
        write_rank(tmp_path, rank, WHOLE.shape)
    reader = Reader(EventFiles(tmp_path))
    views = reader.runs()
    for rank in ranks:
        view = views[f"ranks/{rank.process.rank}"]
        (entry,) = view.records["net"]
        assert_statistics(reader.table(view, entry).row(0), rank.part, view.name)
        assert reader.graph(view, entry.graph_hash).part_rows == {0}


def test_a_rank_that_writes_later_is_joined_then(tmp_path: pathlib.Path) -> None:
    first, second = MESHES["sharded"]
    now = 0.0
    write_rank(tmp_path, first, WHOLE.shape, (0, 1))
    reader = Reader(Growing(tmp_path), clock=lambda: now)
    (view,) = reader.runs().values()
    assert reader.graph(view, view.records["net"][0].graph_hash).part_rows == {0}
    write_rank(tmp_path, second, WHOLE.shape, (0,))
    now = 10.0
    view = reader.runs()["."]
    whole, lacking = view.records["net"]
    assert not reader.graph(view, whole.graph_hash).part_rows
    assert_statistics(reader.table(view, whole).row(0), WHOLE, "joined")
    assert reader.table(view, lacking).row(0) is None
    assert lacking.unread == {0: "1 of 2 parts were recorded at this step"}


def test_a_log_that_goes_away_is_no_part_any_more(tmp_path: pathlib.Path) -> None:
    now = 0.0
    for rank in MESHES["sharded"]:
        write_rank(tmp_path, rank, WHOLE.shape)
    reader = Reader(Growing(tmp_path), clock=lambda: now)
    assert len(reader.runs()) == 3
    for path in (tmp_path / "ranks" / "1").iterdir():
        path.unlink()
    now = 10.0
    (view,) = reader.runs().values()
    (entry,) = view.records["net"]
    assert_statistics(reader.table(view, entry).row(0), MESHES["sharded"][0].part, "alone")


def test_a_damaged_log_of_a_rank_costs_only_its_part(tmp_path: pathlib.Path) -> None:
    for rank in MESHES["sharded"]:
        write_rank(tmp_path, rank, WHOLE.shape)
    (path,) = (tmp_path / "ranks" / "1").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    reader = Reader(EventFiles(tmp_path))
    view = reader.runs()["."]
    (entry,) = view.records["net"]
    assert reader.table(view, entry).row(0) is None
    assert entry.unread == {0: "1 of 2 parts were recorded at this step"}
