"""Find which module call made an autograd node, from the outputs of module calls alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode
from torch.nn.modules import module as torch_module

from tb_gradgraph.autograd.forward.forward import Forward
from tb_gradgraph.autograd.forward.known import in_scopes, known_tensors, names_of_modules
from tb_gradgraph.autograd.forward.named_tensors import named_tensors
from tb_gradgraph.autograd.forward.spans import ModuleSpans
from tb_gradgraph.autograd.model_run.call import ModelCall
from tb_gradgraph.autograd.model_run.objective import Objective, choose_objective
from tb_gradgraph.autograd.seen.saved_inputs import saved_inputs
from tb_gradgraph.autograd.torch_internals.engine import remove_keyword_hook
from tb_gradgraph.autograd.torch_internals.walk import Walk, walk
from tb_gradgraph.graph import NO_SCOPE


def watch_outputs(
    call: ModelCall,
    loss_fn: Callable[[Any], Any] | None,
    grad_outputs: Any,
    _outermost: FrameType | None,
    where: str,
) -> tuple[Objective, Forward, Walk]:
    """Do what ``watch_checked`` does, for a torch without the sequence numbers of nodes.

    There are no source lines, names of variables, orders, cuts or operations without gradient.
    Inputs without gradient are those that operations saved.
    """
    known = known_tensors(call.model, call.args, call.kwargs)
    spans = OutputSpans(names_of_modules(call.model))
    with spans:
        objective = choose_objective(call.run(), loss_fn, grad_outputs, where)
    walked = walk([root.tensor for root in objective.roots])
    place = {node: index for index, node in enumerate(walked.nodes)}
    owners = spans.owners()
    scopes = [owners.get(node, NO_SCOPE) for node in walked.nodes]
    known = in_scopes(known, spans.scopes)
    sources, inputs = saved_inputs(walked, known, place.__getitem__)
    forward = Forward(
        number_of=place.__getitem__,
        scopes=spans.scopes,
        scope_at=scopes.__getitem__,
        known=known,
        sources=sources,
        untracked_inputs=inputs,
        seen=None,
    )
    return objective, forward, walked


class OutputSpans(ModuleSpans):
    """Follow module calls on this thread, and note what each call got and returned.

    A node belongs to the innermost call whose outputs lead to it without passing the call's inputs
    (its arguments, and the tensors on the module). If a call passes on a tensor in another way than
    by its output, the nodes behind it count as the caller's. If the caller passes a tensor in
    another way than by an argument, they count as the call's own.
    """

    def __init__(self, names: Mapping[int, str]) -> None:
        """Prepare, as ``ModuleSpans`` does."""
        super().__init__(names)
        self._given: dict[int, list[AutogradNode]] = {}  # by scope
        self._events: list[
            tuple[int, list[AutogradNode]]
        ] = []  # the module, and the nodes of its inputs

    def __enter__(self) -> OutputSpans:
        # This hook comes before the hook that closes the call, which is always called. With
        # ``always_call``, torch (2.13) would give it no keywords if the call raised.
        self._returns = torch_module.register_module_forward_hook(self._return, with_kwargs=True)
        super().__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        remove_keyword_hook(self._returns)

    def owners(self) -> dict[AutogradNode, int]:
        """Return the scope of each node behind what a call got or returned."""
        found: dict[AutogradNode, int] = {}
        for scope, nodes in self._events:
            pending = list(nodes)
            while pending:
                node = pending.pop()
                if node not in found:  # the nodes behind a found node were found with it
                    found[node] = scope
                    pending += [source for source, _ in node.next_functions if source is not None]
        return found

    def _enter(self, module: torch.nn.Module, inputs: object) -> None:
        caller, calls = self.current, len(self.scopes)
        super()._enter(module, inputs)
        if len(self.scopes) > calls:
            given = self._given[self.current] = _nodes_of([inputs, _tensors_on(module)])
            self._events.append((caller, given))

    def _return(self, module: torch.nn.Module, _inputs: Any, keywords: Any, output: Any) -> None:
        is_open = bool(self._stack) and self._stack[-1][0] == id(module)
        if is_open and threading.get_ident() == self._thread:
            self._given[self.current] += _nodes_of(keywords)
            self._events.append((self.current, _nodes_of(output)))

    def _switch(self, scope: int) -> None:
        self.current = scope


def _tensors_on(module: torch.nn.Module) -> list[torch.Tensor]:
    """Return parameters (computed ones, under ``functional_call``), buffers and other attributes."""
    values = [
        value
        for part in module.modules()
        for table in (part._parameters, part._buffers, vars(part))
        for value in table.values()
    ]
    return [value for value in values if isinstance(value, torch.Tensor)]


def _nodes_of(value: object) -> list[AutogradNode]:
    nodes = (tensor.grad_fn for _, tensor in named_tensors(value, ""))
    return [node for node in nodes if node is not None]
