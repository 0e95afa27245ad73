"""Count the texts of a message as often as they are used: a short message may name one long text often."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np

#: The columns of a segment that every list of records repeats.
_LISTED = (
    *("objective", "stage", "missing_name", "missing_reason"),
    *("own_name", "own_of", "own_unit", "own_worse", "own_why"),
)


def count_letters(texts: Collection[str], columns: Iterable[Sequence[int]]) -> int:
    """Count the letters of all texts that columns of indices name, each as often as it is named.

    Indices without a text count as nothing.
    """
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    found = 0
    for column in filter(len, columns):
        indices = np.fromiter(column, np.int64, len(column))
        found += int(lengths[indices[indices < len(lengths)]].sum())
    return found


def listed_letters(segment: Any) -> int:
    """Count the letters of a segment's texts that every list of records repeats."""
    return count_letters(segment.strings, (getattr(segment, name) for name in _LISTED))


def letters_of(segment: Any) -> int:
    """Count the letters of all texts of a segment."""
    unread = count_letters(segment.strings, [segment.unread_reason])
    return listed_letters(segment) + unread
