"""What is known about the values of a forward: counts of NaN and infinity, and the range of the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from tb_gradgraph.statistics import NONFINITE_COLUMNS, STATISTICS, StatisticsTable

_COLUMNS = [
    STATISTICS.index(name)
    for name in ("nan", "posinf", "neginf", "numel", "min", "max", "abs_max", "zero_fraction")
]
_WORDS = {"nan": "NaN", "posinf": "+inf", "neginf": "-inf"}


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """The numbers of one value; the last four are NaN if no element is finite."""

    nan: float
    posinf: float
    neginf: float
    numel: float
    low: float
    high: float
    greatest: float  # magnitude
    zeros: float  # share of the elements

    @property
    def is_finite(self) -> bool:
        """Return whether every element is finite."""
        return not (self.nan or self.posinf or self.neginf)

    def count(self) -> str:
        """Say how many elements are not finite."""
        parts = [
            f"{getattr(self, name):,.0f} {word}"
            for name, word in _WORDS.items()
            if getattr(self, name)
        ]
        return f"{', '.join(parts)} of {self.numel:,.0f} element{'' if self.numel == 1 else 's'}"


def has_nonfinite(table: StatisticsTable | None, whole: Mapping[int, np.ndarray]) -> bool:
    """Return whether any value is known to hold NaN or infinity."""
    if table is not None and bool((table.values[table.present][:, NONFINITE_COLUMNS] > 0).any()):
        return True
    return any(not np.isfinite(value).all() for value in whole.values())


def known_values(
    slots: int, table: StatisticsTable | None, whole: Mapping[int, np.ndarray]
) -> dict[int, Value]:
    """Return the known values by row, of the rows below ``slots``.

    Args:
        slots: The number of slots of the graph.
        table: Statistics of values; None if they were not recorded.
        whole: Values that were kept whole. They count for rows without statistics.
    """
    found = {row: _of_array(array) for row, array in whole.items() if row < slots and array.size}
    if table is not None:
        rows = np.flatnonzero(table.present[:slots])
        numbers = table.values[rows][:, _COLUMNS].tolist()
        found.update((row, Value(*of_row)) for row, of_row in zip(rows.tolist(), numbers))
    return found


def _of_array(array: np.ndarray) -> Value:
    finite = array[np.isfinite(array)]
    sizes = np.abs(finite) if np.iscomplexobj(finite) else finite
    low, high = (float(sizes.min()), float(sizes.max())) if sizes.size else (np.nan, np.nan)
    nan = int(np.isnan(array).sum())
    real = array.real if np.iscomplexobj(array) else array
    positive = int((~np.isnan(array) & np.isposinf(real)).sum())
    negative = int(array.size - finite.size - nan - positive)
    zeros = float((finite == 0).sum()) / array.size
    return Value(nan, positive, negative, array.size, low, high, max(abs(low), abs(high)), zeros)
