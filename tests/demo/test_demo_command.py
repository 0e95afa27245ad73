"""``tb-gradgraph demo``: the training that an installed package shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
import torch

from tb_gradgraph.commands import demo
from tb_gradgraph.commands import main as cli
from tests.logged import read_one_run, read_tensor


def test_training_finds_the_equation_and_logs_the_gradients(tmp_path, capsys):
    assert cli.main(["demo", "--logdir", str(tmp_path), "--no-serve"]) == 0
    assert "w = [3.000, 1.000], b = 3.000" in capsys.readouterr().out
    run = read_one_run(tmp_path)
    assert run.name == "net"
    assert [record.step for record in run.records] == list(range(0, 300, demo.EVERY_N_STEPS))
    first, last = (read_tensor(run, run.records[at], "w") for at in (0, -1))
    assert first.statistics.l2_norm > 1
    assert last.statistics.l2_norm < 1e-3
    np.testing.assert_allclose(last.value, demo.WEIGHT, rtol=1e-3)


def test_second_demo_writes_a_second_run(tmp_path, capsys):
    for _ in range(2):
        assert cli.main(["demo", "--logdir", str(tmp_path), "--no-serve", "--steps", "1"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net", "net-2"]


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
