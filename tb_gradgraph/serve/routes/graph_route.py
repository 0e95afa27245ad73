"""Answer in JSON: the structure of a graph."""

from __future__ import annotations

import gzip

from tb_gradgraph.graph import Graph
from tb_gradgraph.record import Process
from tb_gradgraph.serve.evidence.graph_columns import graph_columns
from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.find import find_graph, find_run
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters
from tb_gradgraph.serve.runs.reader import Reader


def answer_graph(reader: Reader, parameters: Parameters) -> Answer:
    """Return the structure of a graph."""
    run = find_run(reader, parameters)
    graph_hash = parameters.text("hash")
    content = reader.keep(
        (run.name, graph_hash, "json"),
        lambda: _graph_json(
            find_graph(reader, run, graph_hash), graph_hash, run.processes.get(graph_hash)
        ),
    )
    return Answer(content, JSON, is_gzip=True)


def _graph_json(graph: Graph, graph_hash: str, process: Process | None) -> bytes:
    columns = graph_columns(graph, graph_hash, process)
    return gzip.compress(to_json(columns).encode(), 5, mtime=0)
