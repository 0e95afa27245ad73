"""A watch tells of operands that calls are given or give, and never of a wrong one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tb_gradgraph.autograd.torch_internals.engine import TELLS_PACKED
from tb_gradgraph.graph import UNKNOWN_DTYPE, Graph
from tests.autograd.models import CASES, Case
from tests.benchmarks.seen_by_watch import KINDS, by_capture, by_watch, inputs_of_operations
from tests.training.seen.adding_modules import Holder
from tests.training.seen.calling_programs import (
    NOTHING,
    PROGRAMS,
    WHOLLY,
    function_beside,
    method_beside,
)
from tests.training.seen.test_inputs_without_gradient import wrong_inputs

pytestmark = pytest.mark.skipif(not TELLS_PACKED, reason="torch 2.9 and later tell what was saved")
hears_functions = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="Python 3.11 and later tell of functions that are called"
)


def _case(program: Callable[..., Any]) -> Case:
    return Case(lambda: Holder(program), torch.randn(2, 3), torch.sum)


def _is_missing(captured: Graph, watched: Graph) -> set[str]:
    return inputs_of_operations(captured).keys() - inputs_of_operations(watched).keys()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_no_argument_is_guessed(program: Callable[..., Any]) -> None:
    captured, watched = by_capture(_case(program)), by_watch(_case(program))
    assert wrong_inputs(watched, captured) == []


@hears_functions
@pytest.mark.parametrize("program", WHOLLY, ids=lambda program: program.__name__)
def test_arguments_that_are_variables_are_told(program: Callable[..., Any]) -> None:
    captured, watched = by_capture(_case(program)), by_watch(_case(program))
    expected, found = inputs_of_operations(captured), inputs_of_operations(watched)
    assert {key: len(each) for key, each in found.items()} == {
        key: len(each) for key, each in expected.items()
    }


@pytest.mark.parametrize("program", NOTHING, ids=lambda program: program.__name__)
def test_what_cannot_be_known_is_not_drawn(program: Callable[..., Any]) -> None:
    watched = by_watch(_case(program))
    linear = {key for key in inputs_of_operations(watched) if "AddmmBackward" in key}
    assert inputs_of_operations(watched).keys() == linear != set()


@hears_functions
def test_a_result_is_the_function_that_gave_it_of_unknown_shape() -> None:
    watched = by_watch(_case(function_beside))
    made = [node for node in watched.nodes if node.operation in ("ones", "zeros")]
    assert [(node.slots[0].shape, node.slots[0].dtype) for node in made] == [
        ((), UNKNOWN_DTYPE)
    ] * 2


@hears_functions
def test_a_result_is_fed_by_what_the_function_got() -> None:
    watched = by_watch(_case(method_beside))
    fed = {
        watched.nodes[edge.target].operation: watched.nodes[edge.source].name
        for edge in watched.edges
    }
    assert (fed["exp"], fed["sum"]) == ("model.row", "x")


@hears_functions
@pytest.mark.filterwarnings("ignore:capture.*the output does not depend:UserWarning")
@pytest.mark.parametrize(
    "name",
    [
        *("mixed types", "transformer layer", "Function with outputs of three kinds"),
        *("backward inside the forward", "detached in place", "indexed in place", "copied into"),
        *("factored", "padded", "attributes changed by the forward", "spectral norm"),
    ],
)
def test_odd_models_of_which_no_input_is_missing(name: str) -> None:
    assert _is_missing(by_capture(CASES[name]), by_watch(CASES[name])) == set()


@hears_functions
def test_what_torchs_layers_add_is_told() -> None:
    (transformer,) = KINDS["`nn.TransformerEncoder`"]
    assert isinstance(transformer, Case)
    assert _is_missing(by_capture(transformer), by_watch(transformer)) == set()
    losses = _is_missing(by_capture(CASES["losses"]), by_watch(CASES["losses"]))
    assert losses == {"model#0/SubBackward0.0"}  # it is of C++ within kl_div
