"""The numbers kept for one tensor, and for all tensors of one backward pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

#: The unit of a statistic. gradient: a factor on all elements of the gradient also multiplies the
#: number. weight: the same for the elements of a parameter. share: 0 to 1. ratio: one number
#: divided by another.
#: moment: a number of the optimizer's own state.
Unit = Literal["gradient", "weight", "moment", "count", "share", "ratio"]


@dataclasses.dataclass(frozen=True, slots=True)
class Measure:
    """One statistic: its names, and how its numbers may be used.

    Attributes:
        name: Its column in memory, on disk and on the wire.
        label: Its name in the panel.
        meaning: Its explanation in the panel, without a period.
        unit: The unit of its numbers.
        is_signed: Whether negative numbers occur. Colors then show magnitudes.
        is_element: Whether the number of a tensor with one element is that element, up to its sign.
        of_magnitudes: Whether it is computed over the magnitudes ``|g|`` of a complex tensor.
        of_parameters: Whether it is about a parameter at an optimizer's step, not about a gradient.
        of_values: Whether only values have it (stage ``forward``), and gradients never.
        is_drawn: Whether a graph can be colored by it.
        is_nonfinite: Whether it counts elements that are not finite.
        spread_of: The statistic whose standard error this is; "" if it is no standard error.
    """

    name: str
    label: str
    meaning: str
    unit: Unit
    is_signed: bool = False
    is_element: bool = False
    of_magnitudes: bool = False
    of_parameters: bool = False
    of_values: bool = False
    is_drawn: bool = True
    is_nonfinite: bool = False
    spread_of: str = ""

    @property
    def is_count(self) -> bool:
        """Return whether it is a whole number that every gradient has."""
        return self.unit == "count"

    @property
    def is_linear(self) -> bool:
        """Return whether a factor on all elements of the gradient also multiplies this number."""
        return self.unit == "gradient"


def _of_gradient(name: str, label: str, meaning: str, **flags: bool) -> Measure:
    return Measure(name, label, meaning, "gradient", spread_of="", **flags)


def _of_parameter(name: str, label: str, meaning: str, unit: Unit, spread_of: str = "") -> Measure:
    return Measure(
        name, label, meaning, unit, of_parameters=True, is_drawn=False, spread_of=spread_of
    )


def _of_value(name: str, label: str, meaning: str) -> Measure:
    return Measure(name, label, meaning, "share", of_values=True)


def _nonfinite(name: str, label: str, meaning: str) -> Measure:
    return Measure(name, label, meaning, "count", is_nonfinite=True)


_WHERE = {"is_signed": True, "is_element": True, "of_magnitudes": True}

#: Every statistic, in the order of the columns in memory, on disk and on the wire; append only.
MEASURES = (
    _of_gradient("l2_norm", "L2 norm", "Square root of the sum of squares", is_element=True),
    _of_gradient("mean", "mean", "Mean of the elements", **_WHERE),
    _of_gradient("std", "std", "Standard deviation of the elements", of_magnitudes=True),
    _of_gradient("min", "min", "Least element", **_WHERE),
    _of_gradient("max", "max", "Greatest element", **_WHERE),
    _of_gradient("abs_max", "abs max", "Greatest magnitude of an element", is_element=True),
    Measure(
        "zero_fraction", "zero fraction", "Part of the elements that are exactly zero", "share"
    ),
    _nonfinite("nan", "NaN", "Elements that are NaN"),
    _nonfinite("posinf", "+inf", "Elements that are +infinity"),
    _nonfinite("neginf", "−inf", "Elements that are −infinity"),
    Measure("numel", "elements", "How many elements there are", "count", is_drawn=False),
    _of_parameter(
        "weight_norm",
        "weight norm",
        "L2 norm of the parameter before the optimizer's step",
        "weight",
    ),
    _of_parameter("update_norm", "update norm", "L2 norm of what the step added to it", "weight"),
    _of_parameter(
        "update_ratio",
        "update / weight",
        "update norm divided by weight norm: about 0.001 is usual; far more is unstable, "
        "far less learns nothing",
        "ratio",
    ),
    _of_parameter(
        "update_spread",
        "update_spread",
        "Standard error of the update norm, where that is an estimate",
        "weight",
        spread_of="update_norm",
    ),
    _of_parameter(
        "exp_avg_norm",
        "first moment",
        "L2 norm of Adam's running mean of the gradient (exp_avg), after the step",
        "moment",
    ),
    _of_parameter(
        "exp_avg_sq_norm",
        "second moment",
        "L2 norm of Adam's running mean of the squared gradient (exp_avg_sq), after the step",
        "moment",
    ),
    _of_value(
        "zero_units",
        "zero units",
        "Part of the units (features, or channels) that are zero for the whole batch",
    ),
    _of_value(
        "saturated",
        "saturated",
        "Part of the elements within 1 % of the ends of what a sigmoid, tanh, softmax or hardtanh can give",
    ),
    _of_value(
        "entropy",
        "entropy",
        "Mean entropy of a softmax, as a part of its maximum: 0 is one choice, 1 is none",
    ),
)

#: The names of all statistics, in the order of their columns.
STATISTICS = tuple(each.name for each in MEASURES)

#: Counts: whole numbers that every gradient has; 0 if no element counts.
COUNTS = frozenset(each.name for each in MEASURES if each.is_count)

#: Statistics by which a graph can be colored.
DRAWN = tuple(each.name for each in MEASURES if each.is_drawn)

#: Statistics that only values have; gradients have no numbers in these columns.
OF_VALUES = tuple(each.name for each in MEASURES if each.of_values)

#: Numbers of a parameter besides its gradient; only records of an optimizer's step have them.
OF_PARAMETERS = tuple(each.name for each in MEASURES if each.of_parameters and not each.spread_of)

#: Counts of elements that are not finite.
NONFINITE = tuple(each.name for each in MEASURES if each.is_nonfinite)


class ValueMeaning(NamedTuple):
    """Which further statistics a value has, because of the operation that made it.

    Attributes:
        units: The dimension whose indices are units (features, or channels); None if it has none.
        ends: The least and the greatest result of an operation that saturates; None for others.
        is_distribution: Whether the elements along the last dimension are probabilities.
    """

    units: int | None
    ends: tuple[float, float] | None
    is_distribution: bool


def columns_of(names: Iterable[str]) -> list[int]:
    """Return the columns that statistics have in a table."""
    return [STATISTICS.index(name) for name in names]


#: Columns that a factor on all elements of a gradient multiplies.
LINEAR_COLUMNS = columns_of(each.name for each in MEASURES if each.is_linear)
NONFINITE_COLUMNS = columns_of(NONFINITE)

#: Bin i counts sampled elements with HISTOGRAM_LOW + 2*i <= log2|g| < HISTOGRAM_LOW + 2*(i+1). The
#: first and the last bin also count smaller and larger elements. Zeros are not counted.
HISTOGRAM_BINS = 32
HISTOGRAM_LOW = -48
HISTOGRAM_WIDTH = 2
#: At most this many elements of a tensor are sampled, and fewer if many tensors share a budget.
HISTOGRAM_SAMPLE = 4096

#: A tensor of at most this many elements is kept whole, value and gradient.
WHOLE_LIMIT = 16
#: A tensor that ``retain`` names is kept whole up to this many elements.
RETAIN_LIMIT = 65_536

#: The stages of a step at which gradients are read, in order: those of one backward; summed in
#: ``.grad``; divided by a GradScaler's factor; clipped; and as the optimizer used them.
STAGES = ("backward", "accumulated", "unscaled", "clipped", "applied")

#: The stage of records that hold statistics of values instead of gradients: of what the forward
#: before a backward computed with and made. They are stored, listed and asked for apart from the
#: others.
FORWARD = "forward"


@dataclasses.dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of one tensor, computed over its finite elements.

    ``None`` means that there is no such number: no finite element, or for
    ``std`` (with Bessel's correction, as ``torch.std``) fewer than two.
    For a complex tensor ``mean``, ``std``, ``min`` and ``max`` are those of the magnitudes ``|g|``.
    ``nan``, ``posinf`` and ``neginf`` count elements, ``zero_fraction`` is a share of all
    elements; ``histogram`` counts a sample by log2 of the magnitude.

    For a parameter at an optimizer's step there are also the l2 norms of the weight before the step
    and of the update, and their ratio (``None`` if the weight is zero). If the norm of the update
    is an estimate, ``update_spread`` is its standard error, otherwise ``None``. With an optimizer
    that keeps Adam's moments, there are also their norms after the step.
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
    exp_avg_norm: float | None = None
    exp_avg_sq_norm: float | None = None
    zero_units: float | None = None
    saturated: float | None = None
    entropy: float | None = None

    @property
    def nonfinite(self) -> int:
        """Count the elements that are NaN or infinite."""
        return self.nan + self.posinf + self.neginf


@dataclasses.dataclass(frozen=True)
class StatisticsTable:
    """Statistics of every row of a graph in one backward pass.

    Attributes:
        values: float64 of shape ``[rows, len(STATISTICS)]``; NaN if there is no such number (a
            statistic is never NaN itself, because it covers finite elements only).
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

    def column(self, name: str) -> np.ndarray:
        """Return one statistic of every row; NaN if there is no such number."""
        return self.values[:, STATISTICS.index(name)]

    def is_nonfinite(self) -> bool:
        """Return whether any number counts NaN or infinity."""
        return any((self.column(name) > 0).any() for name in NONFINITE)

    def row(self, row: int) -> Statistics | None:
        """Read one row; ``None`` if no gradient arrived."""
        if not self.present[row]:
            return None
        numbers = dict(zip(STATISTICS, self.values[row].tolist()))
        fields: dict[str, Any] = {
            name: int(value) if name in COUNTS else (None if value != value else value)
            for name, value in numbers.items()
        }
        return Statistics(histogram=tuple(self.histogram[row].tolist()), **fields)
