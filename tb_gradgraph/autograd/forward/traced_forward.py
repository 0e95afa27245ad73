"""What is known of a forward that we watched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.forward import Forward, KnownTensor
from tb_gradgraph.autograd.forward.known import in_scopes, known_tensors, names_of_modules
from tb_gradgraph.autograd.forward.spans import ModuleSpans
from tb_gradgraph.autograd.forward.trace import ForwardTrace
from tb_gradgraph.autograd.model_run.call import ModelCall
from tb_gradgraph.autograd.model_run.objective import Objective, choose_objective
from tb_gradgraph.autograd.torch_internals.engine import HAS_NUMBERS, next_sequence_nr, sequence_nr


def watch_forward(
    call: ModelCall,
    loss_fn: Callable[[Any], Any] | None,
    grad_outputs: Any,
    outermost: FrameType | None,
    where: str,
) -> tuple[Objective, Forward]:
    """Run the model and ``loss_fn``; give what is to be differentiated, and what was seen.

    Args:
        call: The model with its arguments.
        loss_fn: See ``add_grad_graph``.
        grad_outputs: See ``add_grad_graph``.
        outermost: The frame of the user's that asked for the capture; its variables
            name nothing.
        where: The user's call, for messages.
    """
    known = known_tensors(call.model, call.args, call.kwargs)
    spans = ModuleSpans(names_of_modules(call.model))
    trace = ForwardTrace(spans, outermost)
    try:
        with spans, trace:
            objective = choose_objective(call.run(), loss_fn, grad_outputs, where)
    finally:
        trace.close()
    return objective, forward_of(trace, in_scopes(known, spans.scopes))


def number_from(first: int) -> Callable[[AutogradNode], int]:
    """Give what numbers the nodes made on this thread from ``first`` until now; others are -1."""
    end = next_sequence_nr()

    def number_of(node: AutogradNode) -> int:
        number = sequence_nr(node) if HAS_NUMBERS else -1
        return number if first <= number < end else -1

    return number_of


def forward_of(trace: ForwardTrace, known: Mapping[int, KnownTensor]) -> Forward:
    """Give what a trace has seen."""
    spans = trace.spans
    return Forward(
        number_of=number_from(trace.first),
        scopes=spans.scopes,
        scope_at=spans.scope_at,
        lines=trace.lines,
        names=trace.names.found(),
        source_names=trace.names.found_sources(),
        leaf_names=trace.names.found_leaves(),
        second_order=trace.second_order,
        known=known,
        sources=trace.origins.sources,
        untracked_inputs=trace.untracked_inputs,
        leaf_origins=trace.origins.of_leaves,
        cuts=trace.origins.cuts,
        seen=trace.origins.seen,
        hidden_leaves=trace.hidden_leaves,
        made=trace.made,
        used=trace.used,
    )
