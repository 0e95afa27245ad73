"""Draw numbers over the steps as a small picture: SVG that needs no script and no font."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from tb_gradgraph.commands.show.number_line import NumberLine, Series, number_line, thinned
from tb_gradgraph.commands.show.plain import plain_html

WIDTH, HEIGHT = 420, 132
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 10, 24, 22
_MOST_POINTS = 200
_CROSS = 9.0  # from one cross to the next


def small_picture(measure: str, series: Series, span: tuple[int, int] | None = None) -> str:
    """Return an ``<svg>`` of at least one number, with the ends of both axes; ``span``: steps to shade.

    The scale is logarithmic if the numbers span decades, and the picture then says so. NaN and
    infinity are crosses at the top. Colors are those of ``STYLE``.
    """
    series = thinned(series, _MOST_POINTS)
    line = number_line(number for _, number in series)
    steps = (series[0][0], series[-1][0])
    parts = [
        *_shade(span, steps),
        *_axes(line, steps),
        *_curves(line, series, steps),
        *_crosses(series, steps),
        _text(_LEFT, 14, f"{measure}, log scale" if line.is_log else measure, "start", "title"),
    ]
    label = plain_html(f"{measure} over steps {steps[0]} to {steps[1]}")
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg {box} role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _shade(span: tuple[int, int] | None, steps: tuple[int, int]) -> Iterator[str]:
    """Yield what shades the steps of a finding, unless these are all steps or none."""
    if span is None or (span[0] <= steps[0] and span[1] >= steps[1]):
        return
    if span[0] <= steps[1] and span[1] >= steps[0]:
        first, last = (_x(min(max(step, steps[0]), steps[1]), steps) for step in span)
        box = f'x="{first - 1:.1f}" width="{last - first + 2:.1f}"'
        yield f'<rect class="span" {box} y="{_TOP}" height="{HEIGHT - _TOP - _BOTTOM}"/>'


def _axes(line: NumberLine, steps: tuple[int, int]) -> Iterator[str]:
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    yield f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>'
    yield _text(_LEFT, HEIGHT - 6, f"step {steps[0]}", "start")
    if steps[1] > steps[0]:
        yield _text(right, HEIGHT - 6, str(steps[1]), "end")
    if math.isfinite(line.low):
        yield _text(_LEFT - 6, _y(line, line.high) + 4, f"{line.high:.3g}", "end")
    if line.high > line.low:
        yield _text(_LEFT - 6, _y(line, line.low) + 4, f"{line.low:.3g}", "end")


def _curves(line: NumberLine, series: Series, steps: tuple[int, int]) -> Iterator[str]:
    """Yield the curve, with a gap where a number has no place, and a dot for one without neighbors."""
    for has_place, some in itertools.groupby(series, lambda p: line.place(p[1]) is not None):
        points = [(_x(step, steps), _y(line, number)) for step, number in some] if has_place else []
        if len(points) == 1:
            yield f'<circle class="dot" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="2.5"/>'
        elif points:
            path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            yield f'<path class="line" d="M{path}"/>'


def _crosses(series: Series, steps: tuple[int, int]) -> Iterator[str]:
    """Yield crosses where numbers are not finite, not all of them if they are many."""
    bad: list[float] = []
    for step, number in series:
        if not math.isfinite(number) and (not bad or _x(step, steps) - bad[-1] >= _CROSS):
            bad.append(_x(step, steps))
    path = "".join(f"M{x - 3:.1f} {_TOP + 3}l6 6m-6 0l6-6" for x in bad)
    if bad:
        yield f'<path class="cross" d="{path}"><title>NaN or infinity</title></path>'
        place = min(max(bad[0], _LEFT + 4), WIDTH - _RIGHT - 90)
        yield _text(place, _TOP + 22, "NaN or infinity", "start", "bad")


def _x(step: int, steps: tuple[int, int]) -> float:
    share = (step - steps[0]) / (steps[1] - steps[0]) if steps[1] > steps[0] else 0.5
    return _LEFT + 6 + share * (WIDTH - _LEFT - _RIGHT - 12)


def _y(line: NumberLine, number: float) -> float:
    place = line.place(number)
    height = HEIGHT - _TOP - _BOTTOM - 16
    return HEIGHT - _BOTTOM - 6 - (0.5 if place is None else place) * height


def _text(x: float, y: float, text: str, anchor: str, kind: str = "label") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{plain_html(text)}</text>'
