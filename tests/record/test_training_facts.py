"""Facts of trainings are read as they were written, and malformed ones are refused."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from torch.utils.tensorboard import SummaryWriter

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record import EventFiles, read_logdir
from tb_gradgraph.record.format import gradgraph_pb2 as pb
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.decode import Chunk, decode_chunk
from tb_gradgraph.record.format.encode import encode_chunk, encode_facts
from tb_gradgraph.record.format.envelope import seal
from tb_gradgraph.record.write.chunk_writer import ChunkWriter
from tb_gradgraph.record.write.event_writer import WriterSink
from tb_gradgraph.record.write.session import Session
from tb_gradgraph.serve import Reader
from tb_gradgraph.training_facts import GroupFacts, Names, OptimizerFacts, TrainingFacts
from tests.golden.write_golden import make_facts
from tests.record.samples import Caught, make_graph, make_record

FACTS = make_facts()
GRAPH = make_graph()


def made(*facts: TrainingFacts, change: Callable[[pb.StatisticsChunk], Any] = id) -> Chunk:
    chunk = encode_chunk([make_record(GRAPH)])
    encode_facts(chunk, facts)
    change(chunk)
    return decode_chunk(seal(chunk))


def test_they_come_back_as_they_were():
    bare = TrainingFacts(tag="größer")
    assert made(FACTS, bare).facts == (FACTS, bare)
    silent = TrainingFacts(tag="")
    told = [
        f.name
        for f in dataclasses.fields(FACTS)
        if getattr(FACTS, f.name) == getattr(silent, f.name)
    ]
    assert told == []  # otherwise a field could be lost unnoticed


def test_long_names_are_cut_to_what_readers_accept():
    group = GroupFacts({"ü" * 600: 1.0}, 1, Names(("\ud800" * 2000,), 1))
    facts = TrainingFacts(
        tag="t" * 2000, dtypes={"d" * 2000: 1}, optimizers=(OptimizerFacts("o" * 2000, (group,)),)
    )
    (found,) = made(facts).facts
    assert found.tag == "t" * 1024 and found.dtypes == {"d" * 1024: 1}
    (optimizer,) = found.optimizers
    assert optimizer.name == "o" * 1024
    assert optimizer.groups == (GroupFacts({"ü" * 512: 1.0}, 1, Names(("?" * 1024,), 1)),)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda f: f.dtype.append("x"), "facts: expected columns of one length"),
        (lambda f: f.dtype_count.append(1), "facts: expected columns of one length"),
        (
            lambda f: f.optimizers[0].groups[0].setting.pop(),
            "facts: expected columns of one length",
        ),
        (lambda f: f.optimizers[0].groups[1].value.append(1), "facts: expected columns of one"),
        (lambda f: setattr(f, "tag", "x" * 1025), "facts: expected texts of at most 1024 bytes"),
        (lambda f: setattr(f.optimizers[1], "name", "ü" * 513), "texts of at most 1024 bytes"),
        (lambda f: f.evaluating.first.append("x" * 1025), "texts of at most 1024 bytes"),
        (lambda f: f.equal[1].first.append("x" * 1025), "texts of at most 1024 bytes"),
        (lambda f: f.optimizers[0].groups[1].names.first.append("x" * 1025), "of at most 1024"),
    ],
)
def test_they_are_checked(change: Callable[[pb.TrainingFacts], Any], sentence: str):
    with pytest.raises(FormatError, match=sentence):
        made(FACTS, change=lambda chunk: change(chunk.facts[0]))


def test_a_count_below_the_names_is_corrected():
    chunk = made(FACTS, change=lambda chunk: setattr(chunk.facts[0].evaluating, "count", 0))
    assert chunk.facts[0].evaluating == Names(("bn",), 1)


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MAX_FACTS", 2)
    assert len(made(FACTS, FACTS).facts) == 2
    with pytest.raises(FormatError, match="chunk: expected at most 2 trainings with facts, got 3"):
        made(FACTS, FACTS, FACTS)
    monkeypatch.setattr(limits, "MAX_FACT_ENTRIES", 20)
    with pytest.raises(FormatError, match="at most 20 entries of facts, got "):
        made(FACTS)
    monkeypatch.undo()
    monkeypatch.setattr(limits, "MAX_LETTERS", 1000)
    assert made().facts == ()
    with pytest.raises(FormatError, match="at most 1000 letters of texts, got "):
        made(FACTS)


def test_a_chunk_of_facts_alone_is_checked_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MAX_FACTS", 0)
    chunk = encode_chunk([])
    encode_facts(chunk, [FACTS])
    with pytest.raises(FormatError, match="^chunk: expected at most 0 trainings with facts, got 1"):
        decode_chunk(seal(chunk))


def test_a_run_holds_no_more_than_its_letters(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path, FACTS)
    monkeypatch.setattr(limits, "MAX_RUN_LETTERS", 500)
    (run,) = read_logdir(tmp_path)
    assert run.facts == {} and "letters of texts in a run" in run.warnings[0]
    assert Reader(EventFiles(tmp_path)).runs()["."].facts == {}


def write(directory: pathlib.Path, *facts: TrainingFacts, first: int = 0) -> None:
    """Write a session with two records and some facts."""
    with SummaryWriter(str(directory)) as writer:
        sink = WriterSink(writer)
        session = Session(sink.add_summary, flush_writer=sink.flush)
        session.write_graph("net", GRAPH)
        session.write_record(make_record(GRAPH, first))
        for one in facts:
            session.write_facts(lambda one=one: one)  # type: ignore[misc]
        session.write_record(make_record(GRAPH, first + 1))
        session.close()


def test_the_latest_session_counts_and_the_latest_of_a_session(tmp_path: pathlib.Path):
    other = TrainingFacts(tag="other")
    write(tmp_path, dataclasses.replace(FACTS, step=1), dataclasses.replace(FACTS, step=2), other)
    write(tmp_path, dataclasses.replace(FACTS, step=3), first=1)
    (run,) = read_logdir(tmp_path)
    assert run.facts == {"net": dataclasses.replace(FACTS, step=3), "other": other}
    (earlier,) = run.earlier
    assert earlier.facts == {"net": dataclasses.replace(FACTS, step=2), "other": other}
    views = Reader(EventFiles(tmp_path)).runs(all_sessions=True)
    assert [views[name].facts for name in sorted(views)] == [run.facts, earlier.facts]


def test_a_chunk_that_the_disk_lost_does_not_take_them_along():
    class Disk:
        fault, dropped = "full", []  # noqa: RUF012

        def is_stuck(self, patience: float | None = None) -> bool:
            return False

        def take_dropped(self) -> list[str]:
            dropped, self.dropped = self.dropped, []
            return dropped

    caught, disk = Caught(), Disk()
    writer = ChunkWriter(caught.add_summary, "2.13", lambda: 1.7e9, disk)
    for step in range(2):
        writer.facts.add(dataclasses.replace(FACTS, tag=f"net {step}"))
        writer.write_record(make_record(GRAPH, step))
        writer.write_pending()
        disk.dropped = [f"gradgraph/{writer.session}/stats/000000"] if step == 0 else []
    first, second = (decode_chunk(caught.strings(f"stats/00000{n}")) for n in range(2))
    assert [facts.tag for facts in first.facts] == ["net 0"]
    assert sorted(facts.tag for facts in second.facts) == ["net 0", "net 1"]


def test_many_trainings_are_told_of_over_several_chunks():
    caught = Caught()
    writer = ChunkWriter(caught.add_summary, "2.13", lambda: 1.7e9)
    for number in range(6):
        writer.facts.add(dataclasses.replace(FACTS, tag=f"net {number}"))
    for step in range(3):
        writer.write_record(make_record(GRAPH, step))
        writer.write_pending()
    chunks = [decode_chunk(caught.strings(f"stats/00000{number}")) for number in range(3)]
    assert [len(chunk.facts) for chunk in chunks] == [4, 2, 0]
