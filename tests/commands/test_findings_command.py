"""``tb-gradgraph findings``: what it prints of trainings, its exit status, and what it says of bad input."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import tb_gradgraph
from tb_gradgraph import SummaryWriter
from tb_gradgraph.commands import main as cli
from tb_gradgraph.health import logged, trainings
from tb_gradgraph.record import LoggedRun, read_logdir
from tests.health.recorded import BAD_STEP, STEPS, make_net
from tests.patience import patient

GOLDEN = pathlib.Path(__file__).parents[1] / "golden/logs"


@pytest.fixture
def say(capsys):
    """Return exit status, standard output and standard error of the command."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = cli.main(["findings", *map(str, arguments)])
        return status, *capsys.readouterr()

    return run


def test_text_says_what_where_when_and_what_to_try(trainings_logdir, say):
    status, out, err = say(trainings_logdir, "--run", "rooted")
    assert (status, err) == (0, "")
    head, loss, *rest = out.splitlines()
    assert re.match(
        rf"run rooted, tag net: 1 error.* in {STEPS} recorded steps \(0 to {STEPS - 1}\)", head
    )
    assert re.match(r"  loss [▁▂▃▄▅▆▇█]{12}×{8} .*× not finite, steps 0 to 19", loss)
    told = " ".join(line.strip() for line in rest)
    (finding, *_) = tb_gradgraph.findings(trainings_logdir, run="rooted")
    assert f"1. error: {finding.kind} at {finding.node}" in told
    assert f"{BAD_STEP} to {STEPS - 1}" in told
    assert finding.text in told and f"Try: {finding.advice}" in told


def test_a_healthy_training_is_called_healthy_in_one_line(trainings_logdir, say):
    status, out, err = say(trainings_logdir, "--run", "healthy", "--fail-on", "warning")
    assert (status, err) == (0, "")
    expected = f"run healthy, tag net: healthy. No error and no warning in {STEPS} recorded steps"
    assert out == f"{expected} (0 to {STEPS - 1}).\n"


def test_the_worst_training_is_first_and_the_healthy_ones_last(trainings_logdir, say):
    _, out, _ = say(trainings_logdir)
    assert re.findall(r"^run (\w+), tag", out, re.MULTILINE) == [
        "rooted",
        "idle",
        "blind",
        "healthy",
    ]


def test_a_log_without_values_says_that_values_would_show_more(trainings_logdir, say):
    _, out, _ = say(trainings_logdir)
    assert out.splitlines()[-1].startswith(
        "run blind: No values were recorded; watch(..., values=True)"
    )
    assert "values=True" not in say(trainings_logdir, "--run", "healthy")[1]


@pytest.mark.parametrize(
    ("run", "options", "status"),
    [
        ("rooted", [], 0),
        ("rooted", ["--fail-on", "error"], 1),
        ("rooted", ["--fail-on", "warning"], 1),
        ("idle", ["--fail-on", "error"], 0),
        ("idle", ["--fail-on", "warning"], 1),
        ("idle", ["--fail-on", "warning", "--ignore", "no_gradient"], 0),
        ("idle", ["--fail-on", "warning", "--ignore", "no_gradient:idle.*,frozen"], 0),
        ("idle", ["--fail-on", "warning", "--ignore", "no_gradient:body.*"], 1),
        ("idle", ["--fail-on", "warning", "--ignore", "frozen", "--ignore", "no_gradient"], 0),
    ],
)
def test_the_exit_status_is_1_if_something_bad_is_left(trainings_logdir, say, run, options, status):
    found, _, err = say(trainings_logdir, "--run", run, *options)
    assert found == status
    assert ("found (--fail-on)" in err) == bool(status)


