"""Add the numbers of the user's own statistics to a record."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.training.own.own_numbers import ChosenOwnNumbers

#: Why a record has no numbers of gradients: they cannot be corrected afterwards, as those of ours.
_LATE = "the GradScaler was found only after this backward; pass it as grad_scaler="


def with_own(
    record: Record, graph: Graph, chosen: Iterable[ChosenOwnNumbers], is_late: bool = False
) -> Record:
    """Return a record with the numbers; waits for copies to the host.

    With ``is_late`` a factor is still in what they were computed from, so they are left out.
    """
    for one in chosen:
        own, measures = one.collect(graph)
        if is_late:
            own, reason = {}, _LATE
            measures = {
                name: dataclasses.replace(of, reason=reason) for name, of in measures.items()
            }
        record = dataclasses.replace(
            record, own={**record.own, **own}, own_measures={**record.own_measures, **measures}
        )
    return record
