"""Find what can be known about a forward that ran before we were called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.forward import Forward, KnownTensor, NamedTensor
from tb_gradgraph.autograd.forward.origins import SlotKey
from tb_gradgraph.autograd.seen.saved_inputs import saved_inputs
from tb_gradgraph.autograd.torch_internals.engine import HAS_NUMBERS, sequence_nr
from tb_gradgraph.autograd.torch_internals.orders import second_order
from tb_gradgraph.autograd.torch_internals.tensor_classes import owned_tensors, small_copy
from tb_gradgraph.autograd.torch_internals.walk import Walk
from tb_gradgraph.autograd.user_code.stack_frames import variables_of


def forward_of_frame(
    walked: Walk, frame: FrameType | None, roots: Sequence[NamedTensor]
) -> Forward:
    """Name the tensors that ``frame`` can reach, and find the inputs that need no gradient.

    Names come from variables, and from the parameters of modules in variables. Inputs are tensors
    that operations saved for their backward. There are no scopes and no source lines.
    """
    variables = variables_of(frame)
    tensors = [
        NamedTensor(name, value)
        for name, value in variables.items()
        if isinstance(value, torch.Tensor) and not name.startswith("_")
    ]
    place = {node: index for index, node in enumerate(walked.nodes)}
    made = _by_slot([*roots, *tensors], place)
    known = _owned(variables) | {id(named.tensor): _leaf(named) for named in reversed(tensors)}
    sources, inputs = saved_inputs(walked, known, place.__getitem__)
    return Forward(
        number_of=place.__getitem__,
        names={key: named.name for key, named in made.items()},
        known=known,
        second_order=_second_order(place) if HAS_NUMBERS else frozenset(),
        sources=sources,
        untracked_inputs=inputs,
        used={
            key: copy
            for key, named in made.items()
            if (copy := small_copy(named.tensor)) is not None
        },
        retaining=frozenset(key for key, named in made.items() if named.tensor.retains_grad),
    )


def _second_order(place: Mapping[AutogradNode, int]) -> frozenset[int]:
    second = second_order(map(sequence_nr, place))
    return frozenset(index for node, index in place.items() if sequence_nr(node) in second)


def _by_slot(
    tensors: Sequence[NamedTensor], place: Mapping[AutogradNode, int]
) -> dict[SlotKey, NamedTensor]:
    found: dict[SlotKey, NamedTensor] = {}
    for named in tensors:
        node = named.tensor.grad_fn
        if node is not None and node in place:
            found.setdefault((place[node], named.tensor.output_nr), named)
    return found


def _leaf(named: NamedTensor) -> KnownTensor:
    if isinstance(named.tensor, torch.nn.Parameter):
        return KnownTensor("parameter", (named.name,))
    return KnownTensor("leaf" if named.tensor.requires_grad else "input", (named.name,))


def _owned(variables: Mapping[str, Any]) -> dict[int, KnownTensor]:
    """Name the parameters of the modules among ``variables``: ``net.fc.weight``."""
    names: dict[int, list[str]] = {}
    for variable, module in variables.items():
        if isinstance(module, torch.nn.Module) and not variable.startswith("_"):
            prefix = "" if variable == "self" else f"{variable}."
            for kind, name, tensor in owned_tensors(module):
                if kind == "parameter":
                    names.setdefault(id(tensor), []).append(prefix + name)
    return {identity: KnownTensor("parameter", tuple(found)) for identity, found in names.items()}
