"""What is kept while a training grows changes nothing: the findings are always those of a fresh look."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tb_gradgraph.diagnose.run import course_step
from tb_gradgraph.record import EventFiles
from tb_gradgraph.serve.evidence.recorded_course import RecordedCourse
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tests.diagnose.battery.examine import train
from tests.diagnose.run.test_planted import case_named

#: Trainings whose findings need each of the rules.
NAMES = (
    "mlp: no zero_grad",
    "conv: infinite gradient, each step skipped",
    "gpt: bfloat16 updates lost",
    "mlp: corrupt targets",
    "conv: NaN in a batch",
    "mlp: decay dominates",
)


@functools.cache
def trained(name: str, directory: pathlib.Path) -> tuple[Reader, RunView]:
    assert train(case_named(name), directory) == []
    reader = Reader(EventFiles(directory))
    return reader, next(iter(reader.runs().values()))


@pytest.fixture
def logged(request, tmp_path_factory) -> tuple[Reader, RunView]:
    return trained(request.param, tmp_path_factory.getbasetemp() / f"{NAMES.index(request.param)}")


def some_of(run: RunView, records: Sequence[Entry], forwards: Sequence[Entry]) -> RunView:
    return dataclasses.replace(
        run, records={"net": tuple(records)}, forwards={"net": tuple(forwards)}
    )


def grown(run: RunView, lengths: Sequence[int]) -> Iterator[RunView]:
    """Yield views with so many records, and the values of their steps."""
    entries, forwards = run.records["net"], run.forwards.get("net", ())
    for length in lengths:
        step = entries[length - 1].step
        yield some_of(run, entries[:length], [one for one in forwards if one.step <= step])


def check(reader: Reader, views: Iterator[RunView]) -> set[str]:
    """Compare a course that follows all views with one that is fresh at each; return the kinds found."""
    kept, kinds = RecordedCourse(reader), set()
    for view in views:
        course, found = kept.find(view, "net")
        fresh, expected = RecordedCourse(reader).find(view, "net")
        assert [one.step for one in course.steps] == [one.step for one in fresh.steps]
        assert found == expected
        kinds |= {one.kind for one in found}
    return kinds


@pytest.mark.parametrize("logged", NAMES, indirect=True)
def test_they_are_the_same_at_every_length(
    logged: tuple[Reader, RunView], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, run = logged
    monkeypatch.setattr(course_step, "MOST_STEPS", 16)  # so that the distance doubles on the way
    monkeypatch.setattr(course_step, "LEAST_STEPS", 4)
    count = len(run.records["net"])
    assert check(reader, grown(run, [*range(1, 12), *range(12, count, 11), count]))


@pytest.mark.parametrize("logged", ["conv: NaN in a batch", "mlp: corrupt targets"], indirect=True)
@pytest.mark.parametrize("seed", range(2))
def test_they_are_the_same_if_records_vanish_or_come_late(
    logged: tuple[Reader, RunView], seed: int
) -> None:
    reader, run = logged
    random = np.random.default_rng(seed)
    entries, forwards = run.records["net"], run.forwards.get("net", ())

    def views() -> Iterator[RunView]:
        for _ in range(6):
            most = random.integers(1, len(entries) + 1)
            kept = random.random(most) > random.choice([0, 0.02, 0.5])
            records = [one for one, stays in zip(entries, kept) if stays] or [entries[0]]
            yield some_of(run, records, forwards[: random.integers(0, len(forwards) + 1)])

    assert check(reader, views())


@pytest.mark.parametrize("logged", ["mlp: decay dominates"], indirect=True)
def test_they_are_the_same_in_a_very_long_training(
    logged: tuple[Reader, RunView], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, run = logged
    monkeypatch.setattr(course_step, "MOST_CELLS", 100)
    count = len(run.records["net"])
    assert check(reader, grown(run, range(1, count, 20)))


@pytest.mark.parametrize("logged", ["mlp: decay dominates"], indirect=True)
def test_what_was_examined_is_not_examined_again(
    logged: tuple[Reader, RunView], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, run = logged
    read: list[Entry] = []
    values = reader.values
    monkeypatch.setattr(
        reader, "values", lambda run, entry: read.append(entry) or values(run, entry)
    )
    kept, entries = RecordedCourse(reader), run.records["net"]
    kept.find(run, "net")
    assert len({one.step for one in read}) > 10
    read.clear()
    kept.find(some_of(run, entries, run.forwards.get("net", ())), "net")
    assert not read
    last = [one for one in entries if one.step != entries[-1].step]
    kept.find(some_of(run, last, run.forwards.get("net", ())), "net")
    assert {one.step for one in read} <= {last[-1].step}
