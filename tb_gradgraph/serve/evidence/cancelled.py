"""Find rows whose gradient is only rounding, so that they do not affect the color scale."""

from __future__ import annotations

import json

from tb_gradgraph.diagnose import cancelled_rows
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader


def list_cancelled(reader: Reader, run: RunView, first: Entry) -> list[int]:
    """List the parameters whose gradient cancels out, such as a bias's before a normalization.

    Args:
        reader: The source of records; it also caches the list.
        run: The run.
        first: The graph's first record, whose result is used for all records.
    """
    if first.graph_hash not in run.graphs:
        return []

    def make() -> bytes:
        graph = reader.graph(run, first.graph_hash)
        return json.dumps(sorted(cancelled_rows(graph, reader.table(run, first)))).encode()

    place = (first.chunk, first.segment, first.position)
    return json.loads(reader.keep((run.name, "cancelled", first.graph_hash, *place), make))
