"""Check a log directory for reasons why the panel shows nothing from it, each with its cure."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator, Sequence

from tb_gradgraph.commands.checked import Checked
from tb_gradgraph.commands.show.finding_words import tell_counts
from tb_gradgraph.commands.show.plain import printable
from tb_gradgraph.health import Training, examine
from tb_gradgraph.ranks import join_ranks
from tb_gradgraph.record import CURE, LoggedRun, list_event_files, list_run_directories, read_logdir
from tb_gradgraph.statistics import STAGES
from tb_gradgraph.version import __version__

_MOST_RUNS = 20
_MOST_WARNINGS = 3
_RECORD = (
    "in the script, with a writer from tb_gradgraph: writer.add_grad_graph(model, input), "
    "or writer.watch(model) before the loop"
)


def examine_log(logdir: str | os.PathLike[str]) -> Iterator[Checked]:
    """Look for records below ``logdir``; say what each run holds and what is missing."""
    root = pathlib.Path(logdir)
    if not root.is_dir():
        what = "is a file" if root.exists() else "does not exist"
        cure = "name the directory that was given to SummaryWriter, or one above it"
        yield Checked("wrong", f"the log directory {root} {what}", cure)
        return
    told: list[str] = []
    files = [path for run in list_run_directories(root, told.append) for path in _files_of(run)]
    if not files and not told:
        text = f"there is no event file below {root.resolve()}"
        yield Checked(
            "wrong",
            text,
            "check that this is the directory that the script passes to SummaryWriter(...)",
        )
        return
    size = sum(map(_size_of, files))
    directories = len({path.parent for path in files})
    yield Checked(
        "ok",
        f"{_count(len(files), 'event file')} in {_count(directories, 'run')} below {root},  "
        f"{size / 1e3:,.0f} kB",
    )
    yield from _examine_runs(join_ranks(read_logdir(root)))


def tell_verdict(wrong: int, logdir: str | os.PathLike[str] | None) -> str:
    """Say whether something is wrong with installation and log, and where to read of the trainings.

    Args:
        wrong: How many checks found something wrong.
        logdir: The log directory that was examined, or None.
    """
    trainings = [] if logdir is None else _trainings_of(logdir)
    bad = [one for one in trainings if not one.is_healthy]
    found = [finding for one in bad for finding in one.found if finding.severity != "note"]
    verdict = f"{wrong} found wrong." if wrong else "Nothing found wrong."
    if not trainings:
        return verdict
    if not bad:
        return f"{verdict} {_count(len(trainings), 'recorded training')}: healthy."
    recording = f"{wrong} found wrong with the recording." if wrong else "The recording works."
    return (
        f"{recording} {len(bad)} of {_count(len(trainings), 'recorded training')} not healthy "
        f"({tell_counts(found)}): tb-gradgraph findings {printable(str(logdir))}"
    )


def _trainings_of(logdir: str | os.PathLike[str]) -> list[Training]:
    with contextlib.suppress(ValueError, OSError):  # nothing was recorded; the checks said so
        return examine(logdir)
    return []


def _files_of(run: pathlib.Path) -> list[pathlib.Path]:
    with contextlib.suppress(OSError):  # it was deleted; read_logdir says so
        return list_event_files(run)
    return []


def _size_of(path: pathlib.Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0


def _examine_runs(runs: Sequence[LoggedRun]) -> Iterator[Checked]:
    with_records = [run for run in runs if run.records]
    for run in runs[:_MOST_RUNS]:
        yield from _examine_run(run)
    if len(runs) > _MOST_RUNS:
        yield Checked("note", f"and {_count(len(runs) - _MOST_RUNS, 'further run')}")
    if not runs:
        yield Checked("wrong", "none of them holds records of tb_gradgraph", _RECORD)
    elif with_records:
        text = "if the panel lacks the newest steps, TensorBoard reads new ones every 5 s"
        yield Checked("ok", f"{_count(len(with_records), 'run')} for the panel to show; {text}")


def _examine_run(run: LoggedRun) -> Iterator[Checked]:
    for warning in run.warnings[:_MOST_WARNINGS]:
        text = f"run {run.name}: damaged, or of a newer version: {warning}"
        cure = f"if it is newer than {__version__}: pip install --upgrade tb-gradgraph; else the "
        yield Checked(
            "wrong", text, cure + "record, or the rest of the file, is lost: log it again"
        )
    if len(run.warnings) > _MOST_WARNINGS:
        more = _count(len(run.warnings) - _MOST_WARNINGS, "further record")
        yield Checked("wrong", f"run {run.name}: {more} that cannot be read")
    for gap in run.gaps[:_MOST_WARNINGS]:
        cure = "free some disk space; recording then continues by itself"
        yield Checked("note", f"run {run.name}: {gap.text}", cure)
    if len(run.gaps) > _MOST_WARNINGS:
        more = _count(len(run.gaps) - _MOST_WARNINGS, "further gap")
        yield Checked("note", f"run {run.name}: {more}")
    for text in run.ended[:_MOST_WARNINGS]:
        cure = "the training went on; the fault is ours: please report it"
        yield Checked("wrong", f"run {run.name}: {text}", cure)
    if run.records:
        yield from _examine_records(run)
    elif run.sessions:
        yield Checked(
            "wrong",
            f"run {run.name}: a session began ({_versions(run)}), but nothing was recorded in it",
            "; ".join(facts.why_nothing for facts in run.facts.values() if facts.why_nothing)
            or "a watch records when backward() runs through its model; records reach the disk "
            "after 5 s at first, later less often, and with writer.flush() and close()",
        )


def _examine_records(run: LoggedRun) -> Iterator[Checked]:
    sessions = _count(len(run.sessions), "session")
    yield Checked("ok", f"run {run.name}: {sessions} ({_versions(run)})")
    for some in run.hidden[:_MOST_WARNINGS]:
        cure = f"{CURE}; 'summary --all-sessions' and the panel show what is hidden"
        yield Checked("note", f"run {run.name}: {some.text}", cure)
    if len(run.hidden) > _MOST_WARNINGS:
        more = _count(len(run.hidden) - _MOST_WARNINGS, "further session")
        yield Checked("note", f"run {run.name}: {more} with hidden records")
    for tag in sorted({record.tag for record in run.records}):
        records = [record for record in run.records if record.tag == tag]
        steps = sorted({record.step for record in records})
        graphs = {record.graph_hash for record in records}
        span = (
            f"step {steps[0]}"
            if len(steps) == 1
            else f"{len(steps)} steps, {steps[0]} to {steps[-1]}"
        )
        stages = [stage for stage in STAGES if stage in {record.stage for record in records}]
        text = f"run {run.name}, tag {tag}: {_count(len(graphs), 'graph')}, {span} ({', '.join(stages)})"
        yield Checked("ok", text)
        if not any(record.table.present.any() for record in records):
            cure = "after add_grad_graph(loss), call loss.backward() while the writer is open"
            yield Checked("wrong", f"run {run.name}, tag {tag}: no gradient was recorded", cure)
        missing = graphs - run.graphs.keys()
        if missing:
            text = f"run {run.name}, tag {tag}: the structure of {_count(len(missing), 'graph')} is missing"
            yield Checked(
                "wrong", text, "keep all of a run's event files together in its directory"
            )


def _versions(run: LoggedRun) -> str:
    versions = {
        f"tb_gradgraph {session.writer_version}, torch {session.torch_version or 'unknown'}"
        for session in run.sessions
    }
    return "; ".join(sorted(versions)) or "of unknown versions"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
