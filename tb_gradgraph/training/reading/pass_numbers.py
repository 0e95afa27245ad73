"""The numbers of one backward pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import torch

from tb_gradgraph.training.own.own_numbers import ChosenOwnNumbers
from tb_gradgraph.training.reading.forward_values import PassValues
from tb_gradgraph.training.reading.numbers import Numbers, differing
from tb_gradgraph.training.reading.parameter_rows import GradState
from tb_gradgraph.training.reading.structures import Structure


@dataclasses.dataclass(frozen=True, slots=True)
class PassNumbers:
    """The numbers of one backward pass, on their way to the host.

    Attributes:
        structure: The graph that it ran over.
        gradients: Statistics of the gradients of this pass, for all rows that are read.
        accumulated: Statistics of ``.grad`` after the pass, for rows of parameters. It is the same
            object as ``gradients`` if every ``.grad`` was None before the pass. It is None for a
            call of ``autograd.grad``, which does not change ``.grad``.
        state_of: The state of each parameter's ``.grad`` after the pass, by the parameter's ``id``.
        values: Copies of small roots, by row.
        objective: What was differentiated.
        placements: The placement of gradients and values of which this process has only a part,
            by row.
        own: What the user's own statistics gave for gradients.
        forward: What the forward computed with and made; None if it is not read.
    """

    structure: Structure
    gradients: Numbers
    accumulated: Numbers | None
    state_of: Mapping[int, GradState]
    values: Mapping[int, torch.Tensor]
    objective: str
    placements: Mapping[int, str]
    own: ChosenOwnNumbers
    forward: PassValues | None = None

    def after(self, forward: PassValues | None) -> PassNumbers:
        """Return the same numbers together with those of the forward."""
        if forward is None:
            return self
        placements = {**forward.placements, **self.placements}
        return dataclasses.replace(self, forward=forward, placements=placements)


def check_sharing(numbers: PassNumbers) -> None:
    """Compare the rows that will share statistics from now on, when all are read the first time.

    A user's hook on a tensor may change a gradient between two operations that do not.
    """
    replay = numbers.structure.replay
    replay.is_checked = True
    table, _ = numbers.gradients.collect()
    for row in differing(table, replay.same):
        replay.forget_sharing(row)
