"""``tb-gradgraph doctor LOGDIR``: what it says of a log from which the panel stays empty."""

from __future__ import annotations

import pathlib
import re

import pytest
import torch
from torch.utils.tensorboard import SummaryWriter as TorchWriter

from tb_gradgraph import SummaryWriter
from tb_gradgraph.commands import doctor
from tb_gradgraph.commands import main as cli
from tb_gradgraph.record.format.envelope import parse_tag
from tb_gradgraph.record.read.event_file import read_event_file

LINEAR = torch.nn.Linear(2, 1)
X = torch.ones(3, 2)


@pytest.fixture
def diagnose(monkeypatch, capsys):
    """Return the exit status and what is said of a directory, the environment left out."""
    monkeypatch.setattr(doctor, "CHECKS", ())

    def run(logdir: pathlib.Path) -> tuple[int, str]:
        return cli.main(["doctor", str(logdir)]), capsys.readouterr().out

    return run


def test_a_training_is_told_with_its_steps(diagnose, tmp_path):
    with SummaryWriter(str(tmp_path / "a")) as writer:
        writer.watch(LINEAR, every_n_steps=2)
        for _ in range(5):
            LINEAR(X).sum().backward()
    with SummaryWriter(str(tmp_path / "b")) as writer:
        writer.add_grad_graph(LINEAR, X, 7, tag="net")
    status, printed = diagnose(tmp_path)
    assert status == 0, printed
    assert "2 event files in 2 runs" in printed
    assert re.search(r"run a, tag \S+: 1 graph, 3 steps, 0 to 4 \(backward", printed)
    assert "run b, tag net: 1 graph, step 7 (backward)" in printed
    assert f"torch {torch.__version__}" in printed
    assert "2 runs for the panel to show" in printed


def test_a_training_with_errors_is_not_called_well_and_the_findings_are_named(diagnose, tmp_path):
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(LINEAR, every_n_steps=1)
        (LINEAR(X).sum() * torch.nan).backward()
    status, printed = diagnose(tmp_path)
    assert (status, "Nothing found wrong" in printed) == (0, False)
    *_, last = printed.splitlines()
    assert last == (
        "The recording works. 1 of 1 recorded training not healthy (1 error): tb-gradgraph findings "
        f"{tmp_path}"
    )


def test_healthy_trainings_are_called_healthy(diagnose, trainings_logdir):
    status, printed = diagnose(trainings_logdir / "healthy")
    assert (status, printed.splitlines()[-1]) == (
        *(0, "Nothing found wrong. 1 recorded training: healthy."),
    )


def test_two_sessions_of_one_run_are_counted(diagnose, tmp_path):
    for step in range(2):
        with SummaryWriter(str(tmp_path)) as writer:
            writer.add_grad_graph(LINEAR, X, step)
    assert "run .: 2 sessions" in diagnose(tmp_path)[1]


def test_what_is_no_directory_is_named(diagnose, tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert diagnose(file)[0] == 1
    assert "file is a file" in diagnose(file)[1]
    assert "none does not exist" in diagnose(tmp_path / "none")[1]


def test_no_event_file(diagnose, tmp_path):
    status, printed = diagnose(tmp_path)
    assert status == 1
    assert f"no event file below {tmp_path}" in printed


def test_event_files_of_others_alone(diagnose, tmp_path):
    with TorchWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", 1.0, 0)
    status, printed = diagnose(tmp_path)
    assert status == 1
    assert "none of them holds records of tb_gradgraph" in printed
    assert "writer.add_grad_graph(model, input)" in printed


def test_a_backward_that_never_ran(diagnose, tmp_path):
    writer = SummaryWriter(str(tmp_path))
    writer.add_grad_graph(LINEAR(X).sum())
    with pytest.warns(UserWarning, match="no backward ran"):
        writer.close()
    status, printed = diagnose(tmp_path)
    assert status == 1
    assert "no gradient was recorded" in printed
    assert "call loss.backward() while the writer is open" in printed


def test_a_session_without_records(diagnose, tmp_path):
    _keep_events(tmp_path, kinds={"manifest"})
    status, printed = diagnose(tmp_path)
    assert status == 1
    assert "a session began" in printed


def test_a_structure_that_is_missing(diagnose, tmp_path):
    _keep_events(tmp_path, kinds={"manifest", "stats"})
    status, printed = diagnose(tmp_path)
    assert status == 1
    assert "the structure of 1 graph is missing" in printed


def test_damaged_bytes_are_told_beside_what_can_be_read(diagnose, tmp_path):
    with SummaryWriter(str(tmp_path / "whole")) as writer:
        writer.add_grad_graph(LINEAR, X)
    with SummaryWriter(str(tmp_path / "damaged")) as writer:
        writer.add_grad_graph(LINEAR, X)
    (path,) = (tmp_path / "damaged").iterdir()
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    status, printed = diagnose(tmp_path)
    assert status == 1
    assert "run damaged: damaged, or of a newer version: " in printed
    assert "run whole: 1 session" in printed


def test_names_cannot_move_the_cursor(diagnose, tmp_path):
    with SummaryWriter(str(tmp_path / "a\x1b[2Jb")) as writer:
        writer.add_grad_graph(LINEAR, X)
    printed = diagnose(tmp_path)[1]
    assert "run a?[2Jb: " in printed
    assert "\x1b" not in printed


def _keep_events(logdir: pathlib.Path, kinds: set[str]) -> None:
    """Write a log of which only events with nothing of ours, or records of ``kinds``, are left."""
    with SummaryWriter(str(logdir)) as writer:
        writer.add_grad_graph(LINEAR, X)
    (path,) = logdir.iterdir()
    content, start, kept = path.read_bytes(), 0, b""
    for event in read_event_file(path):
        end = start + event.ByteSize() + 16  # a length and two checksums
        tags = [parse_tag(value.tag) for value in event.summary.value]
        if all(tag is None or tag.kind in kinds for tag in tags):
            kept += content[start:end]
        start = end
    assert start == len(content)
    path.write_bytes(kept)
