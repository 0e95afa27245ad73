"""Slow, independent answers that the product is checked against: plain torch and plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch.autograd.graph import GradientEdge, Node


def statistics_of(tensor: torch.Tensor) -> dict[str, float | int | None]:
    """Compute the statistics of one tensor, element by element, with exact sums."""
    dense = tensor.detach().to_dense() if tensor.layout != torch.strided else tensor.detach()
    if dense.is_complex():
        elements = [abs(value) for value in dense.reshape(-1).to(torch.complex128).tolist()]
    else:
        elements = dense.reshape(-1).to(torch.float64).tolist()
    finite = [value for value in elements if math.isfinite(value)]
    result: dict[str, float | int | None] = {
        "numel": len(elements),
        "nan": sum(math.isnan(value) for value in elements),
        "posinf": sum(value == math.inf for value in elements),
        "neginf": sum(value == -math.inf for value in elements),
        "zero_fraction": sum(v == 0 for v in elements) / len(elements) if elements else None,
        "l2_norm": math.hypot(*finite) if finite else None,
        "mean": None,
        "std": None,
        "min": min(finite, default=None),
        "max": max(finite, default=None),
        "abs_max": max(map(abs, finite), default=None),
    }
    if finite:
        scale = max(map(abs, finite)) or 1.0
        mean = math.fsum(value / scale for value in finite) / len(finite)
        result["mean"] = mean * scale
        if len(finite) > 1:
            spread = math.fsum((value / scale - mean) ** 2 for value in finite)
            result["std"] = scale * math.sqrt(spread / (len(finite) - 1))
    return result


def operations_behind(roots: Sequence[torch.Tensor]) -> list[Node]:
    """Find every node with a backward of its own, in the order that the forward made them."""
    found: set[Node] = set()

    def visit(node: Node | None) -> None:
        if node is not None and node not in found:
            found.add(node)
            for parent, _ in node.next_functions:
                visit(parent)

    for root in roots:
        visit(root.grad_fn)
    operations = (node for node in found if not hasattr(node, "variable"))
    return sorted(operations, key=lambda node: node._sequence_nr())


def slot_gradients(
    roots: Sequence[torch.Tensor], seeds: Sequence[torch.Tensor | None]
) -> list[list[torch.Tensor | None]]:
    """Ask torch.autograd.grad for the gradient of every output of every operation."""
    operations = operations_behind(roots)
    edges = [
        GradientEdge(node, nr) for node in operations for nr in range(len(node._input_metadata))
    ]
    gradients = iter(torch.autograd.grad(roots, edges, seeds, allow_unused=True, retain_graph=True))
    return [[next(gradients) for _ in node._input_metadata] for node in operations]
