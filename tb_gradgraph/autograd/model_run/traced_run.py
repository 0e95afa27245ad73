"""A forward of the model, watched as it runs."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any

from tb_gradgraph.autograd.forward.forward import Forward
from tb_gradgraph.autograd.forward.known import in_scopes, known_tensors, names_of_modules
from tb_gradgraph.autograd.forward.origins import ValueSink
from tb_gradgraph.autograd.forward.spans import ModuleSpans
from tb_gradgraph.autograd.forward.trace import ForwardTrace
from tb_gradgraph.autograd.forward.traced_forward import forward_of
from tb_gradgraph.autograd.model_run.call import ModelCall
from tb_gradgraph.autograd.model_run.objective import Objective, choose_objective


def watch_forward(
    call: ModelCall,
    loss_fn: Callable[[Any], Any] | None,
    grad_outputs: Any,
    outermost: FrameType | None,
    where: str,
    values: ValueSink | None = None,
) -> tuple[Objective, Forward]:
    """Run the model and ``loss_fn``; return the objective, and what was seen of the forward.

    Args:
        call: The model with its arguments.
        loss_fn: See ``add_grad_graph``.
        grad_outputs: See ``add_grad_graph``.
        outermost: The user's frame that called us. Names are not taken from its variables.
        where: The user's call, for messages.
        values: Gets every tensor of the forward.
    """
    known = known_tensors(call.model, call.args, call.kwargs)
    spans = ModuleSpans(names_of_modules(call.model))
    trace = ForwardTrace(spans, outermost, values)
    try:
        with spans, trace:
            objective = choose_objective(call.run(), loss_fn, grad_outputs, where)
    finally:
        trace.close()
    return objective, forward_of(trace, in_scopes(known, spans.scopes))
