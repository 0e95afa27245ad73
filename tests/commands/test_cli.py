"""The commands that need no training: summary and doctor, and how errors are said."""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from tb_gradgraph.commands import doctor
from tb_gradgraph.commands import main as cli
from tests.patience import patient


@pytest.fixture
def logdir(demo_logdir, tmp_path: pathlib.Path) -> pathlib.Path:
    """Two runs, one of them with two graphs."""
    for name in ("chain_rule", "two_drawings"):
        shutil.copytree(demo_logdir(name), tmp_path / "runs" / name)
    return tmp_path / "runs"


def test_summary_lists_runs_tags_and_steps(logdir, capsys):
    assert cli.main(["summary", str(logdir)]) == 0
    table, _, health = capsys.readouterr().out.partition("\n\n")
    header, _, *rows, last = table.splitlines()
    assert header.split()[:3] == ["run", "tag", "graph"]
    assert last.startswith("run two_drawings, tag module, last values (step 0): grad_norm/backward")
    assert [row.split()[:2] for row in rows] == [
        ["chain_rule", "loss"],
        ["two_drawings", "module"],
        ["two_drawings", "tensors"],
    ]
    assert health.splitlines()[-2].startswith("run chain_rule: healthy.")
    assert all(row.split()[4:] == ["1", "1", "0", "backward", "0"] for row in rows)


def test_summary_of_one_run_directory(logdir, capsys):
    assert cli.main(["summary", str(logdir / "chain_rule")]) == 0
    assert capsys.readouterr().out.splitlines()[2].split()[:2] == [".", "loss"]


def test_summary_of_an_empty_directory_says_so(tmp_path, capsys):
    assert cli.main(["summary", str(tmp_path)]) == 1
    assert "No graph was recorded" in capsys.readouterr().out


def test_summary_of_a_damaged_file_warns_and_shows_the_rest(logdir, capsys):
    (path,) = (logdir / "chain_rule").iterdir()
    content = bytearray(path.read_bytes())
    content[-5] ^= 1  # the last event: the flush at the end, or the statistics
    path.write_bytes(content)
    assert cli.main(["summary", str(logdir)]) == 0
    captured = capsys.readouterr()
    assert "two_drawings" in captured.out
    assert captured.err.startswith("warning: run chain_rule: ")


def test_missing_directory_is_an_error_message(tmp_path, capsys):
    assert cli.main(["summary", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.startswith("tb-gradgraph summary: expected a log directory")


def test_no_command_is_bad_usage(capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main([])
    assert "COMMAND" in capsys.readouterr().err


def test_it_runs_as_a_module_too(logdir):
    command = [sys.executable, "-m", "tb_gradgraph", "summary", str(logdir)]
    limit_s = patient(30)
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=limit_s)
    assert done.stdout.startswith("run ")


def test_doctor_finds_nothing_wrong_here(capsys):
    status = cli.main(["doctor"])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert "TensorBoard finds the plugin" in printed
    assert "the panel is there" in printed


def test_doctor_says_what_to_do_when_the_panel_is_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(doctor, "STATIC", tmp_path)
    assert cli.main(["doctor"]) == 1
    assert "cure: reinstall" in capsys.readouterr().out


def test_doctor_warns_of_another_tensorboard_on_the_path(monkeypatch, tmp_path, capsys):
    other = tmp_path / "tensorboard"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert cli.main(["doctor"]) == 0
    assert f"another environment's, without this plugin: {other}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ({"torch": "2.5.1"}, "torch 2.5.1 is older than 2.6"),
        ({"tensorboard": None}, "tensorboard is not installed"),
        ({"torch": None}, "note   torch is not installed"),
        ({"tensorboard": "2.20.0", "setuptools": "82.0.1"}, "needs pkg_resources"),
    ],
)
def test_doctor_compares_versions(versions, text, monkeypatch, capsys):
    found = {"torch": "2.13.0", "tensorboard": "2.21.0", "protobuf": "7.0", "setuptools": "80"}
    monkeypatch.setattr(doctor, "_find_version", {**found, **versions}.get)
    cli.main(["doctor"])
    assert text in capsys.readouterr().out


