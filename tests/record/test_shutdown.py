"""Processes that end without close(): at exit, by SIGTERM, by an exception."""

from __future__ import annotations

import pathlib
import signal
import sys

import pytest

from tb_gradgraph.record.read.read_logdir import read_logdir
from tests import warm

PROGRAM = """
import os, signal, sys, threading, time
import tensorboardX
from torch.utils.tensorboard import SummaryWriter
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tests.record.samples import make_graph, make_record

{before}
writer = {writer}
sink = WriterSink(writer)
session = Session(sink.add_summary, flush_writer=sink.flush)
session.write_graph("net", make_graph())
session.write_record(make_record(make_graph(), 5))
{end}
"""
TORCH, TENSORBOARDX = "SummaryWriter(sys.argv[1])", "tensorboardX.SummaryWriter(sys.argv[1])"
TERMINATE = "os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)"


def run(tmp_path: pathlib.Path, end: str, writer: str = TORCH, before: str = "") -> int:
    program = PROGRAM.format(end=end, writer=writer, before=before)
    return warm.run("-c", program, str(tmp_path)).returncode


def list_steps(tmp_path: pathlib.Path) -> list[int]:
    return [record.step for run in read_logdir(tmp_path) for record in run.records]


@pytest.mark.parametrize("writer", [TORCH, TENSORBOARDX])
@pytest.mark.parametrize(("end", "status"), [("", 0), ("sys.exit(3)", 3), ("raise ValueError", 1)])
def test_pending_records_are_written_at_exit(tmp_path, writer: str, end: str, status: int):
    assert run(tmp_path, end, writer) == status
    assert list_steps(tmp_path) == [5]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking")
def test_sigterm_writes_pending_records_and_still_kills(tmp_path):
    assert run(tmp_path, TERMINATE) == -signal.SIGTERM
    assert list_steps(tmp_path) == [5]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking")
def test_users_own_handler_is_left_alone(tmp_path):
    before = "signal.signal(signal.SIGTERM, lambda *_: os._exit(7))"
    assert run(tmp_path, TERMINATE, before=before) == 7


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process without asking")
def test_default_handler_comes_back_with_close(tmp_path):
    end = "session.close(); sys.exit(int(signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL))"
    assert run(tmp_path, end) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")
def test_forked_child_dies_of_sigterm_at_once(tmp_path):
    end = """
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
sys.exit(os.WTERMSIG(os.waitpid(child, 0)[1]))
"""
    assert run(tmp_path, end) == signal.SIGTERM
    assert list_steps(tmp_path) == [5]
