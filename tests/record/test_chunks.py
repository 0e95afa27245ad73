"""When a chunk closes and which records are kept, on a clock that the test turns."""

from __future__ import annotations

import pytest

from tb_gradgraph.record.write import schedule as chunks
from tb_gradgraph.record.write.schedule import ChunkSchedule
from tests.record.samples import make_graph, make_record, with_count

GRAPH = make_graph()


def open_chunk(schedule: ChunkSchedule, at: float) -> float | None:
    assert schedule.admits(make_record(GRAPH))
    return schedule.seconds_left(at)


@pytest.mark.parametrize(
    ("age", "seconds"), [(0, 5), (499, 5), (1000, 10), (20_000, 200), (10**6, 300)]
)
def test_chunk_may_stay_open_for_a_share_of_the_sessions_age(age: float, seconds: float):
    assert open_chunk(ChunkSchedule(0), age) == pytest.approx(seconds)


def test_nothing_is_due_while_nothing_is_pending():
    schedule = ChunkSchedule(0)
    assert schedule.seconds_left(100) is None
    open_chunk(schedule, 100)
    assert schedule.seconds_left(103) == pytest.approx(2)
    assert schedule.seconds_left(200) == 0
    schedule.close(10)
    assert schedule.seconds_left(200) is None


def test_large_chunk_is_due_at_once(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 3 * chunks.record_bytes(make_record(GRAPH)))
    schedule = ChunkSchedule(0)
    assert [open_chunk(schedule, 0) for _ in range(3)] == [5, 5, 0]
    schedule.close(1)  # it compressed well: the next may hold five times as much
    assert [open_chunk(schedule, 0) for _ in range(15)] == [5] * 14 + [0]


@pytest.mark.parametrize("count", ["nan", "posinf", "neginf"])
def test_first_nonfinite_record_of_a_tag_is_due_at_once(count: str):
    schedule = ChunkSchedule(0)
    bad = with_count(make_record(GRAPH), 0, count, 1)
    assert schedule.admits(bad)
    assert schedule.seconds_left(0) == 0
    schedule.close(1)
    assert schedule.admits(bad)
    assert schedule.seconds_left(0) == 5
    schedule.admits(make_record(GRAPH))
    schedule.close(1)
    assert schedule.admits(bad)
    assert schedule.seconds_left(0) == 0


def test_past_each_budget_only_every_second_step_is_kept():
    schedule = ChunkSchedule(0)
    schedule.spend(chunks.BUDGET_BYTES)
    assert schedule.stride == 2
    kept = [step for step in range(6) if schedule.admits(make_record(GRAPH, step))]
    assert kept == [0, 2, 4]
    assert schedule.seconds_left(0) == 10
    schedule.spend(chunks.BUDGET_BYTES)
    assert schedule.stride == 4


def test_many_records_count_as_much_as_many_bytes():
    schedule = ChunkSchedule(0)
    for _ in range(chunks.BUDGET_RECORDS):
        schedule.close(1)
    assert schedule.stride == 2


def test_all_passes_of_a_kept_step_are_kept_and_tags_count_apart():
    schedule = ChunkSchedule(0)
    schedule.spend(chunks.BUDGET_BYTES)
    passes = [
        make_record(GRAPH, step, backward_pass=number, tag=tag)
        for step in range(3)
        for number in range(2)
        for tag in ("a", "b")
    ]
    kept = [
        (record.step, record.backward_pass, record.tag)
        for record in passes
        if schedule.admits(record)
    ]
    assert kept == [(step, number, tag) for step in (0, 2) for number in (0, 1) for tag in "ab"]


def test_first_nonfinite_record_is_kept_whatever_the_stride():
    schedule = ChunkSchedule(0)
    schedule.spend(chunks.BUDGET_BYTES)
    records = [
        make_record(GRAPH, 0),
        *(with_count(make_record(GRAPH, 1 + step), 0, "nan", 1) for step in range(3)),
    ]
    assert [schedule.admits(record) for record in records] == [True, True, True, False]
