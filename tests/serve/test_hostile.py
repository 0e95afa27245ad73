"""Small records that claim to be huge: refused by name, in little memory, and no other run waits."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.decode import count_rows, decode_graph
from tb_gradgraph.record.format.encode import encode_chunk, encode_graph
from tb_gradgraph.record.format.envelope import Strings, seal
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.routes.step_route import answer_step
from tb_gradgraph.serve.runs import cache, reader
from tb_gradgraph.serve.runs.cache import ByteBoundedCache
from tb_gradgraph.serve.runs.reader import DamagedRecordError, Reader
from tb_gradgraph.statistics import STATISTICS
from tests.record.samples import make_graph, make_record
from tests.serve.fakes import FakeProvider
from tests.serve.hostile import huge_graph, huge_record, peak_of

GRAPH = make_graph()


def _provider(*records: tuple[str, Strings]) -> FakeProvider:
    fake = FakeProvider()
    if records:
        fake.runs["run"] = dict(records)
    put_good(fake, "good")
    return fake


def put_good(fake: FakeProvider, run: str) -> None:
    fake.put(run, f"graph/{GRAPH.hash}", seal(encode_graph(GRAPH)))
    fake.put(run, "stats/000000", seal(encode_chunk([make_record(GRAPH, 3)])))


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (
            huge_record(16_000_000),
            "tag 'net', steps 0 to 0: chunk: expected at most 536870912 bytes",
        ),
        (huge_record(1000, 65_000, True), "chunk: expected at most 536870912 bytes of numbers"),
        (
            huge_record(1, 2**16 + 1, True),
            "tag 'net', steps 0 to 65536: chunk: expected at most 65536 records",
        ),
        (huge_graph(700_000), "graph: expected at most 2000000 entries, got "),
    ],
    ids=["rows", "numbers", "records", "graph"],
)
def test_it_is_refused_by_name_before_it_takes_memory(
    record: tuple[str, Strings], sentence: str
) -> None:
    found = Reader(_provider(record))
    assert peak_of(found.runs) < 48 * 2**20
    (warning,) = found.runs()["run"].warnings
    assert record[0] in warning and sentence in warning
    assert found.runs()["good"].records["net"][0].step == 3


def test_a_record_of_the_most_rows_is_answered_in_memory_of_its_rows() -> None:
    found = Reader(_provider(huge_record(1_000_000)))
    asked = Parameters({"run": "run", "tag": "net", "step": "0"})
    peak = peak_of(lambda: answer_step(found, asked))
    assert peak < reader.CACHE_BYTES + 400 * 1_000_000, "14 columns of float32, laid out and sent"


def test_many_records_of_many_rows_are_laid_out_one_by_one() -> None:
    found = Reader(_provider(huge_record(2000, 3000, True)))  # 6 million numbers a column
    view = found.runs()["run"]
    entry = view.records["net"][7]
    peak = peak_of(lambda: found.table(view, entry))
    assert peak < 4 * len(STATISTICS) * 6_000_000 + 64 * 2**20
    assert found.table(view, entry).values.shape == (2000, len(STATISTICS))


def test_a_damaged_column_is_named_with_tag_and_step() -> None:
    def cut(segment):
        segment.columns[0].data = segment.columns[0].data[:5]

    chunk = encode_chunk([make_record(GRAPH, 7, tag="a net")])
    cut(chunk.segments[0])
    fake = FakeProvider()
    fake.put("run", "stats/000000", seal(chunk))
    found = Reader(fake)
    view = found.runs()["run"]
    with pytest.raises(DamagedRecordError, match="tag 'a net', step 7: column 'l2_norm'"):
        found.statistic(view, view.records["a net"][0], "l2_norm")
    assert "tag 'a net', step 7" in found.runs()["run"].warnings[0]


def test_records_beyond_what_a_run_may_have_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_RUN_RECORDS", 3)
    fake = _provider()
    for number in range(3):
        records = [make_record(GRAPH, 2 * number + step) for step in range(2)]
        fake.put("good", f"stats/{number:06}", seal(encode_chunk(records)))
    view = Reader(fake).runs()["good"]
    assert [entry.step for entry in view.records["net"]] == [0, 1]
    assert sum("at most 3 records in a run" in warning for warning in view.warnings) == 2


def test_rows_are_counted_without_making_the_graph() -> None:
    for graph in (GRAPH, type(GRAPH)(GRAPH.nodes, (), GRAPH.scopes), type(GRAPH)((), (), ())):
        strings = seal(encode_graph(graph))
        assert count_rows(strings, graph.hash) == graph.row_count
        assert decode_graph(strings, graph.hash) == graph


def test_a_run_that_takes_long_to_read_keeps_no_other_waiting() -> None:
    fake = _provider()
    put_good(fake, "a slow run")
    release, read = threading.Event(), fake.read_tensors

    def read_slowly(ctx, *, run_tag_filter, **options):
        if "a slow run" in run_tag_filter.runs:
            release.wait(60)
        return read(ctx, run_tag_filter=run_tag_filter, **options)

    fake.read_tensors = read_slowly
    found = Reader(fake, clock=lambda: 0.0, patience=2.0)
    runs = found.runs()
    assert list(runs) == ["good"], "the slow one is the first by name, and still being read"
    entry = runs["good"].records["net"][0]
    assert found.table(runs["good"], entry).present.any()
    release.set()
    patient = Reader(fake)
    assert list(patient.runs()) == ["a slow run", "good"]
    while "a slow run" not in found.runs():
        pass


def test_a_graph_that_takes_long_to_decode_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = _provider()
    put_good(fake, "slow")
    begun, release, decode = threading.Event(), threading.Event(), reader.decode_graph

    def decode_slowly(strings: Strings, graph_hash: str):
        if not begun.is_set():
            begun.set()
            release.wait(60)
        return decode(strings, graph_hash)

    monkeypatch.setattr(reader, "decode_graph", decode_slowly)
    found = Reader(fake)
    runs = found.runs()
    thread = threading.Thread(target=found.graph, args=(runs["slow"], GRAPH.hash))
    thread.start()
    assert begun.wait(60)
    assert list(found.runs()) == ["good", "slow"]
    assert found.graph(runs["good"], GRAPH.hash) == GRAPH
    assert thread.is_alive()
    release.set()
    thread.join()


def test_of_threads_that_miss_the_same_value_one_makes_it() -> None:
    kept, made, start = ByteBoundedCache(100), [], threading.Barrier(4)

    def ask() -> None:
        start.wait()
        assert kept.get("a", lambda: made.append(1) or "value", len) == "value"

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1] and not kept._making
    with pytest.raises(ZeroDivisionError):
        kept.get("b", lambda: 1 / 0, len)
    assert not kept._making and kept.get("b", lambda: "later", len) == "later"


def test_limits_are_what_the_format_says() -> None:
    text = (reader.__spec__.origin or "").replace("serve/runs/reader.py", "record/FORMAT.md")
    with open(text, encoding="utf-8") as stream:
        said = stream.read()
    for limit in (
        *(limits.MAX_PAYLOAD_BYTES, limits.MAX_MESSAGE_BYTES, limits.MAX_CHUNK_BYTES),
        *(limits.MAX_GRAPH_ENTRIES, limits.MAX_ROWS, limits.MAX_NUMBERS, limits.MAX_RECORDS),
        *(limits.MAX_SEGMENTS, limits.MAX_WHOLE, limits.MAX_RUN_RECORDS),
        *(limits.MAX_LETTERS, limits.MAX_RUN_LETTERS),
    ):
        assert f"{limit:,}" in said, limit


def test_a_graph_that_no_reader_takes_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_GRAPH_ENTRIES", 20)
    with pytest.raises(FormatError, match="at most 20 entries"):
        count_rows(seal(encode_graph(GRAPH)), GRAPH.hash)
    assert cache.ByteBoundedCache(0).get("a", lambda: np.zeros(3), lambda a: a.nbytes).shape == (3,)
