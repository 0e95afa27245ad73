"""What several writers left in one directory, read as one run."""

from __future__ import annotations

import dataclasses

import pytest

from tb_gradgraph.record.read.read_logdir import read_logdir
from tb_gradgraph.record.read.sessions import join_sessions


@dataclasses.dataclass(frozen=True)
class Said:
    text: str
    step: int
    backward_pass: int = 0
    tag: str = "net"
    stage: str = "backward"


def join(*sessions: list[Said]) -> list[tuple[str, int, str]]:
    return [(record.tag, record.step, record.text) for record in join_sessions(sessions)]


def test_later_session_wins_from_its_first_step():
    first = [Said("first", step) for step in range(4)]
    second = [Said("second", step) for step in (2, 5)]
    assert join(first, second) == [
        ("net", 0, "first"),
        ("net", 1, "first"),
        ("net", 2, "second"),
        ("net", 5, "second"),
    ]


def test_session_replaces_only_the_tags_that_it_writes():
    first = [Said("first", 0), Said("first", 0, tag="other")]
    assert join(first, [Said("second", 0)]) == [("net", 0, "second"), ("other", 0, "first")]


def test_what_is_said_again_of_one_pass_replaces_what_was_said_before():
    session = [Said("structure", 0), Said("gradients", 0), Said("second pass", 0, backward_pass=1)]
    assert join(session) == [("net", 0, "gradients"), ("net", 0, "second pass")]


def test_records_are_sorted_by_step_not_by_writing():
    assert join([Said("late", 7), Said("early", 3)]) == [("net", 3, "early"), ("net", 7, "late")]


def test_missing_directory_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a log directory"):
        read_logdir(tmp_path / "none")


def test_directory_without_our_records_is_no_run(tmp_path):
    (tmp_path / "events.out.tfevents.0.host").write_bytes(b"")
    assert read_logdir(tmp_path) == ()
