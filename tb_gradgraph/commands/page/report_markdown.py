"""Write a report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_gradgraph.commands.page.report_words import (
    MOST_FINDINGS,
    QUANTITY_HEADER,
    quantity_rows,
    series_for,
    tell_healthy,
    tell_top,
    top_findings,
)
from tb_gradgraph.commands.show.finding_markdown import training_lines
from tb_gradgraph.commands.show.finding_words import tell_remarks
from tb_gradgraph.commands.show.layers import HEADER, layers_of, row_of
from tb_gradgraph.commands.show.number_line import Series, thinned
from tb_gradgraph.commands.show.plain import code_markdown, plain_markdown
from tb_gradgraph.health import Training

_MOST_NUMBERS = 16


def report_markdown(trainings: Sequence[Training]) -> str:
    """Return a report of trainings, those with the worst findings first."""
    lines = ["# Training report", "", *_sentences(trainings), ""]
    for training in trainings:
        lines += [*training_lines(training, MOST_FINDINGS), *_numbers(training)]
    lines += [f"{plain_markdown(remark)}\n" for remark in tell_remarks(trainings)]
    return "\n".join(lines).rstrip() + "\n"


def _sentences(trainings: Sequence[Training]) -> Iterator[str]:
    top = top_findings(trainings)
    if not top:
        yield plain_markdown(tell_healthy(trainings))
    for number, finding in enumerate(top, 1):
        head, text = tell_top(finding, len(trainings) > 1)
        yield f"{number}. **{plain_markdown(head)}** {plain_markdown(text)}"


def _numbers(training: Training) -> Iterator[str]:
    for number, finding in enumerate(training.found[:MOST_FINDINGS], 1):
        measure, series = series_for(training, finding)
        if series:
            yield f"Numbers of {number}, {code_markdown(measure)}:"
            yield ""
            yield from _series_table(_telling(series, finding.first_step))
            yield ""
    quantities = quantity_rows(training)
    if quantities:
        yield from _table(QUANTITY_HEADER, quantities)
    layers = layers_of(training)
    if layers.shown:
        yield f"Norms of gradients ({layers.stage}) by module:"
        yield ""
        yield from _table(HEADER, [row_of(layer) for layer in layers.shown])
        if layers.further:
            yield f"and {layers.further} more, with gradients between these"
            yield ""
    yield f"Recorded by {plain_markdown(training.versions or 'an unknown version')}."
    yield ""


def _telling(series: Series, step: int) -> Series:
    """Return some numbers of a series: those around the step at which a finding begins, or of all steps."""
    before = sum(each < step for each, _ in series)
    if not before or len(series) <= _MOST_NUMBERS:
        return thinned(series, _MOST_NUMBERS)
    first = max(0, min(before - _MOST_NUMBERS // 2, len(series) - _MOST_NUMBERS))
    return series[first : first + _MOST_NUMBERS]


def _series_table(series: Series) -> Iterator[str]:
    yield f"| step | {' | '.join(str(step) for step, _ in series)} |"
    yield "|---" * (len(series) + 1) + "|"
    yield f"| value | {' | '.join(f'{number:.4g}' for _, number in series)} |"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield "|---" * len(header) + "|"
    for row in rows:
        yield f"| {' | '.join(_cells(row))} |"
    yield ""


def _cells(row: Sequence[str]) -> Iterator[str]:
    """Yield the cells: a name and a sparkline as code, numbers as they are."""
    last = len(row) - 1
    for at, cell in enumerate(row):
        yield code_markdown(cell, in_table=True) if at in (0, last) else plain_markdown(cell)
