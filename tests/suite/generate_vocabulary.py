"""Make ``vocabulary.ts`` and ``findings.md``: ``python -m tests.suite.generate_vocabulary``."""

from __future__ import annotations

import json
import pathlib
import typing
from collections.abc import Iterable, Mapping

from tb_gradgraph import graph, statistics
from tb_gradgraph.commands import html_export
from tb_gradgraph.diagnose import kinds
from tb_gradgraph.serve.evidence import whole
from tb_gradgraph.serve.routes import flow_route

ROOT = pathlib.Path(__file__).resolve().parents[2]
VOCABULARY = ROOT / "frontend/src/base/vocabulary.ts"
FINDINGS = ROOT / "docs/findings.md"

_HEAD = """\
// Constants that Python and the panel share. Generated: python -m tests.suite.generate_vocabulary
"""
_FINDINGS_HEAD = """\
# Findings

All that `tb_gradgraph.findings(logdir)`, `tb-gradgraph findings` and the panel can say about a training, and
`graph.findings()` about one step. The text of a finding has numbers and names. Its `kind` stays the same in
all releases. This page is generated from `tb_gradgraph/diagnose/kinds/` by
`python -m tests.suite.generate_vocabulary`.

Findings are sorted by severity. Within one severity, causes come before what follows from them. A finding
of a run says at which steps it is true. Some kinds must last, so that stochastic depth or zero
initialization is not reported: at fewer steps they are notes, or left out.
"""
_MEASURE = """\
// One statistic: statistics.py says what each field means.
export interface Measure {
  readonly name: string;
  readonly label: string;
  readonly meaning: string;
  readonly unit: Unit;
"""
#: Fields that are written only where they are true.
_FLAGS = {
    "isSigned": "is_signed",
    "isElement": "is_element",
    "ofMagnitudes": "of_magnitudes",
    "ofParameters": "of_parameters",
    "ofValues": "of_values",
    "isDrawn": "is_drawn",
}


def make_vocabulary() -> str:
    """Return the text of ``vocabulary.ts``."""
    parts = [
        _HEAD,
        _type("Unit", typing.get_args(statistics.Unit)) + _MEASURE + _flags(),
        _measures(),
        "// Whole numbers; counts of elements that are not finite; numbers of a parameter at the stage"
        ' "applied".\n'
        + _strings("COUNTS", [name for name in statistics.STATISTICS if name in statistics.COUNTS])
        + _strings("NONFINITE", statistics.NONFINITE)
        + _strings("OF_PARAMETERS", statistics.OF_PARAMETERS),
        "// Where in a step gradients are read, in the order in which they change.\n"
        + _strings("STAGES", statistics.STAGES)
        + "// The stage of values: of what the forward before a backward computed with and made.\n"
        + f"export const FORWARD = {_quoted(statistics.FORWARD)};\n",
        "// Bins of a histogram, and the maximum number of elements of a tensor that it counts.\n"
        + _number("HISTOGRAM_BINS", statistics.HISTOGRAM_BINS)
        + _number("HISTOGRAM_SAMPLE", statistics.HISTOGRAM_SAMPLE)
        + "// A tensor of at most this many elements is kept whole.\n"
        + _number("WHOLE_LIMIT", statistics.WHOLE_LIMIT)
        + "// The maximum number of values of a series that are fetched to mark steps: 4 MB.\n"
        + _number("MOST_SEARCHED", html_export.MOST_SEARCHED),
        _type("NodeKind", graph.NODE_KINDS)
        + "// The labels of kinds, if they differ from the kind itself.\n"
        + _words("KIND_LABELS", graph.KIND_LABELS),
        "// Why no gradient can arrive, as a short label for a box.\n"
        + _words("REASON_LABELS", graph.REASON_LABELS),
        _number("NO_SCOPE", graph.NO_SCOPE),
        "// The state of a tensor at a step in the heat map.\n"
        + "export const Arrived = "
        + f"{{ none: {flow_route.NONE}, arrived: {flow_route.ARRIVED}, "
        + f"nonfinite: {flow_route.NONFINITE} }} as const;\n",
        _type("WhatKept", whole.WHAT),
        _type("Severity", kinds.SEVERITIES)
        + "// The worst first.\n"
        + f"export const SEVERITIES: readonly Severity[] = {_listed(kinds.SEVERITIES)};\n",
    ]
    return "\n".join(parts)


def make_findings() -> str:
    """Return the text of the page that lists every kind of finding, the worst first."""
    rows = sorted(kinds.KINDS.values(), key=lambda one: kinds.SEVERITIES.index(one.severity))
    return _FINDINGS_HEAD + "".join(
        f"\n## {one.name}\n\n"
        f"**{' or '.join(filter(None, (one.severity, one.milder)))}.** {one.meaning} {one.advice}\n\n"
        f"- *When:* {one.when}\n- *Silent for:* {one.silent}.\n"
        for one in rows
    )


def _flags() -> str:
    return "".join(f"  readonly {name}?: true;\n" for name in _FLAGS) + "}\n"


def _measures() -> str:
    lines = ["export const MEASURES: readonly Measure[] = ["]
    for measure in statistics.MEASURES:
        fields = {name: getattr(measure, name) for name in ("name", "label", "meaning", "unit")}
        fields |= {name: True for name, ours in _FLAGS.items() if getattr(measure, ours)}
        lines.append(f"  {_object(fields)},")
    return "\n".join([*lines, "];\n"])


def _type(name: str, values: Iterable[str]) -> str:
    return f"export type {name} = {' | '.join(map(_quoted, values))};\n"


def _strings(name: str, values: Iterable[str]) -> str:
    return f"export const {name}: readonly string[] = {_listed(values)};\n"


def _words(name: str, words: Mapping[str, str]) -> str:
    return f"export const {name}: Readonly<Record<string, string>> = {_object(words)};\n"


def _number(name: str, value: int) -> str:
    return f"export const {name} = {value};\n"


def _listed(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_quoted, values))}]"


def _object(fields: Mapping[str, object]) -> str:
    inside = ", ".join(f"{name}: {_quoted(value)}" for name, value in fields.items())
    return f"{{ {inside} }}"


def _quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    for path, text in ((VOCABULARY, make_vocabulary()), (FINDINGS, make_findings())):
        path.write_text(text, encoding="utf-8", newline="\n")
