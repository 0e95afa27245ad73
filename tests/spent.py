"""What the tests cost, area by area, beside what they may: ``make test`` ends with this table.

Below it stand the dearest tests, which is where to look first when an area is over its budget.

Processor time is that of the process that runs a test and of all that it started (TensorBoard, Chromium,
trainings), so it says the same on a busy machine as on an idle one. Nothing fails by it.

    python -m tests.spent               print the table of the last run
    python -m tests.spent AREA COMMAND  run a command and note its time as that of an area
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Generator, Iterator

import pytest

ROOT = pathlib.Path(__file__).parents[1]
NOTES = ROOT / ".spent"

#: Seconds of a processor. All of it goes through two of them, in 10 minutes with what is not evenly shared.
BUDGETS = {
    "api": 4,
    "autograd": 85,
    "bits": 80,
    "browser": 310,
    "browsers": 1,
    "cases": 60,
    "compat": 2,
    "commands": 20,
    "demo": 38,
    "device": 4,
    "diagnose": 14,
    "distributed": 32,
    "frontend": 100,
    "fuzz": 6,
    "golden": 5,
    "health": 8,
    "integrations": 25,
    "lint": 38,
    "ranks": 3,
    "record": 12,
    "serve": 32,
    "suite": 68,
    "summarize": 34,
    "training": 123,
}
#: How many tests are named, each with all that it is parametrized by.
DEAREST = 25
#: Files that are an area of their own, by the beginning of their path in tests/.
APART: dict[str, str] = {}
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PROC = pathlib.Path("/proc")


def area_of(nodeid: str) -> str:
    """Return the area that a test counts to: mostly its directory."""
    path = nodeid.partition("::")[0].removeprefix("tests/")
    for beginning, area in APART.items():
        if path.startswith(beginning):
            return area
    directory, slash, _ = path.partition("/")
    return directory if slash else "suite"


def processor_s() -> float:
    """Return what this process and all below it have had of processors, ended ones included."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    return total + sum(_list_spent(os.getpid()))


def _list_spent(pid: int) -> Iterator[float]:
    """Yield what each living process below ``pid`` has had, with what it has waited for."""
    for child in _list_children(pid):
        try:
            fields = (_PROC / str(child) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        yield sum(map(int, fields[11:15])) / _TICKS
        yield from _list_spent(child)


def _list_children(pid: int) -> list[int]:
    try:
        threads = list((_PROC / str(pid) / "task").iterdir())
        return [
            int(child) for thread in threads for child in (thread / "children").read_text().split()
        ]
    except OSError:
        return []


class Meter:
    """Adds up, by area, what the tests of this process, or of its workers, cost."""

    def __init__(self) -> None:
        self._seen = processor_s(), time.perf_counter()
        self.areas: dict[str, list[float]] = {}
        self.tests: dict[str, list[float]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put into a test's last report what it cost; reports go from worker to controller."""
        report = yield
        if call.when != "teardown":
            return report
        now = processor_s(), time.perf_counter()
        if now[0] < self._seen[0]:
            # A process that ended while it was read took its children out of the sum, for this once.
            now = max(now[0], processor_s()), now[1]
        # What ended unwaited for is missing afterwards: no cost is negative.
        report.spent = [max(0.0, after - before) for before, after in zip(self._seen, now)]
        self._seen = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add what a report brings."""
        test = report.nodeid.partition("[")[0]
        totals = (
            self.areas.setdefault(area_of(report.nodeid), [0.0, 0.0]),
            self.tests.setdefault(test, [0.0, 0.0]),
        )
        for index, value in enumerate(getattr(report, "spent", (0.0, 0.0))):
            for total in totals:
                total[index] += value

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Note it for the table, where this is the whole suite's controller.

        A pytest that a test starts counts to that test: it inherits a worker's environment.
        """
        if "PYTEST_XDIST_WORKER" not in os.environ:
            for area, (processor, wall) in self.areas.items():
                note(area, processor, wall)
            dearest = sorted(self.tests.items(), key=lambda item: item[1][0], reverse=True)
            for test, (processor, wall) in dearest[:DEAREST]:
                note(test, processor, wall)


def note(area: str, processor: float, wall: float) -> None:
    """Keep a line for the table."""
    if NOTES.parent.is_dir():
        with NOTES.open("a", encoding="utf-8") as file:
            file.write(json.dumps([area, round(processor, 1), round(wall, 1)]) + "\n")


def format_table(lines: Iterator[str]) -> str:
    """Lay out the notes of one run; an area beyond its budget is marked."""
    spent: dict[str, list[float]] = {}
    dearest = []
    for line in lines:
        area, *times = json.loads(line)
        if "::" in area:
            dearest.append(f"{times[0]:>24.0f}{times[1]:>8.0f}   {area.removeprefix('tests/')}")
            continue
        spent[area] = [a + b for a, b in zip(spent.get(area, [0.0, 0.0]), times)]
    rows = [
        f"{'area':<16}{'budget':>8}{'spent':>8}{'wall':>8}   seconds of a processor, and by the clock"
    ]
    for area in sorted({*BUDGETS, *spent}):
        processor, wall = spent.get(area, [0.0, 0.0])
        budget = BUDGETS.get(area)
        over = "" if budget is not None and processor <= budget else "   <-- MORE THAN ITS BUDGET"
        rows.append(f"{area:<16}{budget or '-':>8}{processor:>8.0f}{wall:>8.0f}{over}")
    total = [sum(times[index] for times in spent.values()) for index in (0, 1)]
    rows.append(f"{'all':<16}{sum(BUDGETS.values()):>8}{total[0]:>8.0f}{total[1]:>8.0f}")
    return "\n".join([*rows, *dearest])


def _run(area: str, command: list[str]) -> int:
    start, most = time.perf_counter(), 0.0
    process = subprocess.Popen(command)
    while (
        process.poll() is None
    ):  # Chromium's processes are waited for by nobody that is left at the end
        most = max(most, processor_s())
        time.sleep(0.5)
    note(area, max(most, processor_s()), time.perf_counter() - start)
    return process.returncode


def main(arguments: list[str]) -> int:
    """Print the table, or run a command as an area."""
    if arguments:
        return _run(arguments[0], arguments[1:])
    with NOTES.open(encoding="utf-8") as file:
        print(format_table(iter(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
