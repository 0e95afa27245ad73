"""Read the findings of the trainings in a log directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from tb_gradgraph.diagnose import Course, RunFinding, course_of, find_in_course
from tb_gradgraph.ranks import join_ranks
from tb_gradgraph.record import LoggedRun, Told, read_logdir, read_run

T = TypeVar("T")
#: A training, and the run that it was recorded in.
Logged = tuple[LoggedRun, Course]


def findings(
    logdir: str | os.PathLike[str],
    *,
    run: str | None = None,
    tag: str | None = None,
    step: int | None = None,
) -> list[RunFinding]:
    """Return what looks wrong in the trainings that were recorded below a directory.

    A log may still be growing: what has been written so far is read.

    Args:
        logdir: The directory that ``tensorboard --logdir`` gets.
        run: Only this run; None: all.
        tag: Only the training of this tag; None: all.
        step: Only this recorded step; None: all.

    Returns:
        One finding for each cause: by run and tag, and within these the worst first, causes before
        what follows from them. Nothing if all is well.

    Raises:
        FileNotFoundError: If there is no such directory.
        ValueError: If nothing was recorded there, or not this run, tag or step.

    Example:
        >>> import tb_gradgraph
        >>> for finding in tb_gradgraph.findings("runs"):  # doctest: +SKIP
        ...     print(finding.severity, finding.kind, finding.node, finding.text)
    """
    chosen = choose(logdir, run, tag, step)
    return [found for _, course in chosen for found in find_in_course(course)]


def findings_of_run(directory: str | os.PathLike[str], tag: str) -> list[RunFinding]:
    """Return what looks wrong in one training of one run; nothing if no step of it is on the disk yet."""
    courses = (course for _, course in trainings_of(read_run(directory)))
    return [found for course in courses if course.tag == tag for found in find_in_course(course)]


def choose(
    logdir: str | os.PathLike[str],
    run: str | None = None,
    tag: str | None = None,
    step: int | None = None,
    told: Told = lambda text: None,
) -> list[Logged]:
    """Return the recorded trainings below a directory, as ``findings`` chooses them.

    ``told`` is called with a sentence for each thing that cannot be read.
    """
    logged = join_ranks(read_logdir(logdir))
    for one in logged:
        for warning in one.warnings:
            told(f"run {one.name}: {warning}")
    runs = _named(logged, run, lambda one: one.name, "run", str(logdir))
    chosen = [training for one in runs for training in trainings_of(one)]
    chosen = _named(chosen, tag, lambda one: one[1].tag, "tag", str(logdir))
    return chosen if step is None else _at(step, chosen, str(logdir))


def _at(step: int, chosen: Sequence[Logged], logdir: str) -> list[Logged]:
    at = [(run, course.at(step)) for run, course in chosen]
    if not any(course.steps for _, course in at):
        known = sorted({one.step for _, course in chosen for one in course.steps})
        raise ValueError(f"step {step} was not recorded below {logdir!r}; {_recorded(known)}.")
    return [(run, course) for run, course in at if course.steps]


def _recorded(steps: Sequence[int]) -> str:
    return f"recorded are {_listed(steps)}" if steps else "no step was"


def trainings_of(run: LoggedRun) -> Iterator[Logged]:
    """Yield the trainings of one run, by tag."""
    silent = (tag for tag, facts in run.facts.items() if facts.why_nothing)
    tags = sorted({*(record.tag for record in run.records), *silent})
    for tag in tags:
        records = [one for one in run.records if one.tag == tag]
        forwards = [one for one in run.forwards if one.tag == tag]
        facts = run.facts.get(tag)
        yield run, course_of(run.name, tag, run.graphs, records, forwards, facts)


def _named(
    some: Sequence[T], name: str | None, name_of: Callable[[T], str], what: str, logdir: str
) -> list[T]:
    """Return those with a name; all, if it is None."""
    if not some:
        raise ValueError(f"expected a log directory with recorded trainings, got {logdir!r}.")
    found = [one for one in some if name in (None, name_of(one))]
    if not found:
        names = sorted({name_of(one) for one in some})
        raise ValueError(
            f"{what} {name!r} was not recorded below {logdir!r}; it has {_listed(names)}."
        )
    return found


def _listed(names: Sequence[object], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
