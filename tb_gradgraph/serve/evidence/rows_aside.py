"""Find rows that do not affect the color scale, because their size says nothing."""

from __future__ import annotations

import json
import re

from tb_gradgraph.diagnose import cancelled_rows
from tb_gradgraph.graph import Graph
from tb_gradgraph.serve.runs.index import Entry, RunView
from tb_gradgraph.serve.runs.reader import Reader
from tb_gradgraph.statistics import FORWARD

#: As in the panel: dtypes of tokens, indices and masks.
_INDICES = re.compile(r"bool|u?int\d+")


def list_rows_aside(reader: Reader, run: RunView, first: Entry) -> list[int]:
    """List the rows whose numbers lie elsewhere than those of other rows for no reason of interest.

    Among gradients these are the parameters whose gradient cancels out, such as a bias's before a
    normalization. Among values these are integers and masks, such as the tokens of an embedding.

    Args:
        reader: The source of records; it also caches the list.
        run: The run.
        first: The graph's first record, whose result is used for all records.
    """
    if first.graph_hash not in run.graphs:
        return []

    def make() -> bytes:
        graph = reader.graph(run, first.graph_hash)
        is_forward = first.stage == FORWARD
        rows = (
            _rows_of_indices(graph)
            if is_forward
            else cancelled_rows(graph, reader.table(run, first))
        )
        return json.dumps(sorted(rows)).encode()

    place = (first.chunk, first.segment, first.position)
    return json.loads(reader.keep((run.name, "rows aside", first.graph_hash, *place), make))


def _rows_of_indices(graph: Graph) -> list[int]:
    slots = [slot for node in graph.nodes for slot in node.slots]
    return [row for row, slot in enumerate(slots) if _INDICES.fullmatch(slot.dtype)]
