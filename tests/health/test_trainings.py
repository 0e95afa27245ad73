"""The trainings of a log directory, and the checks of a test."""

from __future__ import annotations

import pytest

import tb_gradgraph
from tb_gradgraph.health import examine


def test_trainings_have_what_findings_gives_the_worst_first(trainings_logdir):
    trainings = examine(trainings_logdir)
    assert [one.run for one in trainings] == ["rooted", "idle", "blind", "healthy"]
    assert [one.is_healthy for one in trainings] == [False, False, True, True]
    assert [one.has_values for one in trainings] == [True, True, False, True]
    assert all(list(one.steps) == list(range(20)) for one in trainings)
    by_run = {one.run: list(one.found) for one in trainings}
    for run, found in by_run.items():
        assert tb_gradgraph.findings(trainings_logdir, run=run) == found
    assert trainings[0].versions.startswith(f"tb_gradgraph {tb_gradgraph.__version__}, torch ")


def test_what_is_ignored_is_counted_and_unknown_kinds_are_errors(trainings_logdir):
    (idle,) = examine(trainings_logdir, run="idle")
    left = idle.without(["no_gradient:idle.*"])
    assert (left.is_healthy, left.ignored, idle.ignored) == (True, 1, 0)
    with pytest.raises(ValueError, match="unknown kind of finding 'nothing'"):
        idle.without(["nothing"])


def test_assert_healthy_passes_or_says_what_is_wrong(trainings_logdir):
    tb_gradgraph.assert_healthy(trainings_logdir / "healthy")
    tb_gradgraph.assert_healthy(trainings_logdir / "idle", fail_on="error")
    tb_gradgraph.assert_healthy(trainings_logdir / "idle", ignore=["no_gradient:idle.*"])
    with pytest.raises(AssertionError, match="warning no_gradient at idle") as caught:
        tb_gradgraph.assert_healthy(trainings_logdir / "idle")
    assert isinstance(caught.value, tb_gradgraph.UnhealthyError)
    assert [one.kind for one in caught.value.findings] == ["no_gradient"]
    with pytest.raises(ValueError, match="expected fail_on"):
        tb_gradgraph.assert_healthy(trainings_logdir / "idle", fail_on="note")


def test_an_empty_directory_is_not_healthy(tmp_path):
    with pytest.raises(ValueError, match="expected a log directory with recorded trainings"):
        tb_gradgraph.assert_healthy(tmp_path)
    with pytest.raises(FileNotFoundError, match="expected a log directory"):
        tb_gradgraph.assert_healthy(tmp_path / "none")


def test_unreadable_records_are_told(trainings_logdir, tmp_path):
    (source,) = (trainings_logdir / "rooted").iterdir()
    content = bytearray(source.read_bytes())
    content[-5] ^= 1
    (tmp_path / source.name).write_bytes(content)
    told: list[str] = []
    (training,) = examine(tmp_path, told=told.append)
    assert [line.startswith("run .: ") for line in told] == [True] and training.steps
