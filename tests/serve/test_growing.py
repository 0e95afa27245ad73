"""A run that grows while TensorBoard looks on: nothing is lost and nothing is counted twice."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.record.read.event_file import list_event_files
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tests.patience import wait_until
from tests.record.samples import make_graph, make_record
from tests.serve.conftest import Client
from tests.serve.logs import write_session

WAIT_SECONDS = 30


def wait_for(client: Client, steps: list[int], run: str = "run") -> None:
    """Wait until exactly ``steps`` are listed; fail at once where others are."""

    def are_listed() -> bool:
        listed = client.runs().get(run, {}).get("tags", {}).get("net", {}).get("steps", [])
        assert listed == steps[: len(listed)]
        return listed == steps

    assert wait_until(are_listed, WAIT_SECONDS, every_s=0.2)


@pytest.fixture(params=[True, False], ids=["rust", "python"])
def watched(
    request, tmp_path: pathlib.Path, tensorboard_server: Callable
) -> tuple[pathlib.Path, Client]:
    return tmp_path, Client(tensorboard_server(tmp_path, load_fast=request.param))


def test_run_is_followed_as_it_grows(watched: tuple[pathlib.Path, Client]):
    logdir, client = watched
    assert client.get("runs").json()["runs"] == []
    assert client.fetch("data/plugins_listing").json()["gradgraph"]["enabled"] is False
    graph = make_graph()
    with SummaryWriter(str(logdir / "run")) as writer:
        sink = WriterSink(writer)
        session = Session(sink.add_summary, flush_writer=sink.flush)
        session.write_graph("net", graph)
        session.write_record(make_record(graph, 0))
        session.flush()
        wait_for(client, [0])
        pulse = client.get("pulse").json()
        session.write_record(make_record(graph, 1))
        session.flush()
        wait_for(client, [0, 1])
        assert client.get("pulse").json() != pulse
        session.close()
    write_session(logdir / "whole", [make_record(graph, step) for step in range(3)], 1)
    follow_a_file_cut_within_a_record(logdir, client)


def follow_a_file_cut_within_a_record(logdir: pathlib.Path, client: Client) -> None:
    """Show a file up to the middle of its last record, then all of it."""
    (path,) = list_event_files(logdir / "whole")
    content = path.read_bytes()
    (logdir / "parts").mkdir()
    with (logdir / "parts" / path.name).open("wb", buffering=0) as file:
        file.write(content[:-100])
        wait_for(client, [0, 1], "parts")
        file.write(content[-100:])
        wait_for(client, [0, 1, 2], "parts")
