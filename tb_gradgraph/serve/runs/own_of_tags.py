"""Find the statistics of the user's own that the records of each tag have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Protocol

from tb_gradgraph.own_statistics import OwnMeasure


class HasOwn(Protocol):
    """An entry of an index."""

    @property
    def own(self) -> Mapping[str, OwnMeasure]:
        """Statistics of the user's own, by name."""


def own_of_tags(
    records: Mapping[str, Iterable[HasOwn]], forwards: Mapping[str, Iterable[HasOwn]]
) -> dict[str, dict[str, OwnMeasure]]:
    """Return, by tag and name, what the last records tell, and the first error that any of them tells."""
    found: dict[str, dict[str, OwnMeasure]] = {}
    for tag, entries in records.items():
        of_tag = found[tag] = dict[str, OwnMeasure]()
        for entry in (*forwards.get(tag, ()), *entries):
            for name, measure in entry.own.items():
                reason = of_tag.get(name, measure).reason or measure.reason
                of_tag[name] = dataclasses.replace(measure, reason=reason)
    return found
