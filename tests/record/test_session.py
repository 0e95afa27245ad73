"""A session's life: what it writes, when, and that its failures stay its own."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
import warnings
import weakref

import pytest

from tb_gradgraph.graph import Graph
from tb_gradgraph.record.format.decode import decode_chunk, decode_manifest
from tb_gradgraph.record.format.envelope import parse_tag
from tb_gradgraph.record.write import chunk_writer, session_thread
from tb_gradgraph.record.write.session import Session
from tests.record.samples import Caught, make_graph, make_record, with_count

GRAPH = make_graph()


def write_records(session: Session, count: int) -> None:
    for step in range(count):
        session.write_record(make_record(GRAPH, step))


def write_and_flush(session: Session) -> None:
    session.write_record(make_record(GRAPH))
    session.flush()


@pytest.fixture
def caught() -> Caught:
    return Caught()


@pytest.fixture
def session(caught: Caught):
    session = Session(caught.add_summary, torch_version="2.13")
    yield session
    session.close()
    assert session.failure is None


def test_session_without_a_record_writes_nothing(session: Session, caught: Caught):
    session.write_graph("net", GRAPH)
    session.flush()
    session.close()
    assert caught.summaries == []


def test_manifest_and_graph_come_before_the_chunk(session: Session, caught: Caught):
    session.write_graph("net", GRAPH)
    for step in range(7, 10):
        session.write_record(make_record(GRAPH, step))
    session.close()
    graph_tag = f"graph/{GRAPH.hash}"
    assert caught.tags == ["manifest", graph_tag, "gradgraph/net", "stats/000000"]
    assert [step for _, step in caught.summaries] == [0, 0, 7, 7]
    manifest = decode_manifest(caught.strings("manifest"))
    assert (manifest.session, manifest.torch_version) == (session.name, "2.13")
    (segment,) = decode_chunk(caught.strings("stats/000000")).segments
    assert segment.steps == (7, 8, 9)


def test_every_tag_can_be_parsed(session: Session, caught: Caught):
    session.write_graph("net", GRAPH)
    session.write_record(make_record(GRAPH))
    session.close()
    names = [parse_tag(summary.value[0].tag) for summary, _ in caught.summaries]
    assert [name.kind if name else None for name in names] == ["manifest", "graph", None, "stats"]
    assert {name.session for name in names if name} == {session.name}


def test_graph_is_written_once_but_shown_once_a_tag(session: Session, caught: Caught):
    for tag in ("a", "b", "a"):
        session.write_graph(tag, GRAPH)
        session.write_record(make_record(GRAPH, tag=tag))
    session.close()
    assert caught.tags.count(f"graph/{GRAPH.hash}") == 1
    assert sorted(tag for tag in caught.tags if tag.startswith("gradgraph/")) == [
        "gradgraph/a",
        "gradgraph/b",
    ]


def test_graph_that_changes_at_every_step_does_not_flood_the_dashboard(
    session: Session, caught: Caught
):
    for size in range(20):
        graph = Graph(GRAPH.nodes[1:2] * (size + 1), (), ())
        session.write_graph("net", graph)
        session.write_record(make_record(graph, size))
    session.close()
    assert caught.tags.count("gradgraph/net") == chunk_writer.MAX_DASHBOARD_GRAPHS
    assert sum(tag.startswith("graph/") for tag in caught.tags) == 20


def test_flush_writes_what_is_pending_and_nothing_twice(session: Session, caught: Caught):
    session.write_record(make_record(GRAPH, 0))
    session.flush()
    session.flush()
    session.write_record(make_record(GRAPH, 1))
    session.close()
    session.close()
    assert [tag for tag in caught.tags if tag.startswith("stats")] == [
        "stats/000000",
        "stats/000001",
    ]


def test_first_nonfinite_gradient_is_written_without_flush(session: Session, caught: Caught):
    written = threading.Event()
    session = Session(caught.add_summary, flush_writer=written.set)
    session.write_record(with_count(make_record(GRAPH), 0, "nan", 3))
    assert written.wait(10)
    assert "stats/000000" in caught.tags
    session.close()


def test_old_chunk_is_written_without_flush(caught: Caught, monkeypatch):
    monkeypatch.setattr("tb_gradgraph.record.write.schedule.FIRST_AGE", 0.05)
    written = threading.Event()
    session = Session(caught.add_summary, flush_writer=written.set)
    session.write_record(make_record(GRAPH))
    assert written.wait(10)
    session.close()


def test_write_record_does_not_wait_for_the_writer():
    release = threading.Event()
    session = Session(lambda summary, step: release.wait(10))
    write_records(session, 100)
    assert not release.is_set()
    release.set()
    session.close()


def test_records_beyond_the_queues_limit_are_left_out_with_one_warning(monkeypatch):
    monkeypatch.setattr(session_thread, "MAX_QUEUED_BYTES", 3000)
    release, caught = threading.Event(), Caught()

    def add_summary(summary, step):
        release.wait(10)
        caught.add_summary(summary, step)

    session = Session(add_summary)
    with pytest.warns(RuntimeWarning, match="come faster than they can be written") as found:
        write_records(session, 50)
    assert len(found) == 1
    release.set()
    session.close()
    assert session.failure is None
    (segment,) = decode_chunk(caught.strings("stats/000000")).segments
    assert 0 < len(segment) < 50


def test_failure_warns_once_and_ends_the_session():
    def add_summary(summary, step):
        raise OSError("disk full")

    session = Session(add_summary)
    with pytest.warns(
        RuntimeWarning, match="recording stopped, training goes on: OSError: disk full"
    ) as found:
        write_and_flush(session)
    write_and_flush(session)
    session.close()
    assert len(found) == 1
    assert not session.is_open
    assert isinstance(session.failure, OSError)


def test_after_a_failure_the_thread_sleeps(monkeypatch: pytest.MonkeyPatch):
    # What was due when the writer failed stays due: the thread once asked for it without a pause.
    asked = []
    monkeypatch.setattr(chunk_writer.ChunkWriter, "seconds_left", lambda _: asked.append(1) or 0.0)
    session = Session(lambda summary, step: 1 / 0)
    with pytest.warns(RuntimeWarning, match="recording stopped"):
        write_and_flush(session)
    before = len(asked)
    session.flush()
    session.flush()
    assert len(asked) == before
    session.close()


def test_failure_is_silent_where_warnings_are_errors():
    session = Session(lambda summary, step: 1 / 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.write_record(make_record(GRAPH))
        session.close()
    assert isinstance(session.failure, ZeroDivisionError)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_are_closed(copied, session: Session, caught: Caught):
    other = copied(session)
    assert not other.is_open
    other.write_record(make_record(GRAPH))
    other.flush()
    other.close()
    session.write_record(make_record(GRAPH))
    session.close()
    assert caught.tags.count("stats/000000") == 1


def test_session_that_is_dropped_writes_what_it_has():
    written = threading.Event()
    caught = Caught()
    session = Session(caught.add_summary, flush_writer=written.set)
    session.write_record(make_record(GRAPH))
    gone = weakref.ref(session)
    del session
    gc.collect()
    assert gone() is None
    assert written.wait(10)
    assert "stats/000000" in caught.tags


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_child_writes_nothing(session: Session, caught: Caught):
    session.write_record(make_record(GRAPH, 0))
    session.flush()
    before = len(caught.summaries)
    child = os.fork()
    if child == 0:
        session.write_record(make_record(GRAPH, 1))
        session.flush()
        session.close()
        os._exit(0 if len(caught.summaries) == before and not session.is_open else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert session.is_open
