"""Sources in chunks, each in a process of its own, so that memory stays small and a crash is named."""

from __future__ import annotations

import dataclasses
import gc
import multiprocessing
import pathlib
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tb_gradgraph import SummaryWriter  # before there are processes: it takes seconds
from tests.bits.check import Checker, Result
from tests.bits.samples import Source

_SOURCES = 60  # in one process


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is to be run of each source."""

    level: str
    seed: int
    each: int | None
    processes: int


@dataclasses.dataclass
class Findings:
    """What came of a part of the sources."""

    samples: dict[str, int] = dataclasses.field(default_factory=dict)  # by type
    ways: dict[str, int] = dataclasses.field(default_factory=dict)
    results: list[Result] = dataclasses.field(default_factory=list)  # the noteworthy ones

    def differing(self) -> str:
        """Return the count and the first of the differences, so that a long run tells early."""
        places = [result.place for result in self.results if result.differs]
        return f"{len(places)} ({', '.join(places[:5])})" if places else "0"

    def add(self, other: Findings) -> None:
        """Take in those of another process."""
        self.results += other.results
        for own, others in ((self.samples, other.samples), (self.ways, other.ways)):
            for dtype, count in others.items():
                own[dtype] = own.get(dtype, 0) + count


def run_chunks(sources: Sequence[Source], plan: Plan) -> Findings:
    """Run all, ``plan.processes`` chunks at a time; tell how far it is."""
    found = Findings()
    number = max(plan.processes, -(-len(sources) // _SOURCES))
    waiting = [chunk for n in range(number) if (chunk := sources[n::number])]
    total, running = len(waiting), []
    gc.freeze()  # else each process would go through, and so copy, all that torch's list made
    with tempfile.TemporaryDirectory() as directory:
        while waiting or running:
            while waiting and len(running) < plan.processes:
                running.append(_Chunk(waiting.pop(), plan, pathlib.Path(directory)))
            for chunk in [chunk for chunk in running if chunk.has_ended()]:
                running.remove(chunk)
                its = chunk.findings()
                found.add(its)
                ended = total - len(waiting) - len(running)
                _tell(f"{ended} of {total} chunks; in this one differ: {its.differing()}")
            time.sleep(0.05)
    gc.unfreeze()
    return found


class _Chunk:
    """A running process, and the file that it writes to."""

    def __init__(self, sources: Sequence[Source], plan: Plan, directory: pathlib.Path) -> None:
        self._path = directory / str(time.monotonic_ns())
        self._path.mkdir()
        # A copy of this process: it has torch's list loaded, which takes seconds.
        context: Any = multiprocessing.get_context("fork")
        self._process = context.Process(target=_run, args=(sources, plan, self._path))
        self._process.start()

    def has_ended(self) -> bool:
        return not self._process.is_alive()

    def findings(self) -> Findings:
        self._process.join()
        if self._process.exitcode == 0:
            return pickle.loads((self._path / "findings").read_bytes())
        place = (self._path / "place").read_text()
        lost = f"the process ended with {self._process.exitcode}, and the rest of its chunk is lost"
        return Findings(results=[Result(place, differs=lost)])


def _run(sources: Sequence[Source], plan: Plan, path: pathlib.Path) -> None:
    found = Findings()
    with SummaryWriter(str(path / "log")) as writer:
        checker = Checker(writer, plan.level)
        for source in sources:
            for result in _results(checker, source, plan, path / "place", found):
                found.ways[source.dtype] = found.ways.get(source.dtype, 0) + 1
                if result.left_out or result.differs or result.raises:
                    found.results.append(result)
    (path / "findings").write_bytes(pickle.dumps(found))


def _results(
    checker: Checker, source: Source, plan: Plan, place: pathlib.Path, found: Findings
) -> Iterator[Result]:
    place.write_text(f"{source.operator} {source.dtype}, while its samples were made")
    for sample in source.samples(plan.seed, plan.each):
        place.write_text(sample.place)
        found.samples[source.dtype] = found.samples.get(source.dtype, 0) + 1
        try:
            yield from checker.check(sample)
        except Exception as error:
            yield Result(sample.place, differs=f"{type(error).__name__}: {error}")


def _tell(text: str) -> None:
    end = "\r" if sys.stderr.isatty() else "\n"
    print(text, end=end, file=sys.stderr, flush=True)
