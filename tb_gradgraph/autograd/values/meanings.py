"""Say which further statistics a value has, from the operation that made it."""

from __future__ import annotations

from typing import Any

import torch

from tb_gradgraph.autograd.forward.schemas import word_of
from tb_gradgraph.autograd.torch_internals.engine import bounds_of, custom_function, dim_of
from tb_gradgraph.statistics import ValueMeaning

#: The least and the greatest result of operations that saturate. Those of ``hardtanh`` are arguments.
_ENDS = {
    "sigmoid": (0.0, 1.0),
    "hardsigmoid": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "softmax": (0.0, 1.0),
}
#: Operations whose results have units that may be zero for a whole batch.
_ACTIVATIONS = frozenset(
    (
        *(
            "relu",
            "threshold",
            "hardtanh",
            "hardswish",
            "hardsigmoid",
            "gelu",
            "silu",
            "mish",
            "elu",
        ),
        *("leaky_relu", "prelu_kernel", "rrelu_with_noise", "softplus", "clamp", "clamp_min"),
        *("sigmoid", "tanh"),
    )
)
#: Operations whose results have channels in dimension 1.
_OF_CHANNELS = frozenset(
    (
        *("convolution", "convolution_overrideable", "mkldnn_convolution", "cudnn_convolution"),
        *("native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "native_group_norm"),
        *("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices"),
        *("avg_pool2d", "avg_pool3d"),
    )
)
#: Operations whose results have the dimensions of their first argument.
_ELEMENTWISE = _ACTIVATIONS | {"add", "sub", "mul", "div", "native_dropout"}
#: Kinds of autograd nodes of C++ that were seen and whose results have no further statistics. They live
#: as long as the process; those of custom Functions do not.
WITHOUT_MEANING: set[type] = set()
_MOST_STEPS = 8  # back to an operation of channels


def meaning_of_node(node: Any, tensor: torch.Tensor) -> ValueMeaning | None:
    """Return the meaning of what an autograd node made; None if it has no further statistics."""
    kind = type(node)
    word = word_of(kind.__name__)
    if word not in _ACTIVATIONS and word not in _ENDS:
        if custom_function(node) is None:
            WITHOUT_MEANING.add(kind)
        return None
    ends = _ENDS.get(word)
    if word == "hardtanh":
        ends = bounds_of(node)
    sources = node.next_functions
    return _meaning(word, tensor, sources[0][0] if sources else None, ends, dim_of(node))


def meaning_of_call(name: str, arguments: Any, tensor: torch.Tensor) -> ValueMeaning | None:
    """Return the meaning of what a traced operation made of its arguments."""
    word = name.strip("_")
    if word not in _ACTIVATIONS and word not in _ENDS:
        return None
    ends = _ENDS.get(word)
    if word == "hardtanh":
        low, high = arguments[1:3] if len(arguments) > 2 else (-1, 1)
        ends = (float(low), float(high))
    first = arguments[0] if arguments else None
    node = first.grad_fn if isinstance(first, torch.Tensor) else None
    dim = arguments[1] if word == "softmax" and len(arguments) > 1 else -1
    return _meaning(word, tensor, node, ends, dim)


def _meaning(
    word: str, tensor: torch.Tensor, source: Any, ends: tuple[float, float] | None, dim: int
) -> ValueMeaning:
    dims, units = tensor.dim(), None
    if word in _ACTIVATIONS and dims >= 2:
        units = 1 if dims >= 3 and _has_channels(source) else dims - 1
    is_along_last = dim in (-1, dims - 1)
    return ValueMeaning(units, ends, word == "softmax" and dims >= 3 and is_along_last)


def _has_channels(node: Any) -> bool:
    """Return whether a node's result has channels in dimension 1, from what made it."""
    for _ in range(_MOST_STEPS):
        word = "" if node is None else word_of(type(node).__name__)
        if word in _OF_CHANNELS:
            return True
        if word not in _ELEMENTWISE:
            return False
        node = node.next_functions[0][0]
    return False
