"""Inputs without gradient that a watch tells of are those that a capture of the same model sees."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

import pytest

from tb_gradgraph.autograd.torch_internals.engine import TELLS_PACKED
from tb_gradgraph.graph import UNKNOWN_DTYPE, Graph
from tests.autograd.expected import OTHERWISE
from tests.autograd.models import CASES, Case
from tests.benchmarks.seen_by_watch import KINDS, by_capture, by_watch, inputs_of_operations

pytestmark = pytest.mark.skipif(not TELLS_PACKED, reason="torch 2.9 and later tell what was saved")

Input = tuple[tuple[int, ...], str]  # shape, and the name of what a model owns


def _behind(graph: Graph, node: int) -> Iterator[int]:
    """Yield a source and all that it was made of: a watch may tell of what a view is of."""
    pending, seen = [node], set()
    while pending:
        index = pending.pop()
        if index not in seen:
            seen.add(index)
            yield index
            pending += [edge.source for edge in graph.edges if edge.target == index]


def _told(graph: Graph, node: int) -> set[Input]:
    """Return what a node tells of itself: of a tensor of unknown shape only what made it."""
    of = graph.nodes[node]
    owned = of.key if of.kind in ("parameter", "buffer") else ""
    shapes = {(slot.shape, owned) for slot in of.slots if slot.dtype != UNKNOWN_DTYPE}
    return shapes or {((), f"made by {of.operation}")}


def wrong_inputs(watched: Graph, captured: Graph) -> list[str]:
    """Return the operations with an input that is none of theirs."""
    expected = inputs_of_operations(captured)
    wrong = []
    for key, sources in inputs_of_operations(watched).items():
        allowed = [
            {
                told
                for index in _behind(captured, source)
                for told in (
                    *_told(captured, index),
                    ((), f"made by {captured.nodes[index].operation}"),
                )
            }
            for source in expected.get(key, ())
        ]
        for source in sources:
            fits = next((each for each in allowed if each & _told(watched, source)), None)
            if fits is None:
                wrong.append(f"{key} of {watched.nodes[source].key}")
            else:
                allowed.remove(fits)
    return wrong


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    with contextlib.redirect_stdout(None), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", sorted(CASES.keys() - OTHERWISE))
def test_no_input_is_told_that_a_capture_does_not_see(name: str) -> None:
    with _without_warnings():
        captured, watched = by_capture(CASES[name]), by_watch(CASES[name])
    assert wrong_inputs(watched, captured) == []


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"odd models"}))
def test_no_input_of_a_usual_model_is_wrong(kind: str) -> None:
    for case in KINDS[kind]:
        assert isinstance(case, Case)
        with _without_warnings():
            captured, watched = by_capture(case), by_watch(case)
        assert wrong_inputs(watched, captured) == []


@pytest.mark.parametrize(
    "name",
    [
        "checkpoint",
        "sequence of checkpoints",
        "selective checkpoint",
        "saved on the CPU",
        "saved at half precision",
    ],
)
def test_what_hooks_packed_is_told_as_a_capture_sees_it(name: str) -> None:
    with _without_warnings():
        captured, watched = by_capture(CASES[name]), by_watch(CASES[name])
    assert inputs_of_operations(captured).keys() == inputs_of_operations(watched).keys() != set()
