"""Limit the damage of an error at one tensor to that tensor."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from tb_gradgraph.errors import reason_of
from tb_gradgraph.summarize.pending import Entries, Part

ItemT = TypeVar("ItemT")


class Unread(dict[int, str]):
    """Rows that could not be read, and why."""

    def note(self, row: int, error: Exception) -> None:
        """Note why a row has no numbers. The first reason is kept."""
        self.setdefault(row, reason_of(error))

    @contextlib.contextmanager
    def instead_of(self, *rows: int) -> Iterator[None]:
        """If the block raises an error, note it for each of ``rows`` and continue."""
        try:
            yield
        except Exception as error:
            for row in rows:
                self.note(row, error)


def one_by_one(
    make: Callable[[Entries, Sequence[Any]], Part],
    entries: Entries,
    items: Sequence[ItemT],
    unread: Unread,
) -> list[Part]:
    """Make one part of all items. If that fails, make one part for each item for which it succeeds."""
    if not items:
        return []
    with contextlib.suppress(Exception):
        return [make(entries, items)]
    parts = []
    for row, ticket, numel, item in zip(entries.rows, entries.tickets, entries.numel, items):
        with unread.instead_of(row):
            parts.append(make(Entries([row], [ticket], [numel]), [item]))
    return parts
