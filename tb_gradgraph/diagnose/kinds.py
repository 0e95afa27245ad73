"""The kinds of findings: severity, meaning, and what to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """The properties that all findings of one kind share.

    Attributes:
        name: Stable, for filters and tests.
        severity: How severe it is.
        meaning: What it says about the training, in a sentence.
        advice: What to do, in a sentence or two.
        milder: Its severity if the rule calls it mild; ``None`` if the rule never does.
        is_of_node: Whether it concerns a node. Then the same finding at another node is a new
            finding. Otherwise it concerns the step, whichever node it names.
        is_of_nonfinite: Whether it is about NaN or infinity.
    """

    name: str
    severity: Severity
    meaning: str
    advice: str
    milder: Severity | None = None
    is_of_node: bool = False
    is_of_nonfinite: bool = False


_ROWS = (
    Kind(
        "nonfinite_weight",
        "error",
        "A weight already held NaN or infinity when the forward began.",
        "Look at the gradients and the update of the step before, and go back to a checkpoint before it.",
        is_of_nonfinite=True,
    ),
    Kind(
        "nonfinite_value",
        "error",
        "The forward already gave NaN or infinity: its inputs were finite and its result is not.",
        "Keep the input of the operation named here where its result is finite; of an input, look at the "
        "data. It is a note if it does not reach the loss, or if only a GradScaler's factor made it. "
        'At level "module" the operation may be inferred; record again with level="op", values=True '
        "to be sure.",
        milder="note",
        is_of_nonfinite=True,
    ),
    Kind(
        "nonfinite_origin",
        "error",
        "A finite gradient came into an operation, and NaN or infinity left it.",
        "Keep its input away from points where its derivative is infinite, such as 0 for a square root. "
        "Without values it is not known whether the forward had made it already: record with values=True.",
        is_of_nonfinite=True,
    ),
    Kind(
        "nan_victim",
        "error",
        "An operation turned an infinity that reached it into NaN.",
        "Find where the infinity comes from; this operation is not to blame.",
        is_of_nonfinite=True,
    ),
    Kind(
        "nonfinite",
        "error",
        "Gradients contain NaN or infinity.",
        "Look at the finding that names the place where it began.",
        is_of_nonfinite=True,
    ),
    Kind(
        "not_read",
        "warning",
        "Some gradients could not be read.",
        "The finding states the reason.",
        milder="note",
    ),
    Kind(
        "no_gradient",
        "warning",
        "No gradient arrived at a parameter that requires one.",
        "Use it in the forward, or set requires_grad to False.",
        is_of_node=True,
    ),
    Kind(
        "frozen",
        "note",
        "A parameter does not require a gradient.",
        "Nothing, if that is intended.",
        is_of_node=True,
    ),
    Kind(
        "zero_gradient",
        "warning",
        "A gradient arrived, but every element of it is zero.",
        "Find what multiplies it by zero between the loss and the parameter.",
        is_of_node=True,
    ),
    Kind(
        "zero_origin",
        "warning",
        "A gradient reaches an operation but only zeros leave it, as with a dead ReLU.",
        "Lower the learning rate, or choose another activation or initialization.",
    ),
    Kind(
        "vanishing",
        "warning",
        "A gradient is orders of magnitude smaller than those near the loss.",
        "Try a normalization, skip connections or another initialization.",
    ),
    Kind(
        "exploding",
        "warning",
        "A gradient is orders of magnitude greater than those near the loss, or beyond 1e6.",
        "Clip gradients, lower the learning rate, or try another initialization.",
    ),
    Kind(
        "cancelled",
        "note",
        "The gradient of a parameter cancels to rounding, as for a bias before a normalization.",
        "Nothing: it does not learn, and does not need to.",
        is_of_node=True,
    ),
    Kind(
        "nothing_selected",
        "warning",
        "A backward ran, but none of its gradients was recorded.",
        "Change select=, exclude= or level= of watch().",
    ),
    Kind(
        "no_backward",
        "note",
        "No backward pass ran over the graph yet.",
        "Nothing, if you only want the structure.",
    ),
    Kind(
        "step_skipped",
        "note",
        "A GradScaler skipped the optimizer's step.",
        "Nothing, unless it happens again and again.",
    ),
    Kind(
        "cleared",
        "warning",
        "Gradients were cleared between the backward and the optimizer's step.",
        "Call zero_grad() before the backward, or after the step.",
    ),
    Kind(
        "clipped",
        "warning",
        "Gradients became much smaller between the backward and the optimizer's step.",
        "If every step is clipped, raise the limit or lower the learning rate.",
        milder="note",
    ),
    Kind(
        "not_optimized",
        "warning",
        "A parameter got a gradient, but no optimizer of the watch holds it.",
        "Give it to an optimizer, or set requires_grad to False.",
        is_of_node=True,
    ),
    Kind(
        "large_update",
        "warning",
        "A step changed a weight by a large part of its norm.",
        "The learning rate may be too high.",
    ),
    Kind(
        "small_update",
        "note",
        "A step hardly changed a weight.",
        "The learning rate may be too low or still warming up, or the gradient is small.",
    ),
    Kind(
        "no_update",
        "note",
        "No weight changed in a step.",
        "Is the learning rate 0?",
    ),
)

#: Every kind, by its name.
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ROWS}
