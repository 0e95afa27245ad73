"""A record, or a graph, that cannot be stored costs itself alone, and is named."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.record.format.decode import decode_chunk, decode_graph
from tb_gradgraph.record.write.session import Session
from tests.record.samples import Caught, make_graph, make_record, make_table

GRAPH = make_graph()
BAD: dict[str, Callable[[int], Record]] = {
    "step": lambda step: make_record(GRAPH, 2**63),
    "negative step": lambda step: make_record(GRAPH, -(2**63) - 1),
    "pass": lambda step: make_record(GRAPH, step, backward_pass=2**32),
    "whole tensor": lambda step: make_record(GRAPH, step, gradients={0: np.zeros(2, "U3")}),
    "table": lambda step: make_record(
        GRAPH, step, table=dataclasses.replace(make_table(GRAPH), values=np.zeros((2, 1)))
    ),
}


def _write(graphs: Sequence[Graph], makes: Sequence[Callable[[], Record]]) -> Caught:
    """Write records to a session, each made on its thread."""
    caught = Caught()
    session = Session(caught.add_summary)
    for graph in graphs:
        session.write_graph("net", graph)
    for make in makes:
        session.write_later(lambda make=make: [make()])
    session.close()
    assert session.failure is None
    return caught


def _steps(caught: Caught) -> list[int]:
    chunks = [tag for tag in caught.tags if tag.startswith("stats/")]
    assert chunks == [f"stats/{number:06}" for number in range(len(chunks))]
    segments = [one for tag in chunks for one in decode_chunk(caught.strings(tag)).segments]
    return [step for segment in segments for step in segment.steps]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("at", [0, 3, 7])
def test_a_record_that_cannot_be_stored_costs_itself_alone(bad: str, at: int):
    makes = [lambda step=step: make_record(GRAPH, step) for step in range(8)]
    makes[at] = lambda: BAD[bad](at)
    with pytest.warns(
        RuntimeWarning, match="could not be stored, but the others are: 'net'"
    ) as found:
        caught = _write([GRAPH], [*makes, makes[at]])
    assert len(found) == 1, "of many, one warning"
    assert _steps(caught) == [step for step in range(8) if step != at]


def test_records_that_cannot_be_made_cost_themselves_alone():
    makes = [lambda: 1 / 0, lambda: make_record(GRAPH, 1)]
    with pytest.warns(RuntimeWarning, match="ZeroDivisionError"):
        caught = _write([GRAPH], makes)
    assert _steps(caught) == [1]


def test_a_graph_that_cannot_be_stored_costs_no_record():
    large = Graph((dataclasses.replace(GRAPH.nodes[1], order=2**40),), (), ())
    makes = [lambda: make_record(large, 0), lambda: make_record(GRAPH, 1)]
    with pytest.warns(RuntimeWarning, match="'net', step 0: its graph: "):
        caught = _write([large, GRAPH], makes)
    assert _steps(caught) == [0, 1]
    assert f"graph/{GRAPH.hash}" in caught.tags


def test_texts_that_are_no_unicode_are_stored_with_question_marks():
    node = dataclasses.replace(GRAPH.nodes[1], key="\ud800", name="a\udfffb")
    graph = Graph((node,), (), ())
    changes = {"tag": "\ud800", "objective": "\ud83d", "every_n_steps": 2**40}
    caught = _write([graph], [lambda: make_record(graph, 0, **changes)])
    (segment,) = decode_chunk(caught.strings("stats/000000")).segments
    assert (segment.tag, segment.facts["objective"]) == ("?", ("?",))
    assert segment.facts["every_n_steps"] == (2**32 - 1,)
    assert decode_graph(caught.strings(f"graph/{graph.hash}"), graph.hash).nodes[0].name == "a?b"
