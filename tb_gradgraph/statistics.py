"""The numbers kept of one tensor, and of all tensors of one backward pass."""

from __future__ import annotations

import dataclasses

import numpy as np

#: Order of the columns in memory, on disk and on the wire; append only.
STATISTICS = (
    "l2_norm",
    "mean",
    "std",
    "min",
    "max",
    "abs_max",
    "zero_fraction",
    "nan",
    "posinf",
    "neginf",
    "numel",
    "weight_norm",
    "update_norm",
    "update_ratio",
    "update_spread",
)

#: Numbers of a parameter beside its gradient; only records of an optimizer's step have them.
OF_PARAMETERS = ("weight_norm", "update_norm", "update_ratio")

#: Counts of elements that are not finite.
NONFINITE = ("nan", "posinf", "neginf")

#: Bin i counts sampled elements with HISTOGRAM_LOW + 2*i <= log2|g| < HISTOGRAM_LOW + 2*(i+1);
#: the first and last bin also hold what lies beyond them, zeros are in none.
HISTOGRAM_BINS = 32
HISTOGRAM_LOW = -48
HISTOGRAM_WIDTH = 2
#: So many elements of a tensor are sampled at most; fewer where many tensors share a budget.
HISTOGRAM_SAMPLE = 4096

#: A tensor of at most this many elements is kept whole, value and gradient.
WHOLE_LIMIT = 16
#: One that ``retain`` names is kept whole up to this many elements.
RETAIN_LIMIT = 65_536

#: Where in a step gradients were read, in the order in which they change: as one backward gave
#: them; summed in ``.grad``; with a GradScaler's factor out; clipped; and as the optimizer used them.
STAGES = ("backward", "accumulated", "unscaled", "clipped", "applied")


@dataclasses.dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers of one tensor, taken over its finite elements.

    ``None`` means that there is no such number: no finite element, or for
    ``std`` (with Bessel's correction, as ``torch.std``) fewer than two.
    Of a complex tensor ``mean``, ``std``, ``min`` and ``max`` are those of the magnitudes ``|g|``.
    ``nan``, ``posinf`` and ``neginf`` count elements, ``zero_fraction`` is of all
    elements; ``histogram`` counts a sample by log2 of the magnitude.

    Of a parameter at an optimizer's step there are also the l2 norms of the weight
    before the step and of what the step added, and their ratio (``None`` where the
    weight is zero). Where what it added is an estimate, ``update_spread`` is the
    standard error of its norm, else ``None``.
    """

    numel: int
    l2_norm: float | None
    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    abs_max: float | None
    zero_fraction: float | None
    nan: int
    posinf: int
    neginf: int
    histogram: tuple[int, ...]
    weight_norm: float | None = None
    update_norm: float | None = None
    update_ratio: float | None = None
    update_spread: float | None = None

    @property
    def nonfinite(self) -> int:
        """Count the elements that are NaN or infinite."""
        return self.nan + self.posinf + self.neginf


_COUNTS = frozenset({"nan", "posinf", "neginf", "numel"})


@dataclasses.dataclass(frozen=True)
class StatisticsTable:
    """Statistics of every row of a graph in one backward pass.

    Attributes:
        values: float64 of shape ``[rows, len(STATISTICS)]``; NaN where there is
            no such number (statistics are of finite elements, never NaN themselves).
        present: bool of shape ``[rows]``; False where no gradient arrived. Such a row
            has no number at all: an optimizer does not touch a parameter without gradient.
        histogram: uint16 of shape ``[rows, HISTOGRAM_BINS]``.
    """

    values: np.ndarray
    present: np.ndarray
    histogram: np.ndarray

    @classmethod
    def empty(cls, rows: int) -> StatisticsTable:
        """Make a table in which no gradient has arrived."""
        return cls(
            np.full((rows, len(STATISTICS)), np.nan),
            np.zeros(rows, bool),
            np.zeros((rows, HISTOGRAM_BINS), np.uint16),
        )

    def row(self, row: int) -> Statistics | None:
        """Read one row; ``None`` where no gradient arrived."""
        if not self.present[row]:
            return None
        numbers = dict(zip(STATISTICS, self.values[row].tolist()))
        fields = {
            name: int(value) if name in _COUNTS else (None if value != value else value)
            for name, value in numbers.items()
        }
        return Statistics(histogram=tuple(self.histogram[row].tolist()), **fields)
