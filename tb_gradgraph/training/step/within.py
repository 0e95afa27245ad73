"""Optimizers that step while the backward runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from tb_gradgraph.training.reading.batches import add_now, new_batch
from tb_gradgraph.training.reading.numbers import Numbers
from tb_gradgraph.training.reading.structures import Structure
from tb_gradgraph.training.step.applied import AppliedPart, OptimizerReading


class WithinBackward:
    """Optimizers that step while the backward runs, each as soon as its parameters have gradients."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        self._batch = new_batch(structure)
        self._parts: list[AppliedPart] = []

    @torch.no_grad()
    def read(self, parameters: Sequence[torch.Tensor]) -> None:
        """Read the gradients that an optimizer is about to use."""
        for parameter in parameters:
            row = self._structure.parameter_rows.get(id(parameter))
            if row is not None and parameter.grad is not None:
                add_now(self._batch, row, parameter.grad, self._structure.whole_rows)

    def add(self, reading: OptimizerReading) -> None:
        """Note an optimizer that has stepped."""
        self._parts.append(reading.finish_within(self._structure))

    def finish(self) -> list[AppliedPart]:
        """Return the parts of all optimizers."""
        numbers = Numbers(self._batch.reduce())
        return [dataclasses.replace(part, gradients=numbers) for part in self._parts]
