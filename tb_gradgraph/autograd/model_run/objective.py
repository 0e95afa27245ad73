"""Choose which part of a model's output is differentiated, and with which seed."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tb_gradgraph.autograd.forward.forward import NamedTensor
from tb_gradgraph.autograd.forward.named_tensors import named_tensors
from tb_gradgraph.errors import CaptureError


@dataclasses.dataclass(frozen=True, slots=True)
class Objective:
    """Roots, the gradient that each of them gets (None: one), and a description in words."""

    roots: tuple[NamedTensor, ...]
    seeds: tuple[torch.Tensor | None, ...]
    text: str
    is_own_loss: bool = False  # whether the model returned it beside its output


def choose_objective(
    output: Any, loss_fn: Callable[[Any], Any] | None, grad_outputs: Any, where: str
) -> Objective:
    """Find what to differentiate, as ``add_grad_graph`` documents it.

    Raises:
        CaptureError: No part of the output can be differentiated.
    """
    if loss_fn is not None:
        return _of_loss(loss_fn(output), grad_outputs, where)
    scalar = _own_loss(output)
    if scalar is not None and grad_outputs is None:
        return Objective((scalar,), (None,), scalar.name, scalar.name != "output")
    roots = [root for root in _floating(output, "output") if root.tensor.requires_grad]
    if not roots:
        raise CaptureError(_nothing(output, where))
    if grad_outputs is not None:
        return Objective(tuple(roots), _seeds(roots, grad_outputs, where), "grad_outputs")
    text = "sum of all floating outputs" if len(roots) > 1 else "sum of the output"
    return Objective(tuple(roots), tuple(torch.ones_like(root.tensor) for root in roots), text)


def check_loss_fn(loss_fn: Any, where: str) -> None:
    """Check, before the model runs, that ``loss_fn`` can be called with the output alone.

    Raises:
        CaptureError: ``loss_fn`` cannot be called in this way.
    """
    if loss_fn is None:
        return
    if not callable(loss_fn):
        raise CaptureError(
            f"{where}: expected loss_fn to be a function of the model's output, got "
            f"{type(loss_fn).__name__}. Pass a loss that is already computed instead of the model: "
            "add_grad_graph(loss)."
        )
    try:
        called = loss_fn.forward if isinstance(loss_fn, torch.nn.Module) else loss_fn
        signature = inspect.signature(called)
    except (TypeError, ValueError):  # built in, without a signature
        return
    try:
        signature.bind(None)
    except TypeError as error:
        raise CaptureError(
            f"{where}: expected loss_fn to take only the model's output, got one whose call is "
            f"refused: {error}. Give it the target: loss_fn=lambda output: criterion(output, target)."
        ) from None


def check_devices(model: torch.nn.Module, inputs: Sequence[torch.Tensor], where: str) -> None:
    """Check that parameters and inputs have values.

    Raises:
        CaptureError: One of them is on the meta device.
    """
    owned = [*model.named_parameters(), *model.named_buffers()]
    named = [*owned, *((f"input {nr}", tensor) for nr, tensor in enumerate(inputs))]
    for name, tensor in named:
        if tensor.is_meta:
            raise CaptureError(
                f"{where}: expected tensors with values, got {name} on the meta device. Give the "
                "model memory first, as with model.to_empty(device=...) and its initialization."
            )


def check_roots(roots: Sequence[NamedTensor], where: str) -> None:
    """Check that tensors computed by the user can be differentiated.

    Raises:
        CaptureError: One of them does not require grad.
    """
    for root in roots:
        if root.tensor.grad_fn is None:
            raise CaptureError(
                f"{where}: expected tensors that require grad, got {root.name} of shape "
                f"{tuple(root.tensor.shape)} without a graph behind it. Compute it from tensors "
                "that require grad, outside of torch.no_grad() and before backward()."
            )


def _of_loss(loss: Any, grad_outputs: Any, where: str) -> Objective:
    if not isinstance(loss, torch.Tensor):
        raise CaptureError(
            f"{where}: expected loss_fn to return a tensor, got {type(loss).__name__}. "
            "Return the loss itself, not .item()."
        )
    root = NamedTensor("loss", loss)
    check_roots([root], where)
    if grad_outputs is None and loss.numel() != 1:
        raise CaptureError(
            f"{where}: expected loss_fn to return a scalar, got shape {tuple(loss.shape)}. "
            "Reduce it with .mean() or .sum(), or pass grad_outputs of the same shape."
        )
    seeds = (None,) if grad_outputs is None else _seeds([root], grad_outputs, where)
    return Objective((root,), seeds, "loss_fn(output)")


def _own_loss(output: Any) -> NamedTensor | None:
    """Return the output if it is a scalar, or the loss that it carries."""
    candidates = [("output", output)]
    if isinstance(output, dict) and "loss" in output:
        candidates.append(("output['loss']", output["loss"]))
    elif not isinstance(output, torch.Tensor):
        candidates.append(("output.loss", getattr(output, "loss", None)))
    for name, value in candidates:
        if isinstance(value, torch.Tensor) and value.numel() == 1 and value.requires_grad:
            if value.is_floating_point():
                return NamedTensor(name, value)
    return None


def _floating(output: Any, name: str) -> list[NamedTensor]:
    return [
        NamedTensor(found, tensor)
        for found, tensor in named_tensors(output, name)
        if tensor.is_floating_point() or tensor.is_complex()
    ]


def _seeds(
    roots: Sequence[NamedTensor], grad_outputs: Any, where: str
) -> tuple[torch.Tensor | None, ...]:
    seeds = [tensor for _, tensor in named_tensors(grad_outputs, "grad_outputs")]
    expected = [tuple(root.tensor.shape) for root in roots]
    got = [tuple(seed.shape) for seed in seeds]
    if expected != got:
        raise CaptureError(
            f"{where}: expected grad_outputs of shapes {expected}, one for each output that "
            f"requires grad, got {got}."
        )
    return tuple(seeds)


def _nothing(output: Any, where: str) -> str:
    found = _floating(output, "output")
    if not found:
        got = type(output).__name__
        if isinstance(output, torch.Tensor):
            got = f"a tensor of {str(output.dtype).removeprefix('torch.')}"
        return (
            f"{where}: expected an output with a floating tensor, got {got}. "
            "Pass loss_fn=, a function from the output to a scalar tensor."
        )
    names = ", ".join(root.name for root in found[:5])
    return (
        f"{where}: expected an output that requires grad, got {names} without a graph. Is every "
        "parameter frozen, or does the forward run under torch.no_grad()? Pass an input with "
        "requires_grad=True, or unfreeze a parameter."
    )
