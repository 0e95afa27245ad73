"""Read the gradients that an optimizer used, and the change that it made to the weights."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from tb_gradgraph.statistics import STATISTICS, StatisticsTable
from tb_gradgraph.training.quantities.adam_moments import MomentReading
from tb_gradgraph.training.quantities.group_settings import GroupSettings
from tb_gradgraph.training.reading.batches import read_grads
from tb_gradgraph.training.reading.followed import reference_to
from tb_gradgraph.training.reading.numbers import Numbers
from tb_gradgraph.training.reading.parameter_rows import grad_states
from tb_gradgraph.training.reading.pass_numbers import PassNumbers
from tb_gradgraph.training.reading.structures import Structure
from tb_gradgraph.training.step.unused import Flag
from tb_gradgraph.training.step.weights import Copies, WeightReading

_NORM = STATISTICS.index("l2_norm")


@dataclasses.dataclass(frozen=True, slots=True)
class AppliedPart:
    """The gradients that one optimizer used, and the change that it made.

    Attributes:
        rows: The rows of its parameters.
        gradients: The gradients that it used, for these rows and perhaps others; None if there was
            no ``.grad``.
        was_read: Whether they were read when it stepped. Otherwise they are those of the backward.
        seems_same: Whether torch's version counters show no change since the backward.
        weights: The weights before and after.
        settings: Learning rate, weight decay and momentum of its groups.
        moments: The norms of its moments after the step.
        was_skipped: Whether a fused optimizer, which checks for infinities itself, skipped the
            step.
    """

    rows: tuple[int, ...]
    gradients: Numbers | None
    was_read: bool
    seems_same: bool
    weights: WeightReading
    settings: GroupSettings
    moments: MomentReading
    was_skipped: Flag


class HiddenChanges:
    """Finds out whether a loop changes gradients without torch's notice, as ``grad.data.clamp_`` does.

    This is checked at the first two recorded steps and at every eighth one, because reading all
    gradients twice at every step would double the cost. Once a change was found, it is checked at
    every step.

    Attributes:
        clipping_was_seen: Whether gradients were clipped at a recorded step so far, in any way.
    """

    def __init__(self) -> None:
        """Begin; no change was found yet."""
        self.clipping_was_seen = False
        self._steps = 0
        self._were_seen = False

    def begin_step(self) -> None:
        """Count a recorded step."""
        self._steps += 1

    @property
    def are_sought(self) -> bool:
        """Return whether to read gradients before the optimizer even if they seem unchanged."""
        return self._were_seen or self._steps <= 2 or self._steps % 8 == 0

    def compare(self, before: StatisticsTable, after: StatisticsTable) -> None:
        """Compare gradients that seem unchanged, on the session's thread."""
        rows = after.present
        own, others = after.values[rows, _NORM], before.values[rows, _NORM]
        if not np.allclose(own, others, rtol=1e-5, atol=0, equal_nan=True):
            self._were_seen = True


class OptimizerReading:
    """Reads one step of an optimizer: before the step, and in ``finish`` after it."""

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        last: PassNumbers | None,
        reads: bool,
        update_memory: int,
        copies: Copies | None = None,
        prefix: str = "",
    ) -> None:
        """Read weights, and gradients if they were changed.

        Args:
            optimizer: The optimizer that is about to step.
            last: The backward before the step; None if it comes later, from a closure, or is still
                running.
            reads: Whether to read gradients even if they seem unchanged.
            update_memory: Bytes for copies of weights.
            copies: As for ``WeightReading``.
            prefix: What the names of its groups begin with.
        """
        self._parameters = [
            parameter
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.requires_grad or parameter.grad is not None
        ]
        self._last = last
        self._reads = reads
        self._weights = WeightReading(self._parameters, update_memory, copies)
        self._settings = GroupSettings(optimizer, prefix)
        self._optimizer = reference_to(optimizer)
        self._gradients: Numbers | None = None
        self._was_read = False
        self._seems_same = False
        self._found_inf = Flag(getattr(optimizer, "found_inf", None))
        if last is not None:
            # Fused optimizers unscale gradients themselves.
            self._read(last, getattr(optimizer, "grad_scale", None))

    @property
    def parameters(self) -> list[torch.Tensor]:
        """Return the parameters that the optimizer may change."""
        return self._parameters

    def finish(self, last: PassNumbers) -> AppliedPart:
        """Read the weights after the step; ``last`` is the backward that it used."""
        if last is not self._last:  # a closure ran the backward, and may have clipped gradients too
            self._read(last, None)
        return self._part(last.structure, self._gradients, self._was_read)

    def finish_within(self, structure: Structure) -> AppliedPart:
        """Read the weights after a step within the backward. Its gradients are read elsewhere."""
        return self._part(structure, None, True)

    def _read(self, last: PassNumbers, scale: torch.Tensor | None) -> None:
        now = zip(self._parameters, grad_states(self._parameters))
        changed = scale is not None or any(
            last.state_of.get(id(parameter)) != state for parameter, state in now
        )
        self._seems_same = not changed
        self._was_read = changed or self._reads
        self._gradients = last.accumulated
        if self._was_read:
            self._gradients = read_grads(last.structure, self._parameters, scale)

    def _part(self, structure: Structure, gradients: Numbers | None, was_read: bool) -> AppliedPart:
        rows = [structure.parameter_rows.get(id(parameter)) for parameter in self._parameters]
        self._weights.finish(rows)
        known = tuple(row for row in rows if row is not None)
        moments = MomentReading(self._optimizer(), self._parameters, rows)
        told = (self._weights, self._settings, moments, self._found_inf)
        return AppliedPart(known, gradients, was_read, self._seems_same, *told)
