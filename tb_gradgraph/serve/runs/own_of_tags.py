"""Find the statistics of the user's own that the records of each tag have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Protocol

from tb_gradgraph.own_statistics import OwnMeasure

#: How many names of a tag are served; more may be in a log that somebody made up.
MOST_NAMES = 1024


class HasOwn(Protocol):
    """An entry of an index."""

    @property
    def own(self) -> Mapping[str, OwnMeasure]:
        """Statistics of the user's own, by name."""


def own_of_tags(
    records: Mapping[str, Iterable[HasOwn]], forwards: Mapping[str, Iterable[HasOwn]]
) -> dict[str, dict[str, OwnMeasure]]:
    """Return, by tag and name, what the last records tell, and the first error that any of them tells.

    Of more than ``MOST_NAMES`` names of a tag the first ones are returned.
    """
    found: dict[str, dict[str, OwnMeasure]] = {}
    for tag, entries in records.items():
        of_tag = found[tag] = dict[str, OwnMeasure]()
        for own in _each_once((*forwards.get(tag, ()), *entries)):
            for name, measure in own.items():
                if name not in of_tag and len(of_tag) >= MOST_NAMES:
                    continue
                reason = of_tag.get(name, measure).reason or measure.reason
                of_tag[name] = dataclasses.replace(measure, reason=reason)
    return found


def _each_once(entries: Iterable[HasOwn]) -> list[Mapping[str, OwnMeasure]]:
    """Return the statistics of all entries, once for the entries of a segment, which share theirs.

    They are in the order of the last entry of each.
    """
    found: dict[int, Mapping[str, OwnMeasure]] = {}
    for entry in entries:
        found.pop(id(entry.own), None)
        found[id(entry.own)] = entry.own
    return list(found.values())
