"""The trainings of a log directory, each with what was found in it."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Iterable, Iterator, Sequence

from tb_gradgraph.diagnose import Course, RunFinding, find_in_course
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.health.healthy import left
from tb_gradgraph.health.logged import Logged, choose, trainings_of
from tb_gradgraph.record import LoggedRun, Told
from tb_gradgraph.version import __version__

_WORST = ("error", "warning", "note")


@dataclasses.dataclass(frozen=True)
class Training:
    """One recorded training.

    Attributes:
        course: Its recorded steps.
        found: What was found in it, the worst first.
        remarks: What the log lacks, a sentence each.
        ignored: How many further findings were ignored.
        versions: What recorded it, such as "tb_gradgraph 0.1.0, torch 2.9".
    """

    course: Course
    found: Sequence[RunFinding]
    remarks: Sequence[str] = ()
    ignored: int = 0
    versions: str = ""

    @property
    def run(self) -> str:
        """The run, as TensorBoard names it."""
        return self.course.run

    @property
    def tag(self) -> str:
        """The name of the training in its run."""
        return self.course.tag

    @property
    def is_healthy(self) -> bool:
        """Return whether there are steps, and neither an error nor a warning."""
        return bool(self.steps) and all(one.severity == "note" for one in self.found)

    @functools.cached_property
    def steps(self) -> Sequence[int]:
        """The recorded steps."""
        return [one.step for one in self.course.steps]

    @functools.cached_property
    def has_values(self) -> bool:
        """Return whether values of operations were recorded, not of weights and losses alone."""
        graphs = self.course.graphs
        forwards = (one for step in self.course.steps for one in step.forwards)
        return any(_has_values(graphs[one.graph_hash], one) for one in forwards)

    def without(self, ignore: Sequence[str]) -> Training:
        """Return the training without the findings that ``assert_healthy`` ignores, too.

        Raises:
            ValueError: For a kind that does not exist.
        """
        found = left(self.found, ignore)
        return dataclasses.replace(self, found=found, ignored=len(self.found) - len(found))


def examine(
    logdir: str | os.PathLike[str],
    run: str | None = None,
    tag: str | None = None,
    step: int | None = None,
    told: Told = lambda text: None,
) -> list[Training]:
    """Return the trainings that ``findings`` would look at, those with the worst findings first.

    ``told`` is called with a sentence for each thing that cannot be read.

    Raises:
        FileNotFoundError: If there is no such directory.
        ValueError: If nothing was recorded there, or not this run, tag or step.
    """
    return worst_first(map(_examined, choose(logdir, run, tag, step, told)))


def examine_run(run: LoggedRun) -> list[Training]:
    """Return the trainings of one run, those with the worst findings first."""
    return worst_first(map(_examined, trainings_of(run)))


def worst_first(trainings: Iterable[Training]) -> list[Training]:
    """Sort trainings by their worst finding; those that are equally bad keep their order."""
    return sorted(trainings, key=lambda one: min((_rank(each) for each in one.found), default=9))


def _rank(finding: RunFinding) -> int:
    return _WORST.index(finding.severity)


def _examined(logged: Logged) -> Training:
    run, course = logged
    training = Training(course, find_in_course(course))
    remarks = tuple(_remarks(run, training))
    return dataclasses.replace(training, remarks=remarks, versions=_versions(run))


def _versions(run: LoggedRun) -> str:
    some = {f"tb_gradgraph {one.writer_version}, torch {one.torch_version}" for one in run.sessions}
    return "; ".join(sorted(some))


def _remarks(run: LoggedRun, training: Training) -> Iterator[str]:
    if training.steps and not training.has_values:
        yield "No values were recorded; watch(..., values=True) lets more be found."
    older = {each.writer_version for each in run.sessions if _is_older(each.writer_version)}
    if older:
        by = ", ".join(sorted(older))
        yield f"It was recorded by an older tb_gradgraph ({by}), which may have recorded less."
    missing = {one.graph_hash for one in run.records if one.tag == training.tag}
    missing -= run.graphs.keys()
    if missing:
        yield f"The structure of {len(missing)} of its graphs is missing; their steps are left out."


def _is_older(version: str) -> bool:
    there, here = (
        [int(number) for number in re.findall(r"\d+", v)][:3] for v in (version, __version__)
    )
    return bool(there) and there < here


def _has_values(graph: Graph, forward: Record) -> bool:
    """Return whether a record has a value of what an operation gave."""
    first = zip(graph.slot_offsets[:-1].tolist(), graph.nodes)
    rows = [row for row, node in first if node.kind == "operation" and node.slots]
    return bool(forward.table.present[rows].any())
