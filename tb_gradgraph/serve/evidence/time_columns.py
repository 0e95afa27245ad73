"""Convert the times of records to columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tb_gradgraph.serve.runs.index import Entry


def time_columns(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    """Return step, backward pass and stage of each record."""
    return {
        "steps": [entry.step for entry in entries],
        "backward_passes": [entry.backward_pass for entry in entries],
        "stages": [entry.stage for entry in entries],
    }
