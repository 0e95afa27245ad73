"""Which of the user's torch.autograd.Functions is running."""

from __future__ import annotations

import sys

import torch
from torch import nn

from tb_gradgraph.autograd.torch_internals import engine
from tb_gradgraph.autograd.user_code import functions


def test_a_function_has_its_number_before_its_forward_runs() -> None:
    seen = []

    class Notes(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append((engine.next_sequence_nr(), torch.is_grad_enabled()))
            found = functions.running_function(0)
            assert found is not None and found.arguments[1] is x
            assert found.is_running_in(sys._getframe())
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient

    y = Notes.apply(torch.ones(1, requires_grad=True))
    assert seen == [(engine.sequence_nr(y.grad_fn) + 1, False)]
    assert functions.running_function(0) is None


def test_a_forward_that_calls_its_base_is_the_one_that_was_applied() -> None:
    found = []

    class Base(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            found.append(functions.running_function(0))
            return x * factor

        @staticmethod
        def backward(ctx, gradient):
            return gradient, None

    class Twice(Base):
        @staticmethod
        def forward(ctx, x):
            return Base.forward(ctx, x, 2)

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(x):  # with a setup_context; another Function within has another ctx
            return Base.apply(x, 3) + x

        @staticmethod
        def setup_context(ctx, inputs, output):
            found.append(functions.running_function(0))

    w = torch.ones(1, requires_grad=True)
    Twice.apply(w)
    Outer.apply(w)
    applied, nested, between = found
    assert applied is not None and applied.arguments[1:] == (w,)
    assert applied.caller is sys._getframe()
    assert nested is not None and nested.arguments[2] == 3
    assert between is None


def test_only_reentrant_checkpoints_ask_for_a_backward_that_accumulates() -> None:
    def behind(reentrant: bool) -> list[torch.autograd.graph.Node]:
        lin = nn.Linear(2, 2)
        y = torch.utils.checkpoint.checkpoint(
            lin, torch.ones(1, 2, requires_grad=True), use_reentrant=reentrant
        )
        return [y.grad_fn]

    assert functions.refuses_inputs(behind(True))
    assert not functions.refuses_inputs(behind(False))
