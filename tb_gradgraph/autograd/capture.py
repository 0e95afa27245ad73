"""Capture the graph of a model from a forward of our own, or the graph of tensors that exist."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any

import torch

from tb_gradgraph.autograd.backward_calls import unheard
from tb_gradgraph.autograd.build.build import BuiltGraph, build_graph
from tb_gradgraph.autograd.build.unreached import walk_behind_cuts
from tb_gradgraph.autograd.forward.named_tensors import name_roots, named_tensors
from tb_gradgraph.autograd.forward.origins import ValueSink
from tb_gradgraph.autograd.giving_way import make_way_for_compiled
from tb_gradgraph.autograd.gradients.observe import BackwardObserver
from tb_gradgraph.autograd.model_run.alone import run_alone
from tb_gradgraph.autograd.model_run.call import ModelCall, check_kwargs, split_input
from tb_gradgraph.autograd.model_run.constant_sum import ends_in_constant_sum
from tb_gradgraph.autograd.model_run.objective import (
    Objective,
    check_devices,
    check_loss_fn,
    check_roots,
)
from tb_gradgraph.autograd.model_run.outputs import watch_outputs
from tb_gradgraph.autograd.model_run.preserve import gradients_lent, preserved
from tb_gradgraph.autograd.model_run.traced_run import watch_forward
from tb_gradgraph.autograd.model_run.untraced import choose, watch_checked
from tb_gradgraph.autograd.seen.unwatched import forward_of_frame
from tb_gradgraph.autograd.torch_internals.circumstances import check_circumstances
from tb_gradgraph.autograd.torch_internals.compiled_regions import backward_eager
from tb_gradgraph.autograd.torch_internals.engine import HAS_NUMBERS, collector_paused
from tb_gradgraph.autograd.torch_internals.walk import free_in_parts, walk
from tb_gradgraph.autograd.user_code.functions import refuses_inputs
from tb_gradgraph.autograd.user_code.stack_frames import user_frame

#: Called when the graph is known and before its backward; returns what observes the
#: backward, and the rows to read (None: all).
Prepare = Callable[[BuiltGraph, str], tuple[BackwardObserver, "frozenset[int] | None"]]


def capture_model(
    model: torch.nn.Module,
    input_to_model: Any,
    kwargs: Mapping[str, Any] | None,
    loss_fn: Callable[[Any], Any] | None,
    grad_outputs: Any,
    prepare: Prepare,
    where: str,
    all_ranks: bool = False,
    values: ValueSink | None = None,
) -> None:
    """Run ``model`` forward and backward, observed by what ``prepare`` returns; ``values`` gets its tensors.

    Raises:
        CaptureError: No output can be differentiated, or the model would wait for other processes
            (only without ``all_ranks``).
        Exception: What the model or ``loss_fn`` raises, unchanged.
    """
    check_circumstances(where)
    check_kwargs(kwargs, where)
    args, kwargs = split_input(input_to_model, kwargs)
    inputs = [tensor for _, tensor in named_tensors([args, kwargs], "")]
    check_devices(model, inputs, where)
    check_loss_fn(loss_fn, where)
    with (
        collector_paused(),
        torch.inference_mode(False),  # for the copies that the call makes of its arguments
        run_alone(model, all_ranks, where),
        contextlib.ExitStack() as passes,
    ):
        call = ModelCall(model, args, kwargs)
        _capture_call(call, inputs, loss_fn, grad_outputs, prepare, where, passes, values)


def _capture_call(
    call: ModelCall,
    inputs: Sequence[torch.Tensor],
    loss_fn: Callable[[Any], Any] | None,
    grad_outputs: Any,
    prepare: Prepare,
    where: str,
    passes: contextlib.ExitStack,
    values: ValueSink | None,
) -> None:
    """Run the passes; release autograd's graph at the end, before the collector walks it."""
    model = call.model
    run = choose(call, loss_fn, grad_outputs, where)
    if HAS_NUMBERS:
        with_trace = partial(
            watch_forward, call, loss_fn, grad_outputs, user_frame(), where, values
        )
        objective, forward, walked = watch_checked(call, inputs, run, with_trace, where, passes)
    else:
        passes.enter_context(preserved(model, inputs))
        objective, forward, walked = watch_outputs(call, loss_fn, grad_outputs, None, where)
    roots = [root.tensor for root in objective.roots]
    walked, forward = walk_behind_cuts(roots, walked, forward, model.parameters())
    free_in_parts(walked)
    built = build_graph(walked, forward, objective.roots)
    if loss_fn is None and grad_outputs is None:
        objective = _told_if_constant(objective, where)
    observer, rows = prepare(built, objective.text)
    accumulates = refuses_inputs(built.node_of)
    observer.attach(built, rows, _seed_rows(built, objective), accumulates)
    try:
        earlier = not HAS_NUMBERS or any(forward.number_of(n) < 0 for n in built.node_of)
        with unheard(), backward_eager():
            _differentiate(objective, built, model if accumulates else None, earlier)
        observer.finish()
    finally:
        observer.remove()


