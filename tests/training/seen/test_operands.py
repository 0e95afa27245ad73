"""A watch tells of operands that lines add and subtract, and never of a wrong one."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tb_gradgraph.autograd.torch_internals.engine import TELLS_PACKED
from tests.autograd.models import Case
from tests.benchmarks.seen_by_watch import by_capture, by_watch, inputs_of_operations
from tests.training.seen.adding_modules import Holder
from tests.training.seen.adding_programs import PROGRAMS, WHOLLY
from tests.training.seen.test_inputs_without_gradient import wrong_inputs

pytestmark = pytest.mark.skipif(not TELLS_PACKED, reason="torch 2.9 and later tell what was saved")


def _case(program: Callable[..., Any]) -> Case:
    return Case(lambda: Holder(program), torch.randn(2, 3), torch.sum)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_no_operand_is_guessed(program: Callable[..., Any]) -> None:
    captured, watched = by_capture(_case(program)), by_watch(_case(program))
    assert wrong_inputs(watched, captured) == []


@pytest.mark.parametrize("program", WHOLLY, ids=lambda program: program.__name__)
def test_operands_that_lines_name_are_told(program: Callable[..., Any]) -> None:
    captured, watched = by_capture(_case(program)), by_watch(_case(program))
    expected, found = inputs_of_operations(captured), inputs_of_operations(watched)
    assert {key: len(each) for key, each in found.items()} == {
        key: len(each) for key, each in expected.items()
    }


def test_a_tensor_that_an_operand_was_is_not_kept() -> None:
    alive: list[Any] = []

    def program(m: Holder, x: torch.Tensor) -> torch.Tensor:
        c = torch.randn(2, 3)
        alive.append(weakref.ref(c))
        y = m.lin(x) + c
        c = None  # noqa: F841
        torch.zeros(1)
        alive.append(alive[0]() is None)
        return y

    watched = by_watch(_case(program))
    assert alive[1] is True
    assert [
        watched.nodes[i].slots[0].shape
        for i in inputs_of_operations(watched)["model#0/AddBackward0.0"]
    ]
