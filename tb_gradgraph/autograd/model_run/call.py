"""A call of the user's model with the user's input, detached from any graph behind the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tb_gradgraph.autograd.forward.named_tensors import named_tensors
from tb_gradgraph.autograd.torch_internals.trees import tree_map
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.memory import is_freed


def split_input(
    input_to_model: Any, kwargs: Mapping[str, Any] | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return a model's positional and keyword arguments.

    Args:
        input_to_model: A tuple holds positional arguments. A dict holds keyword arguments, if
            ``kwargs`` is None. Anything else is a single argument.
        kwargs: Keyword arguments.
    """
    if isinstance(input_to_model, tuple) and not hasattr(input_to_model, "_fields"):
        return input_to_model, dict(kwargs or {})
    names_all = isinstance(input_to_model, dict) and all(isinstance(k, str) for k in input_to_model)
    if kwargs is None and names_all:
        return (), dict(input_to_model)
    return (() if input_to_model is None else (input_to_model,)), dict(kwargs or {})


def check_kwargs(kwargs: Any, where: str) -> None:
    """Raise CaptureError unless ``kwargs`` is None or a dict with names as its keys."""
    if kwargs is None:
        return
    if not isinstance(kwargs, Mapping) or not all(isinstance(key, str) for key in kwargs):
        raise CaptureError(
            f"{where}: expected kwargs to be a dict of keyword arguments for the model, got "
            f"{type(kwargs).__name__}."
        )


class ModelCall:
    """A model and its arguments, with leaves in place of tensors that have a graph.

    A backward over that graph, which is the user's, would free it and run the user's hooks.
    Inference tensors are copied, because autograd refuses to save them.
    """

    def __init__(
        self, model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> None:
        self.model = model
        self.args, self.kwargs = args, kwargs
        self._given = (args, kwargs)
        tensors = [tensor for _, tensor in named_tensors([args, kwargs], "")]
        self._changes = any(_has_graph(tensor) or tensor.is_inference() for tensor in tensors)
        if self._changes:  # otherwise the arguments need not be searched
            self.args, self.kwargs = tree_map(_separate, self._given)

    def run(self) -> Any:
        """Call the model. It may change the substitutes for tensors with a graph in place."""
        args, kwargs = self.args, self.kwargs
        if self._changes:
            args, kwargs = tree_map(_join, self._given, (args, kwargs))
        return self.model(*args, **kwargs)


def _separate(value: Any) -> Any:
    if _has_graph(value):
        return value.detach().requires_grad_()
    if isinstance(value, torch.Tensor) and value.is_inference() and not is_freed(value):
        return value.clone()
    return value


def _join(value: Any, separate: Any) -> Any:
    return separate.clone() if _has_graph(value) else separate


def _has_graph(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.grad_fn is not None
