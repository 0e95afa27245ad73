"""Inputs without gradient that operations kept for their backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.engine import saved_tensors, viewed
from tb_gradgraph.autograd.forward import KnownTensor
from tb_gradgraph.autograd.origins import Origin, TracedSource, traced
from tb_gradgraph.autograd.seen_sources import SeenSources
from tb_gradgraph.autograd.walk import Walk
from tb_gradgraph.graph import NO_SCOPE

#: Inputs that an operation saves for its backward, by autograd's names; what else it saves
#: (results, batch statistics) it has made itself.
SAVED_INPUTS = frozenset(
    (
        *("self", "other", "input", "weight", "mat1", "mat2", "vec1", "vec2", "batch1", "batch2"),
        *("tensor1", "tensor2", "target", "indices", "index", "mask", "condition", "exponent"),
        *("tensors", "query", "key", "value", "attn_mask", "attn_bias"),
        *("running_mean", "running_var", "src", "source", "values", "end", "start", "p"),
    )
)


def saved_inputs(
    walked: Walk,
    known: Mapping[int, KnownTensor],
    number_of: Callable[[AutogradNode], int],
    copies: bool = True,
    seen: SeenSources | None = None,
) -> tuple[list[TracedSource], dict[int, list[tuple[int, Origin]]]]:
    """Find the tensors without gradient that operations saved, each once, by ``number_of`` the node.

    Numbers (``2 * x``) are saved as 0-d tensors too; those without a name are left out.
    A view of a tensor that is known, as of a frozen weight, counts as that tensor. Those that
    are small are copied, unless ``copies`` says that no element is to be read. Where ``seen``
    knows what made a tensor, that is its source.
    """
    sources = [] if seen is None else list(seen.sources)
    inputs: dict[int, list[tuple[int, Origin]]] = {}
    given: dict[int, tuple[int, torch.Tensor]] = {}  # by ``id``; the tensor keeps it taken
    for node in walked.nodes:
        number = number_of(node)
        for _, saved in saved_tensors(node, SAVED_INPUTS) if number >= 0 else ():
            if saved.requires_grad:
                continue
            base = viewed(saved)
            tensor = base if id(base) in known and id(saved) not in known else saved
            origin = None if seen is None else seen.known(tensor)
            if origin is None and tensor.dim() == 0 and id(tensor) not in known:
                continue
            if origin is None:
                if id(tensor) not in given:
                    given[id(tensor)] = (len(sources), tensor)
                    sources.append(TracedSource("", NO_SCOPE, "", [traced(tensor, copies)], []))
                origin = ("source", given[id(tensor)][0], 0)
            found = inputs.setdefault(number, [])
            found.append((len(found), origin))
    return sources, inputs
