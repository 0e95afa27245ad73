"""All findings of one training, the cause first."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable

from tb_gradgraph.diagnose.run.course import Course
from tb_gradgraph.diagnose.run.explained import explain
from tb_gradgraph.diagnose.run.lasting import find_lasting
from tb_gradgraph.diagnose.run.over_steps.of_depth import find_along_depth
from tb_gradgraph.diagnose.run.over_steps.of_facts import find_in_facts, find_without_steps
from tb_gradgraph.diagnose.run.over_steps.of_loss import find_in_loss
from tb_gradgraph.diagnose.run.over_steps.of_optimizer import find_in_optimizer
from tb_gradgraph.diagnose.run.over_steps.of_rows import find_unused_rows
from tb_gradgraph.diagnose.run.over_steps.of_structure import find_in_structure
from tb_gradgraph.diagnose.run.over_steps.of_updates import find_in_updates
from tb_gradgraph.diagnose.run.over_steps.of_values import find_in_values
from tb_gradgraph.diagnose.run.run_finding import RunFinding
from tb_gradgraph.errors import FormatError

RULES: tuple[Callable[[Course], Iterable[RunFinding]], ...] = (
    find_in_facts,
    find_lasting,
    find_in_loss,
    find_in_optimizer,
    find_in_updates,
    find_in_values,
    find_in_structure,
    find_along_depth,
    find_unused_rows,
)


def find_in_course(course: Course) -> list[RunFinding]:
    """Return what looks wrong in a training over all of its recorded steps, the cause first.

    Of a very long training some steps are looked at, ``course.looked_at``.

    Raises:
        FormatError: If a record turns out to be damaged as it is read.
    """
    if not course.steps:
        return list(find_without_steps(course))
    with course.kept.lock:
        seen = course.looked_at
        return explain(seen, [found for rule in RULES for found in _found_by(rule, seen)])


def _found_by(rule: Callable[[Course], Iterable[RunFinding]], course: Course) -> list[RunFinding]:
    """Return what a rule finds. A fault in it costs what it would have found, and says so.

    That a record is damaged is no fault of the rule: the caller may leave out the record.
    """
    try:
        return list(rule(course))
    except FormatError:
        raise
    except Exception as error:
        what = f"run {course.run!r}, tag {course.tag!r}"
        warnings.warn(f"{what}: {rule.__name__} failed: {error!r}.", stacklevel=2)
        return []
