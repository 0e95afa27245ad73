"""Count the events of a training, to explain why nothing was recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import torch

from tb_gradgraph.autograd import captured_so_far


@dataclasses.dataclass(slots=True)
class Seen:
    """Counts of what happened while a training was watched."""

    optimizers: tuple[str, ...]  # class names of the watched ones
    backwards: int = 0  # all that ran, over any graph
    due: int = 0  # backwards in steps due to be recorded
    passes: int = 0  # backwards in such steps that reached a parameter
    steps: int = 0  # steps of the watched optimizers
    recorded: int = 0  # recorded steps
    shared: int = 0  # passes left out because another thread ran over the same parameters
    first: int | None = None  # the step in which the first backward ran
    captured_before: int = dataclasses.field(default_factory=captured_so_far)
    is_opaque: bool = False  # whether the model computes with tensors other than its parameters
    others: set[str] = dataclasses.field(default_factory=set)  # class names of others

    def counting(
        self, step: int, is_due: bool, then: Callable[[bool], None] | None
    ) -> Callable[[bool], None] | None:
        """Return a function that counts successful backwards until a step is recorded, and calls ``then``."""
        if self.recorded:
            return then

        def ended(well: bool) -> None:
            if well:
                self.backwards += 1
                self.due += is_due
                self.first = step if self.first is None else self.first
            if then is not None:
                then(well)

        return ended


def find_mistake(
    seen: Seen, step: int, every_n_steps: int, parameters: Sequence[torch.Tensor]
) -> str | None:
    """Say why nothing was recorded, or no optimizer steps were, and what to do; None if all is well.

    Return None if nothing happened in the training, for example because it failed at once.

    Args:
        seen: What was seen.
        step: The step that is running.
        every_n_steps: The cadence.
        parameters: The watched parameters.
    """
    if seen.recorded:
        return _of_optimizers(seen)
    if captured_so_far() > seen.captured_before:
        return (
            "nothing was recorded: its backward was captured into a device graph "
            "(torch.cuda.graph). Replaying it calls no Python code. Watch a run without such a graph."
        )
    if not seen.backwards:
        return _without_backward(seen)
    if not seen.due:
        first = seen.first if seen.first is not None else step
        return (
            f"nothing was recorded: steps {first} to {step} ran, but none of them was due with "
            f"every_n_steps={every_n_steps}. Use a smaller every_n_steps."
        )
    if seen.passes and not seen.steps:
        return (
            "nothing was recorded: its parameters were reached only from the loss of another "
            f"optimizer, and {_named(seen.optimizers)} never stepped. Pass the optimizer that the loop steps."
        )
    if seen.shared:
        return (
            f"nothing was recorded: {seen.shared} backward passes were left out, because another thread ran "
            "backward over the same parameters at the same time, so their gradients cannot be told apart."
        )
    if seen.is_opaque:
        return None  # watch() has said so
    if not any(parameter.requires_grad for parameter in parameters):
        return "nothing was recorded: none of its parameters requires a gradient; all are frozen."
    return (
        f"nothing was recorded: {seen.due} backward passes ran, but none of them reached a parameter "
        "of this model. Watch the module that the loss is computed with, not a copy of it, and "
        "check whether its output is detached."
    )


def _without_backward(seen: Seen) -> str | None:
    if not seen.steps:
        return None
    return (
        f"nothing was recorded: its optimizer stepped {seen.steps} times, but no backward of torch "
        "ran in this process. Gradients that are computed in another way are not seen."
    )


def _of_optimizers(seen: Seen) -> str | None:
    if not seen.optimizers or seen.steps or seen.passes < 2:
        return None
    others = f", but {_named(sorted(seen.others))} did" if seen.others else ""
    return (
        f"{_named(seen.optimizers)} never stepped{others}: {seen.passes} backward passes are "
        "recorded as one step, without weights and updates. Pass the optimizer that the loop steps."
    )


def _named(optimizers: Sequence[str]) -> str:
    return f"the optimizer {' and '.join(optimizers)}"
