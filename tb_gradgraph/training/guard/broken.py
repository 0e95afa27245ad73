"""Find what is not finite in a training, and say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from tb_gradgraph.autograd import elements_of, functions_not_overridden, modes_paused
from tb_gradgraph.training.guard.scalars import NotFinite
from tb_gradgraph.training.step.setting import Setting

_NAMED = 5


def bad_weights(setting: Setting) -> list[str]:
    """Return the names of the model's parameters that hold NaN or infinity. Waits for the device."""
    return [name for name, tensor in _named(setting) if not is_finite(tensor)]


def bad_gradients(setting: Setting, gradients: Sequence[torch.Tensor]) -> list[str]:
    """Return the names of the parameters whose gradients do. Waits for the device."""
    names = {id(tensor.grad): name for name, tensor in _named(setting) if tensor.grad is not None}
    bad = [id(gradient) for gradient in gradients if not is_finite(gradient)]
    found = [names[one] for one in bad if one in names]
    others = len(bad) - len(found)
    return [*found, f"{others} of another model"] if others else found


def _named(setting: Setting) -> Iterable[tuple[str, torch.Tensor]]:
    parameters = setting.parameters
    for tensor in parameters.tensors:
        if id(tensor) in parameters.known:
            yield parameters.known[id(tensor)].names[0], tensor


def is_finite(tensor: torch.Tensor) -> bool:
    """Return whether all elements that this process has of a tensor are finite. Waits for the device."""
    with torch.no_grad(), functions_not_overridden(), modes_paused():
        elements = elements_of(tensor)
        if elements is None or not (elements.is_floating_point() or elements.is_complex()):
            return True
        if elements.layout != torch.strided:
            elements = elements.coalesce().values() if elements.is_sparse else elements.values()
        return bool(torch.isfinite(elements).all())


def describe_loss(
    found: NotFinite, bad: Sequence[str], is_scaled: bool, last: int
) -> tuple[str, str]:
    """Return the kind of a finding, and say what was found.

    ``bad`` are the weights that are not finite, and ``last`` is the step before of a finite loss.
    """
    loss = f"The loss of step {found.step} is {found.value}"
    if bad:
        return "nonfinite_weight", loss + _lost(found, bad, last)
    next_one = "the scaler skips this step" if is_scaled else "the update may destroy them"
    return "nonfinite_value", f"{loss}. All weights are finite so far; {next_one}."


def describe_norm(
    found: NotFinite, bad: Sequence[str], gradients: Sequence[str], last: int
) -> tuple[str, str]:
    """Return the same of the norm of all gradients; ``gradients`` names those that are not finite."""
    norm = f"The norm of the gradients of step {found.step} is {found.value}"
    if bad:
        return "nonfinite_weight", norm + _lost(found, bad, last)
    if found.is_late:
        return "nonfinite", f"{norm}. All weights are finite so far."
    if not gradients:
        text = f"{norm}, although each of them is finite: it is too large for their type."
        return "clipped", f"{text} To clip by it makes all of them 0."
    loss = "" if last != found.step else "; its loss was finite"
    text = f"{norm}{loss}. Not finite: {listed(gradients)}."
    return "nonfinite", f"{text} All weights are finite so far; the update may destroy them."


def _lost(found: NotFinite, bad: Sequence[str], last: int) -> str:
    hold = "a weight holds" if len(bad) == 1 else f"{len(bad)} weights hold"
    already = "now" if found.is_late else "already"
    text = f", and {hold} NaN or infinity {already}: {listed(bad)}."
    if found.is_late or not 0 <= last < found.step:
        return text
    return f"{text} The loss of step {last} was finite, so its update did it."


def listed(names: Sequence[str]) -> str:
    """Return the first names as text, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
