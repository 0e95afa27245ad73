"""The statistics of the user's own: their names, and what is known about the numbers of each."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Literal

from tb_gradgraph.quantities import is_name

#: What a statistic is computed of: a gradient, what the forward made, or a parameter.
Of = Literal["gradient", "value", "weight"]
OF: tuple[Of, ...] = ("gradient", "value", "weight")
#: Which numbers are worse; "": not known.
Worse = Literal["", "higher", "lower"]
WORSE: tuple[Worse, ...] = ("", "higher", "lower")

#: The letters of a statistic's name, of its unit, and of the name of one of its parts.
MOST_LETTERS = 80
#: How many parts, each with a number of its own, a statistic may have.
MOST_PARTS = 16

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclasses.dataclass(frozen=True, slots=True)
class OwnMeasure:
    """What is known about the numbers of one name.

    Attributes:
        of: One of ``OF``.
        unit: The unit of the numbers, as the user calls it.
        worse: One of ``WORSE``.
        reason: Why it lacks a number somewhere: the first error; "" if there was none.
    """

    of: str
    unit: str = ""
    worse: str = ""
    reason: str = ""


def may_be_statistic(name: Any) -> bool:
    """Return whether a value may name a statistic: letters, digits, ``_``, ``.`` and ``-``, not many."""
    is_short = isinstance(name, str) and len(name) <= MOST_LETTERS
    return is_short and _NAME.fullmatch(name) is not None


def is_own_name(name: str) -> bool:
    """Return whether a text may name numbers: a statistic, or ``statistic/part``."""
    return is_name(name) and len(name) <= 2 * MOST_LETTERS + 1
