"""The backward passes of a step, and where they end."""

from __future__ import annotations

import dataclasses

from tb_gradgraph.training.quantities.loss_terms import TermNumbers
from tb_gradgraph.training.quantities.noise_scale import MicroBatch
from tb_gradgraph.training.reading.pass_numbers import PassNumbers
from tb_gradgraph.training.step.applied import AppliedPart
from tb_gradgraph.training.step.late_scale import LossScale, scaled


@dataclasses.dataclass(frozen=True, slots=True)
class StepPlace:
    """The tag and step of a step's records, and the facts that all of them share."""

    tag: str
    step: int
    every_n_steps: int
    cost: float


@dataclasses.dataclass(frozen=True, slots=True)
class Pass:
    """One backward pass of the step."""

    numbers: PassNumbers
    number: int
    scale: LossScale
    terms: TermNumbers | None = None  # of its loss; None if that is no sum

    def micro_batch(self) -> MicroBatch:
        """Return it without the scaler's factor; waits for the copy to the host."""
        found = self.numbers
        left = None if found.accumulated is None else scaled(found.accumulated, self.scale)[0]
        of = (found.objective, found.structure.graph.hash)
        return MicroBatch(scaled(found.gradients, self.scale)[0], left, of)


@dataclasses.dataclass(slots=True)
class StepEnd:
    """The gradients after one backward pass, and the optimizers that used them."""

    last: Pass
    scale: LossScale
    applied: list[AppliedPart] = dataclasses.field(default_factory=list)
    skipped: bool = False

    @property
    def parameters(self) -> set[int]:
        """The optimizers that used the gradients, by ``id``."""
        rows = {row for part in self.applied for row in part.rows}
        known = self.last.numbers.structure.parameter_rows
        return {of for of, row in known.items() if row in rows}
