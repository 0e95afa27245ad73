"""``tb-gradgraph demo``: the training that an installed package shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request

import pytest
import torch

from tb_gradgraph.commands import demo
from tb_gradgraph.commands import main as cli
from tb_gradgraph.diagnose.run import RunFinding, find_in_course
from tb_gradgraph.health.logged import trainings_of
from tests.logged import LoggedRun, read_logdir, read_tensor


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LoggedRun]:
    """Both trainings of the command, by name."""
    logdir = tmp_path_factory.mktemp("demo")
    assert cli.main(["demo", "--logdir", str(logdir), "--no-serve"]) == 0
    return {run.name: run for run in read_logdir(logdir)}


def find_in_run(run: LoggedRun) -> list[RunFinding]:
    """Return what looks wrong in the one training of a run, the worst first."""
    ((_, course),) = trainings_of(run)
    return find_in_course(course)


def test_both_trainings_are_logged_with_what_plain_torch_computes(trained):
    assert trained.keys() == {"gpt-mistake", "gpt-no-mistake"}
    for run in trained.values():
        steps = {record.step for record in run.records}
        assert 0 in steps
        assert steps <= set(range(0, demo.STEPS, demo.EVERY_N_STEPS))
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model, tokens = demo.GPT(), demo.make_batch(demo.LENGTH + 1)
        logits = model(tokens[:, :-1]).flatten(0, 1)
        torch.nn.functional.cross_entropy(logits, tokens[:, 1:].flatten()).backward()
        record = next(one for one in run.records if one.step == 0 and one.stage == "backward")
        for name in ("wte.weight", "h.0.attn.qkv.weight", "lm_head.weight"):
            expected = model.get_parameter(name).grad.norm().item()
            found = read_tensor(run, record, name).statistics.l2_norm
            assert found == pytest.approx(expected, rel=1e-4)


def test_the_mistake_is_found_at_its_step_and_the_other_training_is_healthy(trained):
    worst = find_in_run(trained["gpt-mistake"])[0]
    assert (worst.kind, worst.first_step) == ("loss_rising", demo.MISTAKE[0])
    assert {one.severity for one in find_in_run(trained["gpt-no-mistake"])} <= {"note"}


def test_second_demo_writes_more_runs(tmp_path, capsys):
    for _ in range(2):
        assert cli.main(["demo", "--logdir", str(tmp_path), "--no-serve", "--steps", "1"]) == 0
    names = [path.name for path in tmp_path.iterdir()]
    assert sorted(names) == ["gpt-mistake", "gpt-mistake-2", "gpt-no-mistake", "gpt-no-mistake-2"]
    assert "40 times too high at steps 50 to 52" in capsys.readouterr().out


def test_random_state_is_left_as_it_was(tmp_path):
    before = torch.get_rng_state()
    demo.train(tmp_path / "run", steps=1)
    assert torch.equal(torch.get_rng_state(), before)


def test_unwritable_directory_is_an_error_message(tmp_path, capsys):
    blocker = tmp_path / "file"
    blocker.write_text("")
    assert cli.main(["demo", "--logdir", str(blocker), "--no-serve", "--steps", "1"]) == 1
    assert capsys.readouterr().err.startswith("tb-gradgraph demo: ")


@pytest.mark.parametrize("command", ["demo", "summary", "doctor", "export"])
def test_every_command_has_help(command: str, capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    assert f"usage: tb-gradgraph {command}" in capsys.readouterr().out


def test_demo_serves_what_it_logged(tmp_path):
    command = [
        sys.executable,
        "-m",
        "tb_gradgraph.commands.main",
        "demo",
        "--logdir",
        str(tmp_path),
    ]
    options = ["--port", "0", "--steps", "1"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            found = (re.search(r"(http://\S+)#gradgraph", line) for line in process.stdout)
            address = next(match for match in found if match)[1]
            with urllib.request.urlopen(f"{address}data/plugin/gradgraph/runs") as answer:
                assert "runs" in json.load(answer)
        finally:
            process.terminate()
