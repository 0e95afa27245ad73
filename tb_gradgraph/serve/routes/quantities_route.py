"""Answer with the quantities of a tag: numbers of a step as a whole, over all steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tb_gradgraph.quantities import Point, series_name, series_of
from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.find import find_records, find_run
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters, not_found
from tb_gradgraph.serve.runs.reader import Reader

#: How many names an error lists.
_MOST_NAMED = 40


def answer_quantities(reader: Reader, parameters: Parameters) -> Answer:
    """Return the steps and values of all quantities of a tag, or of those that ``names`` lists."""
    run = find_run(reader, parameters)
    entries = find_records(run, parameters)
    found = series_of(entries)
    missing = {
        series_name(name, entry.stage): reason
        for entry in entries
        for name, reason in entry.quantity_reasons.items()
    }
    names = _chosen(parameters, found)
    columns = {name: _columns(found[name]) for name in names}
    reasons = {name: missing[name] for name in missing if name not in found}
    answer = {"run": run.name, "tag": entries[0].tag, "quantities": columns, "missing": reasons}
    return Answer(to_json(answer).encode(), JSON)


def _chosen(parameters: Parameters, found: Mapping[str, object]) -> list[str]:
    text = parameters.optional_text("names")
    if not text:
        return list(found)
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in found:
            known = sorted(found)
            more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
            listed = ", ".join(known[:_MOST_NAMED]) + more if known else "nothing"
            raise not_found(
                f"Expected the name of a quantity of the tag, got {name[:80]!r}; recorded: {listed}."
            )
    return names


def _columns(points: Sequence[Point]) -> dict[str, list[int] | list[float]]:
    return {
        "steps": [point.step for point in points],
        "backward_passes": [point.backward_pass for point in points],
        "values": [point.value for point in points],
    }
