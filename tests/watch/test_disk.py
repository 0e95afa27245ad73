"""A log directory that can no longer be written to, really: one warning, and training goes on."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

from tests import warm
from tests.logged import read_one_run

#: Trains three steps, has something happen to the directory, and trains on. TensorBoard's writer
#: raises from its own methods then, with a watch or without.
PROGRAM = """
import contextlib, json, os, pathlib, resource, shutil, signal, sys, warnings
import torch
import tb_gradgraph

how, logdir, watches = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3] == "watched"
torch.manual_seed(0)
net = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(net.parameters(), 0.1)
writer = tb_gradgraph.SummaryWriter(str(logdir))
watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level="op") if watches else None
flushes = 0
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    for step in range(30):
        optimizer.zero_grad()
        net(torch.ones(2, 64)).square().mean().backward()
        optimizer.step()
        with contextlib.suppress(OSError):
            writer.add_scalar("loss", 1.0, step)
            writer.flush()
            flushes += 1
        if step != 2:
            continue
        (file,) = logdir.glob("events*")
        if how in ("removed", "a file"):
            shutil.rmtree(logdir)
        if how == "a file":
            logdir.write_text("")
        if how == "full":
            file.rename(logdir / "kept")
            file.symlink_to("/dev/full")
        if how == "limited":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 20, -1))
        if how == "read-only":
            file.chmod(0o444)
            logdir.chmod(0o555)
            if os.geteuid() == 0:
                os.seteuid(65534)  # nothing is read-only to root
    with contextlib.suppress(OSError):
        writer.close()
ours = [str(each.message) for each in warned if "tb_gradgraph" in str(each.message)]
print(json.dumps([ours, flushes, step, net.weight.sum().item(), watch is None or watch.closed]))
"""
ERRORS = {
    "removed": "FileNotFoundError",
    "a file": "NotADirectoryError",
    "full": "No space left on device",
    "limited": "File too large",
    "read-only": "PermissionError",
}


def _run(how: str, logdir: pathlib.Path, watched: str) -> list:
    ended = warm.run("-c", PROGRAM, how, str(logdir), watched)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither /dev/full nor limits")
@pytest.mark.parametrize("how", ERRORS)
def test_a_directory_that_fails_in_mid_run(how: str, tmp_path: pathlib.Path) -> None:
    tmp_path.chmod(0o777)
    ours, flushes, step, weight, closed = _run(how, tmp_path / "run", "watched")
    _, bare_flushes, bare_step, bare_weight, _ = _run(how, tmp_path / "bare", "bare")
    (text,) = ours
    assert "recording stopped, training goes on" in text and ERRORS[how] in text
    assert (step, weight, closed) == (bare_step, bare_weight, True)
    assert flushes < 30 and bare_flushes < 30, "the fault was none"
    if how in ("limited", "read-only"):  # what came before is there
        found = read_one_run(tmp_path / "run").records
        assert [record.step for record in found if record.stage == "applied"][:3] == [0, 1, 2]
