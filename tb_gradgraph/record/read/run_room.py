"""Keep count of what the chunks of one run hold together, and refuse what is beyond the limits."""

from __future__ import annotations

from collections.abc import Hashable

from tb_gradgraph.errors import FormatError
from tb_gradgraph.record.format import limits
from tb_gradgraph.record.format.decode import Chunk


class RunRoom:
    """The room that one run has.

    Args:
        with_own: Whether numbers of the user's own statistics are counted.
    """

    def __init__(self, with_own: bool) -> None:
        self._with_own = with_own
        self._taken: dict[Hashable, tuple[int, ...]] = {}
        self._total: tuple[int, ...] = (0, 0, 0, 0)

    def take(self, key: Hashable, chunk: Chunk) -> None:
        """Count a chunk under a key of its own; raise FormatError if the run would hold too much."""
        own = chunk.own if self._with_own else 0
        sizes = (sum(map(len, chunk.segments)), chunk.quantities, chunk.letters, own)
        total = tuple(map(sum, zip(self._total, sizes)))
        for got, (what, most) in zip(total, _limits()):
            if got > most:
                raise FormatError(f"expected at most {most} {what} in a run, got more.")
        self._taken[key] = sizes
        self._total = total

    def give_back(self, key: Hashable) -> None:
        """Count a chunk no more."""
        sizes = self._taken.pop(key, (0, 0, 0, 0))
        self._total = tuple(have - size for have, size in zip(self._total, sizes))


def _limits() -> tuple[tuple[str, int], ...]:
    return (
        ("records", limits.MAX_RUN_RECORDS),
        ("quantities", limits.MAX_RUN_QUANTITIES),
        ("letters of texts", limits.MAX_RUN_LETTERS),
        ("numbers of own statistics", limits.MAX_RUN_OWN),
    )
