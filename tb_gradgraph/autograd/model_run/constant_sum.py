"""Find outputs whose sum is a constant: differentiating the sum gives only rounding errors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.autograd.graph import Node as AutogradNode
from torch.autograd.graph import get_gradient_edge

from tb_gradgraph.autograd.build.naming import readable
from tb_gradgraph.autograd.torch_internals.engine import accumulated_leaf, node_name, saved_tensors

#: Operations that pass on a uniform gradient (one number everywhere) as a uniform gradient.
_UNIFORM = frozenset(
    (
        *("View", "UnsafeView", "ReshapeAlias", "T", "Transpose", "Permute", "Unsqueeze"),
        *("Squeeze", "Alias", "Clone", "Unflatten", "Flatten", "ToCopy", "Neg", "Sum", "Mean"),
    )
)
#: Operations whose sum is a constant along what they normalize, whatever the input.
_ALWAYS = frozenset(("Softmax", "SafeSoftmax"))
#: The same, if all elements of the weight are equal, as in a new module.
_WITH_PLAIN_WEIGHT = frozenset(("NativeLayerNorm", "NativeGroupNorm"))
#: The same, during training: then they normalize each channel over the batch.
_IN_TRAINING = frozenset(("NativeBatchNorm", "CudnnBatchNorm", "MiopenBatchNorm"))
_WEIGHT = 1  # the input that is the weight


def ends_in_constant_sum(roots: Sequence[torch.Tensor]) -> str:
    """Return the operations at the ends of ``roots`` if the sums of all roots are constants, else ""."""
    names = [_constant_of(root) for root in roots]
    return " and ".join(dict.fromkeys(names)) if all(names) else ""


def _constant_of(root: torch.Tensor) -> str:
    node: AutogradNode | None = get_gradient_edge(root).node
    while node is not None:
        plain = node_name(node).rstrip("0123456789").removesuffix("Backward")
        if plain not in _UNIFORM:
            return readable(node_name(node)) if _is_constant(plain, node) else ""
        users = [source for source, _ in node.next_functions]
        node = users[0] if users else None
    return ""


def _is_constant(plain: str, node: AutogradNode) -> bool:
    if plain in _IN_TRAINING:
        return bool(getattr(node, "_saved_training", plain != "NativeBatchNorm"))
    return plain in _ALWAYS or (plain in _WITH_PLAIN_WEIGHT and _has_plain_weight(node))


def _has_plain_weight(node: AutogradNode) -> bool:
    sources = [source for source, _ in node.next_functions]
    source = sources[_WEIGHT] if len(sources) > _WEIGHT else None
    weight = accumulated_leaf(source) if source is not None else _saved_weight(node)
    if weight is None:
        return source is None
    return weight.numel() > 0 and bool((weight == weight.reshape(-1)[0]).all())


def _saved_weight(node: AutogradNode) -> torch.Tensor | None:
    return next((tensor for name, tensor in saved_tensors(node, ("weight",))), None)