def test_export_as_csv_has_one_line_a_tensor(logdir, capfdbinary):
    assert cli.main(["export", str(logdir), "--run", "chain_rule", "--format", "csv"]) == 0
    header, *rows = csv.reader(io.StringIO(capfdbinary.readouterr().out.decode()))
    labels = {(row[header.index("name")], row[header.index("operation")]) for row in rows}
    assert {("x", "leaf"), ("y1", "AddBackward0"), ("x -> add", "share of an edge")} <= labels
    assert {row[header.index("run")] for row in rows} == {"chain_rule"}
    named = {row[header.index("key")]: dict(zip(header, row)) for row in rows}
    assert float(named["/AddBackward0.0:0"]["mean"]) == -4
    assert float(named["leaf:x:0"]["l2_norm"]) == 4


@pytest.mark.parametrize("last", [True, False])
def test_export_takes_options_before_between_and_after_what_it_is_given(logdir, tmp_path, last):
    page, options = str(tmp_path / "net.html"), ["--run", "chain_rule"]
    rest = [str(logdir), page, *options] if last else [str(logdir), *options, page]
    assert cli.main(["export", "--html", *rest]) == 0
    assert pathlib.Path(page).read_bytes().startswith(b"<!doctype html>")


def test_export_of_one_argument_too_many_is_bad_usage(logdir, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["export", str(logdir), "--run", "chain_rule", "net.json", "more"])
    assert "unrecognized arguments: more" in capsys.readouterr().err


def test_export_as_json_into_a_file(logdir, tmp_path):
    target = tmp_path / "out.json"
    arguments = ["export", str(logdir / "two_drawings"), "--tag", "module"]
    assert cli.main([*arguments, "--output", str(target)]) == 0
    content = json.loads(target.read_text())
    assert content["tag"] == "module"
    (record,) = content["records"]
    assert 28 in record["statistics"]["mean"]


@pytest.mark.parametrize("format_name", ["json", "dot"])
def test_a_reader_that_leaves_is_no_error(format_name, logdir):
    command = [
        sys.executable,
        "-m",
        "tb_gradgraph.commands.main",
        "export",
        str(logdir / "chain_rule"),
    ]
    reader, writer = os.pipe()
    os.close(reader)  # as head does before the last line was written
    with open(writer, "wb") as output:
        finished = subprocess.run(
            [*command, "--format", format_name], stdout=output, stderr=subprocess.PIPE, text=True
        )
    assert finished.stderr == ""
    assert finished.returncode == 141  # as a shell says of one that SIGPIPE ended


def test_export_as_dot_draws_the_graph(logdir, capfdbinary):
    assert cli.main(["export", str(logdir), "--run", "chain_rule", "--format", "dot"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"digraph {")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "expected --run with one of chain_rule, two_drawings; got none."),
        (["--run", "x"], "expected --run with one of chain_rule, two_drawings; got 'x'."),
        (["--run", "two_drawings"], "expected --tag with one of module, tensors; got none."),
        (["--run", "chain_rule", "--step", "7"], "Expected hash, step, backward pass and"),
        (["--run", "chain_rule", "--step", "x"], "Expected 'step' to be a whole number"),
    ],
)
def test_export_of_what_is_not_there_says_what_is(options, message, logdir, capsys):
    assert cli.main(["export", str(logdir), *options]) == 1
    assert capsys.readouterr().err.startswith(f"tb-gradgraph export: {message}")


def test_export_from_an_empty_directory_says_so(tmp_path, capsys):
    assert cli.main(["export", str(tmp_path)]) == 1
    assert "expected a run with recorded graphs, found none" in capsys.readouterr().err


def test_demo_without_torch_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "tb_gradgraph.commands.demo", raising=False)
    monkeypatch.delattr("tb_gradgraph.commands.demo", raising=False)
    assert cli.main(["demo", "--logdir", str(tmp_path)]) == 1
    assert 'pip install "torch>=2.6"' in capsys.readouterr().err