@pytest.mark.parametrize(
    "ignored",
    [
        ["--ignore", "no_gradient"],
        ["--ignore", "no_gradient", "--ignore", "frozen"],
        ["--ignore", "frozen,no_gradient:idle.*"],
        ["--ignore=frozen, no_gradient"],
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_the_directory_may_come_before_what_is_ignored_or_after_it(
    trainings_logdir, say, ignored, is_first
):
    places = [trainings_logdir, *ignored] if is_first else [*ignored, trainings_logdir]
    status, out, err = say("--run", "idle", "--fail-on", "warning", *places)
    assert (status, err) == (0, "") and "idle" in out


def test_without_torch_and_for_a_stream_without_blocks(trainings_logdir):
    script = (
        "import sys; sys.modules['torch'] = None\n"
        "from tb_gradgraph.commands.main import main; sys.exit(main(sys.argv[1:]))"
    )
    for command in ("findings", "summary"):
        done = subprocess.run(
            [sys.executable, "-c", script, command, str(trainings_logdir)],
            env={**os.environ, "PYTHONIOENCODING": "ascii"},
            capture_output=True,
            text=True,
            timeout=patient(60),
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert "run healthy" in done.stdout and "?????" in done.stdout


def test_what_was_ignored_is_counted(trainings_logdir, say):
    _, out, _ = say(trainings_logdir, "--run", "idle", "--ignore", "no_gradient")
    assert out.startswith("run idle, tag net: healthy.") and "1 finding ignored" in out


def test_the_process_ends_with_the_status(trainings_logdir):
    command = [sys.executable, "-m", "tb_gradgraph", "findings", str(trainings_logdir)]
    done = subprocess.run(
        [*command, "--fail-on", "error"], capture_output=True, text=True, timeout=patient(60)
    )
    assert (done.returncode, done.stderr) == (
        1,
        "tb-gradgraph findings: 1 error found (--fail-on)\n",
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--ignore", "nonsense"],
            "unknown kind of finding 'nonsense'; there are nonfinite_weight,",
        ),
        (["--run", "none"], "run 'none' was not recorded"),
        (["--tag", "none"], "tag 'none' was not recorded"),
        (["--step", "99"], "step 99 was not recorded"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(trainings_logdir, say, options, told):
    status, out, err = say(trainings_logdir, *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("tb-gradgraph findings: ") and told in err


def test_where_nothing_was_recorded_nothing_is_called_healthy(tmp_path, say):
    for directory in (tmp_path, tmp_path / "none"):
        status, out, err = say(directory, "--fail-on", "error")
        assert (status, out) == (2, "")
        assert err.startswith("tb-gradgraph findings: expected a log directory")


def test_one_step_alone(trainings_logdir, say):
    _, out, _ = say(trainings_logdir, "--run", "rooted", "--step", BAD_STEP)
    assert f"in 1 recorded step ({BAD_STEP})" in out
    _, out, _ = say(trainings_logdir, "--run", "rooted", "--step", 3)
    assert out.startswith("run rooted, tag net: healthy.")


def test_a_damaged_record_is_a_warning_and_the_rest_is_told(trainings_logdir, tmp_path, say):
    shutil.copytree(trainings_logdir / "rooted", tmp_path / "rooted")
    (path,) = (tmp_path / "rooted").iterdir()
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    status, out, err = say(tmp_path)
    assert (status, err.startswith("warning: run rooted: ")) == (0, True)
    assert out.startswith("run rooted, tag net: ")


def test_a_log_that_is_being_written_is_read_as_far_as_it_goes(tmp_path, say):
    model = make_net()
    with SummaryWriter(str(tmp_path)) as writer:
        writer.watch(model, every_n_steps=1)
        for steps in (1, 2):
            model(model[0].weight.new_ones(3, 4)).sum().backward()
            writer.flush()
            assert f"in {steps} recorded step" in say(tmp_path)[1]
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-7])  # a record of which only the beginning is there yet
    assert say(tmp_path)[0] == 0


def test_logs_of_older_versions_are_read(say, monkeypatch):
    for directory in sorted(GOLDEN.iterdir()):
        assert say(directory)[0] == 0
    monkeypatch.setattr(trainings, "__version__", "9.0.0")
    assert "recorded by an older tb_gradgraph (0.1.0)" in say(GOLDEN / "dev5")[1]


def test_a_training_whose_structure_is_missing_is_not_called_healthy(
    trainings_logdir, say, monkeypatch
):
    monkeypatch.setattr(logged, "read_logdir", _without_graphs)
    status, out, _ = say(trainings_logdir, "--run", "idle", "--fail-on", "error")
    assert status == 2
    assert out.startswith(
        "run idle, tag net: nothing can be said, because no step of it can be read."
    )
    assert "The structure of 1 of its graphs is missing" in out


def _without_graphs(logdir: pathlib.Path) -> tuple[LoggedRun, ...]:
    return tuple(dataclasses.replace(run, graphs={}) for run in read_logdir(logdir))


def test_hostile_names_do_not_reach_a_terminal(hostile_logdir, say):
    _, out, _ = say(hostile_logdir)
    assert "?[31m?::error::" in out
    assert all(character.isprintable() or character == "\n" for character in out)
