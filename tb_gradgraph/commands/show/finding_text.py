"""Write findings for a terminal."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence

from tb_gradgraph.commands.show.finding_words import (
    main_series,
    tell_numbers,
    tell_place,
    tell_remarks,
    tell_steps,
    tell_training,
)
from tb_gradgraph.commands.show.plain import printable
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.health import Training

_WIDEST = 100


def as_text(trainings: Sequence[Training]) -> str:
    """Return the findings of each training, the worst first, as text of a terminal's width."""
    lines: list[str] = []
    for training in trainings:
        is_short = not training.found and bool(lines) and not lines[-1].startswith(" ")
        lines += [] if is_short or not lines else [""]
        lines += _lines_of(training)
    remarks = tell_remarks(trainings)
    lines += ["", *(line for remark in remarks for line in _wrapped(remark, ""))] if remarks else []
    return "\n".join(lines) + "\n"


def _lines_of(training: Training) -> Iterator[str]:
    yield printable(f"run {training.run}, tag {training.tag}: {tell_training(training)}.")
    if not training.found:
        return
    name, series = main_series(training)
    if series:
        yield from _wrapped(tell_numbers(name, series), "  ")
    for number, finding in enumerate(training.found, 1):
        yield ""
        yield from _lines_of_finding(number, finding)


def _lines_of_finding(number: int, finding: RunFinding) -> Iterator[str]:
    place = tell_place(finding)
    yield from _wrapped(
        f"{number}. {finding.severity}: {finding.kind}" + (f" at {place}" if place else ""), "  "
    )
    where = f", made at {finding.source}" if finding.source else ""
    yield from _wrapped(f"{tell_steps(finding)}{where}", "     ")
    yield from _wrapped(finding.text, "     ")
    if finding.advice:
        yield from _wrapped(f"Try: {finding.advice}", "     ")
    if finding.numbers:
        yield from _wrapped(tell_numbers(finding.measure, finding.numbers), "     ")


def _wrapped(text: str, indent: str) -> list[str]:
    width = max(40, min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns))
    return textwrap.wrap(
        printable(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
