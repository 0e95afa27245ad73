"""The names of a step's quantities: numbers that belong to a record as a whole, such as its gradient norm."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

GRAD_NORM = "grad_norm"
CLIP_FACTOR = "clip_factor"
LOSS = "loss"
LOSS_SHARE = "loss_share"
LOSS_COSINE = "loss_cosine"
NOISE_SCALE = "noise_scale"
EVALUATING = "evaluating_modules"
NOTE = "note/"

#: Quantities of which every stage of a step has its own.
OF_STAGES = frozenset({GRAD_NORM})
#: What a short overview shows, by the first part of the name.
MAIN = (LOSS, GRAD_NORM, CLIP_FACTOR, "lr")

MOST_LETTERS = 160

_NORM, _NAN = STATISTICS.index("l2_norm"), STATISTICS.index("nan")


class Measured(Protocol):
    """What has quantities: a record, or an entry of an index."""

    @property
    def step(self) -> int:
        """The step."""

    @property
    def stage(self) -> str:
        """One of ``statistics.STAGES``."""

    @property
    def backward_pass(self) -> int:
        """The number of the pass."""

    @property
    def quantities(self) -> Mapping[str, float]:
        """The numbers by name."""


class Point(NamedTuple):
    """One number of a series."""

    step: int
    backward_pass: int
    value: float


def series_name(name: str, stage: str) -> str:
    """Return the name of a quantity outside its record: ``grad_norm/clipped``, or the name alone."""
    return f"{name}/{stage}" if name in OF_STAGES else name


def series_of(records: Iterable[Measured]) -> dict[str, list[Point]]:
    """Return the numbers of each quantity over the records, in their order, by the series' name."""
    found: dict[str, list[Point]] = {}
    for record in records:
        for name, value in record.quantities.items():
            point = Point(record.step, record.backward_pass, value)
            found.setdefault(series_name(name, record.stage), []).append(point)
    return found


def is_name(text: str) -> bool:
    """Return whether a text may name a quantity: printable, without a comma, not empty."""
    return bool(text) and text.isprintable() and "," not in text


def made_name(text: Any) -> str:
    """Turn any value into a part of a name; "?" if nothing printable is left of it."""
    shown = "".join(one if one.isprintable() and one != "," else "_" for one in str(text))
    return shown.strip()[:MOST_LETTERS] or "?"


def made_unique(names: Sequence[str]) -> list[str]:
    """Return the names with ``#1``, ``#2`` behind those that an earlier one has."""
    counts: dict[str, int] = {}
    taken: list[str] = []
    for name in names:
        number = counts[name] = counts.get(name, -1) + 1
        taken.append(f"{name}#{number}" if number else name)
    return taken


def total_of(norms: np.ndarray) -> float:
    """Return the norm of the whole from the norms of its parts; NaN counts as nothing.

    Norms are divided by the greatest one before they are squared, so that neither 1e200 nor 1e-200
    is lost.
    """
    found = np.abs(norms[~np.isnan(norms)])
    most = float(found.max(initial=0.0))
    if most == 0 or math.isinf(most):
        return most
    return most * float(np.sqrt(np.square(found / most).sum()))


def grad_norm(table: StatisticsTable, rows: Iterable[int]) -> dict[str, float]:
    """Return the l2 norm of the gradients of ``rows`` together, or nothing if none of them has one.

    NaN if an element is NaN, and infinity if one is infinite, as ``torch.nn.utils.get_total_norm``
    gives.
    """
    present = [row for row in {*rows} if table.present[row]]
    if not present:
        return {}
    numbers = table.values[present]
    if (numbers[:, _NAN] > 0).any():
        return {GRAD_NORM: math.nan}
    if (numbers[:, NONFINITE_COLUMNS] > 0).any():
        return {GRAD_NORM: math.inf}
    return {GRAD_NORM: total_of(numbers[:, _NORM])}
