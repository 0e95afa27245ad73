"""Run one case of the battery, and look at what is found in its log."""

from __future__ import annotations

import contextlib
import dataclasses
import fnmatch
import pathlib
import re
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch

import tb_gradgraph
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.record import LoggedRun, read_logdir
from tests.diagnose.battery.case import Case

#: Written when a training has ended: a log without it is not used again.
_ENDED = "ended.txt"
_OPTIONS = {"every_n_steps": 1, "level": "op", "values": True, "tag": "net"}
_OF_NONFINITE = frozenset({"nonfinite", "nonfinite_value", "nonfinite_origin", "nan_victim"})


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What was found in the training of one case.

    Attributes:
        case: The case.
        findings: What was found, worst first.
        complaints: What is wrong with the case itself, or with the recording, a sentence each.
        anomaly: What torch's anomaly mode found: None, it was not asked; "": nothing; else the
            operation's name, as "LogBackward0".
        is_anomaly_right: Whether that is the operation at which the case goes wrong.
        seconds: How long the training took.
    """

    case: Case
    findings: tuple[RunFinding, ...] = ()
    complaints: tuple[str, ...] = ()
    anomaly: str | None = None
    is_anomaly_right: bool = False
    seconds: float = 0.0


def examine(case: Case, logs: pathlib.Path | None, asks_findings: bool = True) -> Outcome:
    """Train, unless ``logs`` has the log already, and ask for the findings of the run."""
    with _directory(case, logs) as logdir:
        start, complaints = time.perf_counter(), []
        if not (logdir / _ENDED).exists():
            complaints += train(case, logdir)
            (logdir / _ENDED).touch()
        seconds = time.perf_counter() - start
        runs = read_logdir(logdir)
        complaints += _check_log(case, runs)
        found = _find(logdir, complaints) if asks_findings else ()
    anomaly = ask_anomaly_mode(case) if asks_findings and is_about_nan(case) else None
    meant = {_bare(node.operation) for node in _meant(case, runs)}
    is_right = bool(anomaly) and _bare(anomaly) in meant
    return Outcome(case, found, tuple(complaints), anomaly, is_right, seconds)


def _find(logdir: pathlib.Path, complaints: list[str]) -> tuple[RunFinding, ...]:
    try:
        return tuple(tb_gradgraph.findings(logdir))
    except Exception as error:  # the other cases are still worth a figure
        complaints.append(f"findings() fails: {error!r}")
        return ()


@contextlib.contextmanager
def _directory(case: Case, logs: pathlib.Path | None) -> Iterator[pathlib.Path]:
    if logs is None:
        with tempfile.TemporaryDirectory() as directory:
            yield pathlib.Path(directory)
    else:
        directory = logs / case.slug
        directory.mkdir(parents=True, exist_ok=True)
        for old in directory.glob("events*") if not (directory / _ENDED).exists() else ():
            old.unlink()  # of a training that did not end
        yield directory


def train(case: Case, logdir: pathlib.Path) -> list[str]:
    """Run the training with every step recorded, and return what is wrong with it as a case."""
    watches: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with tb_gradgraph.SummaryWriter(logdir) as writer:

            def watch(model: torch.nn.Module, **options: Any) -> Any:
                watches.append(writer.watch(model, **{**_OPTIONS, **options}))
                return watches[-1]

            falling = case.train(watch)
    complaints = [f"the recording failed: {w.failure}" for w in watches if w.failure is not None]
    if not watches:
        complaints.append("nothing was watched")
    if case.is_healthy and falling is not None and not has_fallen(falling):
        complaints.append(f"its loss does not fall: {_ends(falling)}")
    return complaints


def has_fallen(numbers: Sequence[float]) -> bool:
    """Return whether the last quarter is at most nine tenths of the first few, by their medians."""
    few = max(1, min(len(numbers) // 4, 8))
    begin, end = statistics.median(numbers[:few]), statistics.median(numbers[-few:])
    return end < begin - 0.1 * abs(begin)


def _ends(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:.3g}" for number in (*numbers[:3], *numbers[-3:]))


def _check_log(case: Case, runs: Sequence[LoggedRun]) -> list[str]:
    if not any(run.records for run in runs):
        return ["nothing was recorded"]
    if case.nodes and not _meant(case, runs):
        return [f"no node is called like {', '.join(case.nodes)}"]
    return []


def _bare(operation: str) -> str:
    return re.sub(r"Backward\d*$", "", operation)


def _meant(case: Case, runs: Sequence[LoggedRun]) -> list[Any]:
    """Return the nodes of all graphs that the case's patterns mean."""
    graphs = [graph for run in runs for graph in run.graphs.values()]
    return [node for graph in graphs for node in graph.nodes if matches(node.name, case.nodes)]


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Return whether the name of a node is like one of the patterns."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def is_about_nan(case: Case) -> bool:
    """Return whether the case makes NaN or infinity while a step runs."""
    return bool(_OF_NONFINITE.intersection(case.kinds))


def ask_anomaly_mode(case: Case) -> str:
    """Return the operation at which torch's anomaly mode ends the training; "": it does not."""

    def ignore(model: torch.nn.Module, **options: Any) -> None:
        """Watch nothing."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with torch.autograd.set_detect_anomaly(True):
                case.train(ignore)
        except RuntimeError as error:
            if "returned nan values" in str(error):
                return str(error).split("'")[1]
            raise
    return ""
