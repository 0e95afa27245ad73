"""The reader over a data provider made by hand: listing, growing, threads, damage."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import seal
from tb_gradgraph.serve.runs import provider as source
from tb_gradgraph.serve.runs.cache import ByteBoundedCache
from tb_gradgraph.serve.runs.reader import DamagedRecordError, Reader
from tests.record.samples import make_graph, make_record
from tests.serve.fakes import SESSION, FakeProvider

GRAPH = make_graph()


@pytest.fixture
def fake() -> FakeProvider:
    fake = FakeProvider()
    fake.put("run", f"graph/{GRAPH.hash}", seal(encode_graph(GRAPH)))
    for step in range(3):
        put_step(fake, step)
    return fake


def put_step(fake: FakeProvider, step: int) -> None:
    fake.put("run", f"stats/{step:06d}", seal(encode_chunk([make_record(GRAPH, step)])))


def list_steps(reader: Reader) -> list[int]:
    return [entry.step for entry in reader.runs()["run"].records.get("net", ())]


def test_runs_are_listed_at_most_every_two_seconds(fake: FakeProvider):
    now = [100.0]
    reader = Reader(fake, clock=lambda: now[0])
    assert list_steps(reader) == [0, 1, 2]
    put_step(fake, 3)
    assert list_steps(reader) == [0, 1, 2]
    now[0] += 2.1
    assert list_steps(reader) == [0, 1, 2, 3]
    assert fake.lists == 2


def test_only_new_records_are_read(fake: FakeProvider):
    now = [0.0]
    reader = Reader(fake, clock=lambda: now[0])
    list_steps(reader)
    for step in range(3, 6):
        put_step(fake, step)
        now[0] += 3
        list_steps(reader)
    assert fake.reads == [4, 1, 1, 1]


def test_records_that_tensorboard_dropped_are_forgotten(fake: FakeProvider):
    now = [0.0]
    reader = Reader(fake, clock=lambda: now[0])
    list_steps(reader)
    del fake.runs["run"][f"{SESSION}/stats/000001"]
    now[0] += 3
    assert list_steps(reader) == [0, 2]
    fake.runs.clear()
    now[0] += 3
    assert reader.runs() == {}


def test_group_that_is_too_large_is_read_one_by_one(fake: FakeProvider):
    fake.most_together = 1
    assert list_steps(Reader(fake)) == [0, 1, 2]


def test_many_records_are_read_in_groups(fake: FakeProvider, monkeypatch):
    monkeypatch.setattr(source, "_GROUP", 3)
    list_steps(Reader(fake))
    assert fake.reads == [3, 1]


@pytest.mark.parametrize(
    "strings",
    [
        RuntimeError("no such dtype"),
        np.zeros(2, np.float32),
        np.array(b"x", object),
        [b"one"],
        ["a", "b"],
        [b"a", 1],
    ],
    ids=repr,
)
def test_record_that_is_no_pair_of_bytes_is_a_warning(fake: FakeProvider, strings):
    fake.put("run", "stats/000009", strings)
    reader = Reader(fake)
    assert list_steps(reader) == [0, 1, 2]
    (warning,) = reader.runs()["run"].warnings
    assert "stats/000009 is damaged and was skipped: record: expected two byte strings" in warning


def test_warnings_are_bounded(fake: FakeProvider):
    for number in range(100, 150):
        fake.put("run", f"stats/{number:06d}", [b"", b""])
    warnings = Reader(fake).runs()["run"].warnings
    assert len(warnings) == 21
    assert warnings[-1] == "30 further records were skipped."


def test_stride_is_told(fake: FakeProvider):
    fake.put("run", "stats/000003", seal(encode_chunk([make_record(GRAPH, 3)], stride=4)))
    (warning,) = Reader(fake).runs()["run"].warnings
    assert warning == "This run is large, so only one of every 4 recorded steps was kept."


def test_chunk_that_turns_out_damaged_is_dropped(fake: FakeProvider):
    chunk = encode_chunk([make_record(GRAPH, 3)])
    chunk.segments[0].columns[0].data = b"no zlib"
    fake.put("run", "stats/000003", seal(chunk))
    reader = Reader(fake)
    run = reader.runs()["run"]
    with pytest.raises(DamagedRecordError, match="column 'l2_norm'"):
        reader.statistic(run, run.records["net"][3], "l2_norm")
    assert list_steps(reader) == [0, 1, 2]
    assert "stats/000003 is damaged" in reader.runs()["run"].warnings[0]


def test_record_that_vanished_is_damage_not_a_crash(fake: FakeProvider, monkeypatch):
    monkeypatch.setattr("tb_gradgraph.serve.runs.reader.CACHE_BYTES", 0)
    reader = Reader(fake)
    run = reader.runs()["run"]
    fake.runs["run"].clear()
    for read in (
        lambda: reader.table(run, run.records["net"][0]),
        lambda: reader.graph(run, GRAPH.hash),
    ):
        with pytest.raises(DamagedRecordError):
            read()


@pytest.mark.parametrize("limit", [0, 10_000, 2**30])
def test_many_threads_get_the_same_answers(fake: FakeProvider, monkeypatch, limit: int):
    monkeypatch.setattr("tb_gradgraph.serve.runs.reader.CACHE_BYTES", limit)
    reader = Reader(fake)
    start = threading.Barrier(8)

    def ask(number: int) -> np.ndarray:
        start.wait()
        run = reader.runs()["run"]
        entries = run.records["net"]
        return np.stack([reader.table(run, entry).values for entry in entries[:: (-1) ** number]])

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(8)))
    for number, answer in enumerate(answers):
        np.testing.assert_array_equal(answer[:: (-1) ** number], answers[0])


def test_cache_drops_what_was_used_least_recently():
    cache = ByteBoundedCache(10)
    made: list[str] = []

    def get(key: str, size: int = 4) -> str:
        return cache.get(key, lambda: made.append(key) or key, lambda _: size)

    for key in ("a", "b", "a", "c", "a", "b"):
        assert get(key) == key
    assert made == ["a", "b", "c", "b"]
    get("large", 11)
    get("large", 11)
    assert made[-2:] == ["large", "large"]
