"""Collect what is known about a forward that we traced."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.forward import Forward, KnownTensor
from tb_gradgraph.autograd.forward.trace import ForwardTrace
from tb_gradgraph.autograd.torch_internals.engine import HAS_NUMBERS, next_sequence_nr, sequence_nr


def number_from(first: int) -> Callable[[AutogradNode], int]:
    """Return a function that numbers nodes made on this thread since ``first``; others get -1."""
    end = next_sequence_nr()

    def number_of(node: AutogradNode) -> int:
        number = sequence_nr(node) if HAS_NUMBERS else -1
        return number if first <= number < end else -1

    return number_of


def forward_of(trace: ForwardTrace, known: Mapping[int, KnownTensor]) -> Forward:
    """Return what a trace has seen."""
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
