"""A log directory that can no longer be written to, really: one warning, and training goes on."""

from __future__ import annotations

import json
import pathlib
import struct
import sys

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from tb_gradgraph.commands.doctor_log import examine_log
from tb_gradgraph.commands.summary import summarize
from tests import warm
from tests.logged import read_one_run

#: Trains three steps, has something happen to the directory, trains on with another graph, has the
#: directory mended after step 15 or not at all, and trains on.
PROGRAM = """
import contextlib, json, os, pathlib, resource, shutil, signal, sys, warnings
import torch
import tb_gradgraph

how, logdir, watches, mends = sys.argv[1], pathlib.Path(sys.argv[2]), *(x == "1" for x in sys.argv[3:])
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
        out = net(torch.ones(2, 64))
        (out.square() if step < 6 else out.abs()).mean().backward()
        optimizer.step()
        with contextlib.suppress(OSError):
            writer.add_scalar("loss", 1.0, step)
            writer.flush()
            flushes += 1
        if step == 15 and mends:
            seen = file.read_bytes() if how == "limited" else b""
            if how == "full":
                file.unlink()
                (logdir / "kept").rename(file)
            if how == "limited":
                resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
            if how == "read-only":
                os.seteuid(os.getuid())
                file.chmod(0o644)
                logdir.chmod(0o755)
            with contextlib.suppress(OSError):
                writer.flush()
            assert file.read_bytes().startswith(seen)
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
GONE = {"removed": "FileNotFoundError", "a file": "NotADirectoryError"}
PASSING = {
    "full": "No space left on device",
    "limited": "File too large",
    "read-only": "PermissionError",
}

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has neither /dev/full nor limits"
)


def _run(how: str, logdir: pathlib.Path, watched: bool, mended: bool = False) -> list:
    logdir.parent.chmod(0o777)
    arguments = (how, str(logdir), str(int(watched)), str(int(mended)))
    ended = warm.run("-c", PROGRAM, *arguments)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def _count_events(path: pathlib.Path) -> int:
    """Count the events of a file that ends with a whole one."""
    content, at, count = path.read_bytes(), 0, 0
    while at < len(content):
        at += 16 + struct.unpack_from("<Q", content, at)[0]
        count += 1
    assert at == len(content)
    return count


def _applied(logdir: pathlib.Path) -> list[int]:
    return [record.step for record in read_one_run(logdir).records if record.stage == "applied"]


@pytest.mark.parametrize("how", GONE)
def test_a_directory_that_is_gone_ends_the_recording(how: str, tmp_path: pathlib.Path) -> None:
    ours, flushes, step, weight, closed = _run(how, tmp_path / "run", True)
    _, bare_flushes, bare_step, bare_weight, _ = _run(how, tmp_path / "bare", False)
    (text,) = ours
    assert "recording stopped, training goes on" in text and GONE[how] in text
    assert (step, weight, closed) == (bare_step, bare_weight, True)
    assert flushes < 30 and bare_flushes < 30, "the fault was none"


@pytest.mark.parametrize("how", PASSING)
def test_recording_and_scalars_go_on_when_there_is_room_again(
    how: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logdir = tmp_path / "run"
    ours, flushes, step, weight, closed = _run(how, logdir, True, True)
    _, bare_flushes, bare_step, bare_weight, _ = _run(how, tmp_path / "bare", False, True)
    assert bare_flushes < 30, "the fault was none"
    (text,) = ours
    assert "cannot be written" in text and PASSING[how] in text
    assert (flushes, step, weight, closed) == (30, bare_step, bare_weight, True)
    run = read_one_run(logdir)
    steps = _applied(logdir)
    assert steps[:3] == [0, 1, 2] and steps[-14:] == list(range(16, 30))
    (gap,) = run.gaps
    missing = sorted({*range(30)}.difference(steps))
    assert missing and (gap.first_step, gap.last_step) == (missing[0], missing[-1])
    assert gap.records == 2 * len(missing), "backward and applied"
    assert PASSING[how] in gap.why
    assert {record.graph_hash for record in run.records} == run.graphs.keys()
    assert len(run.graphs) == 2
    (file,) = logdir.glob("events*")
    events = list(EventFileLoader(str(file)).Load())
    assert len(events) == _count_events(file)
    scalars = [
        event.step for event in events for value in event.summary.value if value.tag == "loss"
    ]
    assert scalars == list(range(30))
    assert summarize(str(logdir)) == 0
    assert gap.text in capsys.readouterr().out
    assert any(gap.text in finding.text for finding in examine_log(logdir))


@pytest.mark.parametrize("how", ["limited", "read-only"])
def test_what_came_before_is_there_without_a_half_event(how: str, tmp_path: pathlib.Path) -> None:
    ours, flushes, *_ = _run(how, tmp_path / "run", True)
    assert len(ours) == 1 and flushes == 30
    assert _applied(tmp_path / "run")[:3] == [0, 1, 2]
    (file,) = (tmp_path / "run").glob("events*")
    assert _count_events(file) == len(list(EventFileLoader(str(file)).Load()))
