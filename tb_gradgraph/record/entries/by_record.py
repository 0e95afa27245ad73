"""Read columns that have one entry for each pair of a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from tb_gradgraph.errors import FormatError

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

_NOTHING: Mapping[Any, Any] = {}


def by_record(
    columns: tuple[Iterable[int], Iterable[Any], Iterable[Any]],
    records: int,
    key: Callable[[Any], KeyT],
    value: Callable[[Any], ValueT],
    expected: str,
) -> tuple[Mapping[KeyT, ValueT], ...]:
    """Return for each record a mapping, from columns that have one entry for each pair."""
    found: list[dict[KeyT, ValueT] | None] = [None] * records
    try:
        for record, stored_key, stored_value in zip(*columns, strict=True):
            of_record = found[record] = found[record] or {}
            of_record[key(stored_key)] = value(stored_value)
    except (LookupError, ValueError):
        raise FormatError(f"segment: expected {expected} of it, got others.") from None
    return tuple(_NOTHING if one is None else one for one in found)
