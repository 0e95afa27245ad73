"""Write findings as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_gradgraph.commands.show.finding_words import (
    main_series,
    tell_numbers,
    tell_place,
    tell_remarks,
    tell_steps,
    tell_training,
)
from tb_gradgraph.commands.show.plain import code_markdown, plain_markdown
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.health import Training


def as_markdown(trainings: Sequence[Training]) -> str:
    """Return a section for each training with a list of its findings, the worst first."""
    lines = [line for training in trainings for line in training_lines(training)]
    lines += [plain_markdown(remark) for remark in tell_remarks(trainings)]
    return "\n".join(lines).rstrip() + "\n"


def training_lines(training: Training, most: int | None = None) -> Iterator[str]:
    """Yield the lines of one training: a heading, how it is, and its first findings as a list."""
    run, tag = code_markdown(training.run), code_markdown(training.tag)
    told = tell_training(training)
    yield f"### Run {run}, tag {tag}"
    yield ""
    yield f"{told[:1].upper()}{told[1:]}."
    yield ""
    name, series = main_series(training)
    if series:
        yield code_markdown(tell_numbers(name, series))
        yield ""
    for number, finding in enumerate(training.found[:most], 1):
        yield from _finding_lines(number, finding)
    further = len(training.found) - len(training.found[:most])
    if further:
        yield f"\nAnd {further} more."
    if training.found:
        yield ""


def _finding_lines(number: int, finding: RunFinding) -> Iterator[str]:
    place = code_markdown(tell_place(finding))
    source = code_markdown(finding.source)
    at = f" at {place}" if place else ""
    made = f", made at {source}" if source else ""
    yield f"{number}. **{finding.severity}** {code_markdown(finding.kind)}{at}, {tell_steps(finding)}{made}  "
    yield f"   {plain_markdown(finding.text)}  "
    if finding.advice:
        yield f"   *Try:* {plain_markdown(finding.advice)}  "
    if finding.numbers:
        yield f"   {code_markdown(tell_numbers(finding.measure, finding.numbers))}"
