"""Write a report as one HTML page without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tb_gradgraph.commands.page.page_style import STYLE
from tb_gradgraph.commands.page.report_words import (
    MOST_FINDINGS,
    QUANTITY_HEADER,
    quantity_rows,
    series_for,
    tell_healthy,
    tell_top,
    top_findings,
)
from tb_gradgraph.commands.page.small_picture import small_picture
from tb_gradgraph.commands.show.finding_words import (
    main_series,
    tell_place,
    tell_remarks,
    tell_steps,
    tell_training,
)
from tb_gradgraph.commands.show.layers import HEADER, layers_of, row_of
from tb_gradgraph.commands.show.number_line import Series
from tb_gradgraph.commands.show.plain import plain_html
from tb_gradgraph.diagnose import RunFinding
from tb_gradgraph.health import Training
from tb_gradgraph.version import __version__

# Nothing is loaded and nothing runs, whatever a name from the log says.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Training report</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>Training report</h1>
{content}
<footer>Written by tb-gradgraph {version}.</footer>
</main>
</body>
</html>
"""


def report_page(trainings: Sequence[Training]) -> str:
    """Return a report of trainings as a page that needs no other file, light or dark as its reader likes."""
    parts = [*_sentences(trainings), *(_section(training) for training in trainings)]
    remarks = tell_remarks(trainings)
    if remarks:
        parts.append("".join(f'<p class="remark">{plain_html(remark)}</p>' for remark in remarks))
    return _PAGE.format(policy=_POLICY, style=STYLE, content="\n".join(parts), version=__version__)


def _sentences(trainings: Sequence[Training]) -> Iterator[str]:
    top = top_findings(trainings)
    if not top:
        yield f'<p class="healthy">{plain_html(tell_healthy(trainings))}</p>'
        return
    items = []
    for finding in top:
        head, text = map(plain_html, tell_top(finding, len(trainings) > 1))
        items.append(f'<li class="{finding.severity}"><strong>{head}</strong> {text}</li>')
    yield f'<ol class="top">{"".join(items)}</ol>'


def _section(training: Training) -> str:
    parts = [
        f"<h2>Run {_code(training.run)}, tag {_code(training.tag)}</h2>",
        f"<p>{_sentence(tell_training(training))}.</p>",
    ]
    name, series = main_series(training)
    if series and not training.found:
        parts.append(f"<figure>{small_picture(name, series)}</figure>")
    parts += [_article(training, finding) for finding in training.found[:MOST_FINDINGS]]
    further = len(training.found) - MOST_FINDINGS
    parts += [f"<p>And {further} more.</p>"] if further > 0 else []
    quantities = quantity_rows(training)
    if quantities:
        parts += ["<h3>Numbers of the step</h3>", _table(QUANTITY_HEADER, quantities)]
    parts += _layers(training)
    parts.append(f"<p>Recorded by {plain_html(training.versions or 'an unknown version')}.</p>")
    return f"<section>{''.join(parts)}</section>"


def _article(training: Training, finding: RunFinding) -> str:
    place = tell_place(finding)
    at = f" at {_code(place)}" if place else ""
    made = f", made at {_code(finding.source)}" if finding.source else ""
    badge = f'<span class="badge {finding.severity}">{finding.severity}</span>'
    parts = [
        f"<h3>{badge} {_code(finding.kind)}{at}</h3>",
        f'<p class="steps">{_sentence(tell_steps(finding))}{made}.</p>',
        f"<p>{plain_html(finding.text)}</p>",
    ]
    if finding.advice:
        parts.append(f"<p><strong>Try:</strong> {plain_html(finding.advice)}</p>")
    measure, series = series_for(training, finding)
    if series:
        span = (finding.first_step, finding.last_step)
        parts.append(f"<figure>{small_picture(measure, series, span)}</figure>")
        parts.append(_numbers(measure, series))
    return f"<article>{''.join(parts)}</article>"


def _numbers(measure: str, series: Series) -> str:
    rows = [(str(step), f"{number:.6g}") for step, number in series]
    table = _table(("step", measure), rows)
    return f"<details><summary>The {len(rows)} numbers</summary>{table}</details>"


def _layers(training: Training) -> Iterator[str]:
    layers = layers_of(training)
    if layers.shown:
        yield f"<h3>Gradient norms by module ({plain_html(layers.stage)})</h3>"
        yield _table(HEADER, [row_of(layer) for layer in layers.shown])
    if layers.further:
        yield f"<p>And {layers.further} more, with gradients between these.</p>"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{plain_html(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{plain_html(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _code(name: str) -> str:
    return f"<code>{plain_html(name)}</code>"


def _sentence(text: str) -> str:
    return plain_html(f"{text[:1].upper()}{text[1:]}")