def _told_if_constant(objective: Objective, where: str) -> Objective:
    """Warn if the objective is a constant, and say so in its description."""
    if objective.is_own_loss:
        return objective
    operation = ends_in_constant_sum([root.tensor for root in objective.roots])
    if not operation:
        return objective
    warnings.warn(
        f"{where}: the {objective.text} does not depend on the model's input, because the output ends in "
        f"{operation}: gradients behind it are zero up to rounding. Pass loss_fn=, the loss that is "
        "trained with.",
        UserWarning,
        stacklevel=2,
    )
    text = f"{objective.text} (a constant: it ends in {operation})"
    return dataclasses.replace(objective, text=text)


def capture_tensors(
    roots: Sequence[torch.Tensor], frame: FrameType | None, prepare: Prepare, where: str
) -> None:
    """Attach ``prepare``'s observer to the graph behind ``roots``, for the user's own backward.

    Raises:
        CaptureError: A root has no graph behind it.
    """
    named = name_roots(roots, frame)
    check_roots(named, where)
    with collector_paused():
        walked = walk([root.tensor for root in named])
        free_in_parts(walked)
        built = build_graph(walked, forward_of_frame(walked, frame, named), named)
        observer, rows = prepare(built, "the user's own backward")
        observer.attach(built, rows)
        make_way_for_compiled(observer, where)


def _differentiate(
    objective: Objective, built: BuiltGraph, accumulating: torch.nn.Module | None, earlier: bool
) -> None:
    """Run the backward; ``.grad`` and post-accumulate hooks stay as if it had not run.

    Args:
        objective: What to differentiate.
        built: Its graph.
        accumulating: The model, if its graph works only in a backward that accumulates. This
            backward then uses ``.grad`` of its parameters temporarily.
        earlier: Whether part of the graph existed, or may have existed, before (a hidden state that
            was not detached). That part is the user's and is not freed.
    """
    roots = [root.tensor for root in objective.roots]
    leaves = [leaf for _, leaf in built.leaves]
    seeds = list(objective.seeds)
    if accumulating is None:
        torch.autograd.grad(roots, leaves, seeds, retain_graph=earlier, allow_unused=True)
    else:
        with gradients_lent([*leaves, *accumulating.parameters()]):
            torch.autograd.backward(roots, seeds, retain_graph=earlier)


def _seed_rows(built: BuiltGraph, objective: Objective) -> dict[int, torch.Tensor]:
    """Return the seed of each root, by the row of the root and of the edge into it."""
    graph = built.graph
    indices = [index for index, node in enumerate(graph.nodes) if node.kind == "root"]
    last = zip(reversed(graph.edges), reversed(graph.edge_rows.tolist()))  # sorted by target
    into = {
        edge.target: row
        for edge, row in itertools.takewhile(lambda pair: pair[0].target >= indices[0], last)
    }
    seeds: dict[int, torch.Tensor] = {}
    for index, root, given in zip(indices, objective.roots, objective.seeds):
        seed = torch.ones_like(root.tensor) if given is None else given
        seeds[int(graph.slot_offsets[index])] = seed
        if into[index] >= graph.slot_count:
            seeds[into[index]] = seed
    return seeds
