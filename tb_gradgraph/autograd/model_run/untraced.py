"""Check that a traced forward makes the same nodes as an untraced one."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tb_gradgraph.autograd.forward.forward import Forward
from tb_gradgraph.autograd.forward.known import known_tensors, names_of_modules
from tb_gradgraph.autograd.model_run.call import ModelCall
from tb_gradgraph.autograd.model_run.objective import Objective, choose_objective
from tb_gradgraph.autograd.model_run.preserve import preserved
from tb_gradgraph.autograd.seen.training_forward import TrainingForward
from tb_gradgraph.autograd.torch_internals.walk import Walk, free_in_parts, walk
from tb_gradgraph.autograd.user_code.functions import operation_of

#: Runs the model, and chooses which part of its output is differentiated.
Run = Callable[[], Objective]


@dataclasses.dataclass(frozen=True, slots=True)
class Structure:
    """Operations in the order of ``Walk.found``, and their wiring. No node is kept alive."""

    operations: tuple[str, ...]
    wiring: tuple[tuple[int, int, int, int], ...]


def untraced_structure(
    model: torch.nn.Module, inputs: Sequence[torch.Tensor], run: Run
) -> Structure:
    """Run once without tracing, and restore everything; return the structure of the graph."""
    with preserved(model, inputs):
        roots = [root.tensor for root in run().roots]
        walked = walk(roots)
        free_in_parts(walked)
        return _structure_of(walked)


def as_untraced(forward: Forward, walked: Walk, expected: Structure) -> Forward | None:
    """Return ``forward`` with the operation names of an untraced run; None if the wiring differs."""
    structure = _structure_of(walked)
    if structure.wiring != expected.wiring or len(walked.found) != len(expected.operations):
        return None
    found = {
        forward.number_of(node): operation
        for node, traced, operation in zip(walked.found, structure.operations, expected.operations)
        if traced != operation
    }
    return dataclasses.replace(forward, operations=found)


def watch_checked(
    call: ModelCall,
    inputs: Sequence[torch.Tensor],
    run: Run,
    with_trace: Callable[[], tuple[Objective, Forward]],
    where: str,
    passes: contextlib.ExitStack,
) -> tuple[Objective, Forward, Walk]:
    """Run untraced, then traced. If tracing makes other nodes, run untraced once more.

    Returns the objective, what was seen of the forward, and its graph.

    Args:
        call: The model.
        inputs: The tensors that it gets.
        run: Runs the model.
        with_trace: Runs the model and sees each operation.
        where: The user's call, for messages.
        passes: Undoes the changes of the last pass when it is closed.
    """
    expected = untraced_structure(call.model, inputs, run)
    passes.enter_context(preserved(call.model, inputs))
    objective, forward = with_trace()
    walked = walk([root.tensor for root in objective.roots])
    checked = as_untraced(forward, walked, expected)
    if checked is not None:
        return objective, checked, walked
    free_in_parts(walked)
    del objective, forward, walked
    passes.close()
    passes.enter_context(preserved(call.model, inputs))
    return run_untraced(call, run, where)


def run_untraced(call: ModelCall, run: Run, where: str) -> tuple[Objective, Forward, Walk]:
    """Run the model as a training does, observed as by ``watch``; warn about what is then unknown."""
    known = known_tensors(call.model, call.args, call.kwargs)
    forward = TrainingForward(lambda: names_of_modules(call.model), notes=True)
    forward.attach()
    try:
        objective = run()
        walked = walk([root.tensor for root in objective.roots])
        found = forward.so_far(known, None, walked)
    finally:
        forward.remove()
    _tell(where)
    return objective, found, walked


def choose(
    call: ModelCall, loss_fn: Callable[[Any], Any] | None, grad_outputs: Any, where: str
) -> Run:
    """Return a function that runs the model and ``loss_fn``."""
    return lambda: choose_objective(call.run(), loss_fn, grad_outputs, where)


def _structure_of(walked: Walk) -> Structure:
    places = {node: place for place, node in enumerate(walked.found)}
    return Structure(
        tuple(operation_of(node)[0] for node in walked.found),
        tuple(
            (places[source], slot, places[target], position)
            for source, slot, target, position in walked.edges
        ),
    )


def _tell(where: str) -> None:
    text = (
        f"{where}: torch runs this model with other operations while each operation is traced. Therefore "
        "the graph is that of an untraced run, as in a training. Of tensors without gradient, only those "
        "that operations saved are drawn."
    )
    try:
        warnings.warn(text, UserWarning, stacklevel=2)
    except UserWarning:
        print(f"UserWarning: {text}", file=sys.stderr)
