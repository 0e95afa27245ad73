"""The numbers of a training's layers over its recorded steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tb_gradgraph.commands.show.number_line import sparkline
from tb_gradgraph.diagnose import Course
from tb_gradgraph.graph import NO_SCOPE, Graph, Record
from tb_gradgraph.health import Training
from tb_gradgraph.statistics import NONFINITE, STATISTICS

#: So many layers are shown: those with NaN, infinity or nearly only zeros, then the greatest and least.
MOST_LAYERS = 20
#: So many steps are read for the share of zeros.
_MOST_STEPS = 64
_ZERO = STATISTICS.index("zero_fraction")
_SHARE, _NEARLY_ALL = 0.01, 0.95


@dataclasses.dataclass(frozen=True)
class Layer:
    """One module and its own parameters.

    Attributes:
        name: Its qualified name; "" is the model itself.
        norms: The L2 norm of the gradients of its parameters at each step; infinity if one is not
            finite, NaN where no gradient arrived. Empty if it has no parameters.
        update_ratio: Median of the norms of update and weights, divided; NaN if unknown.
        zeros: Median share of zeros in what the module puts out; NaN if that was not recorded.
    """

    name: str
    norms: Sequence[float]
    update_ratio: float
    zeros: float

    @property
    def known(self) -> list[float]:
        """The norms of the steps that have one."""
        return [number for number in self.norms if number == number]

    @property
    def size(self) -> float:
        """The greatest norm; infinity if one is not finite, 0 if there is none."""
        return max(self.known, default=0.0)


@dataclasses.dataclass(frozen=True)
class Layers:
    """The layers to show, in the order of the model, and how many more there are."""

    stage: str
    shown: Sequence[Layer]
    further: int


HEADER = ("module", "last", "median", "greatest", "update/weight", "zeros", "over the steps")


def row_of(layer: Layer) -> tuple[str, ...]:
    """Return the cells of a layer below ``HEADER``; "-" where a number is unknown.

    Median and greatest are those of the finite norms.
    """
    known = layer.known
    finite = [number for number in known if np.isfinite(number)] or known
    norms = (known[-1], float(np.median(finite)), max(finite)) if known else (np.nan,) * 3
    cells = (*(_number(number, ".3g") for number in norms), _number(layer.update_ratio, ".1e"))
    return (
        *(layer.name or "(model)", *cells, _number(layer.zeros, ".0%")),
        sparkline(known) if known else "",
    )


def _number(number: float, form: str) -> str:
    if number != number:
        return "-"
    return format(number, form) if np.isfinite(number) else "not finite"


def layers_of(training: Training, most: int = MOST_LAYERS) -> Layers:
    """Return the layers of a training: the worst, and those with the greatest and least gradients."""
    course = training.course
    if not course.steps:
        return Layers("", (), 0)
    stage = "applied" if any(step.has_stepped for step in course.steps) else "backward"
    zeros = _zeros(course)
    found = {layer.name: layer for layer in _with_parameters(course, stage, zeros)}
    for name, share in zeros.items():
        if name not in found and share >= _SHARE:
            found[name] = Layer(name, (), np.nan, share)
    if not any(layer.known for layer in found.values()):
        return Layers(stage, (), 0)
    named = _in_order(course, found)
    kept = set(_worst_first(named)[:most])
    return Layers(stage, [one for one in named if one.name in kept], len(named) - len(kept))


def _worst_first(layers: Sequence[Layer]) -> list[str]:
    """Return the names of layers, of which the first ones are to be shown."""
    bad = [one for one in layers if one.size == np.inf or one.zeros >= _NEARLY_ALL]
    by_size = sorted((one for one in layers if one.known), key=lambda layer: layer.size)
    ends = [one for pair in zip(reversed(by_size), by_size) for one in pair]
    return list(dict.fromkeys(one.name for one in (*bad, *ends, *layers)))


def _with_parameters(course: Course, stage: str, zeros: Mapping[str, float]) -> Iterator[Layer]:
    parameters = course.parameters
    columns: dict[str, list[int]] = {}
    for at, node in enumerate(parameters.nodes):
        columns.setdefault(node.name.rpartition(".")[0], []).append(at)
    norms = parameters.of(stage, "l2_norm").copy()
    bad = sum(
        (np.nan_to_num(parameters.of(stage, name)) for name in NONFINITE), np.zeros(norms.shape)
    )
    norms[bad > 0] = np.inf
    updates, weights = (parameters.of("applied", name) for name in ("update_norm", "weight_norm"))
    for name, some in columns.items():
        ratio = _over(updates[:, some]), _over(weights[:, some])
        yield Layer(name, _over(norms[:, some]).tolist(), _ratio(*ratio), zeros.get(name, np.nan))


def _over(norms: np.ndarray) -> np.ndarray:
    """Return the norm of several parameters together at each step; NaN where none has one."""
    with np.errstate(over="ignore"):
        total = np.sqrt(np.nansum(norms**2, axis=1))
    return np.where(np.isnan(norms).all(axis=1), np.nan, total)


def _ratio(updates: np.ndarray, weights: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        ratios = updates / weights
    known = ratios[np.isfinite(ratios)]
    return float(np.median(known)) if len(known) else np.nan


def _zeros(course: Course) -> dict[str, float]:
    """Return the median share of zeros in what each module puts out itself."""
    places: dict[str, dict[str, int]] = {}
    found: dict[str, list[float]] = {}
    with_values = [record for step in course.steps for record in step.forwards[:1]]
    every = -(-len(with_values) // _MOST_STEPS) or 1
    for record in with_values[::every]:
        graph_hash = record.graph_hash
        if graph_hash not in places:
            places[graph_hash] = _last_rows(course.graphs[graph_hash], record)
        values = record.table.values
        for name, row in places[graph_hash].items():
            if values[row, _ZERO] == values[row, _ZERO]:
                found.setdefault(name, []).append(float(values[row, _ZERO]))
    return {name: float(np.median(shares)) for name, shares in found.items()}


def _last_rows(graph: Graph, record: Record) -> dict[str, int]:
    """Return, for each module, the row of the last operation in it that has a value."""
    rows: dict[str, int] = {}
    present = record.table.present
    for node, row in zip(graph.nodes, graph.slot_offsets.tolist()):
        if node.kind == "operation" and node.slots and node.scope != NO_SCOPE and present[row]:
            rows[graph.scopes[node.scope].path] = row
    rows.pop("", None)
    return rows


def _in_order(course: Course, found: Mapping[str, Layer]) -> list[Layer]:
    """Sort layers as their modules are first called; those that are not come at the end."""
    order = {scope.path: at for at, scope in reversed(list(enumerate(course.graph.scopes)))}
    return sorted(found.values(), key=lambda layer: order.get(layer.name, len(order)))
