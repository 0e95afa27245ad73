"""Add the tensors of a training step to the batches that reduce them."""

from __future__ import annotations

from collections.abc import Sequence, Set

import torch

from tb_gradgraph.autograd import elements_of, is_distributed
from tb_gradgraph.statistics import RETAIN_LIMIT
from tb_gradgraph.summarize import StatisticsBatch
from tb_gradgraph.training.reading.numbers import Numbers
from tb_gradgraph.training.reading.structures import Structure

#: How many elements, over all tensors, go into the histograms of one table.
SAMPLE_BUDGET = 2**18


def new_batch(structure: Structure) -> StatisticsBatch:
    """Make a batch for the rows of ``structure``."""
    return StatisticsBatch(structure.graph.row_count, SAMPLE_BUDGET, structure.whole_rows)


def add_all(
    batch: StatisticsBatch,
    rows: Sequence[int],
    tensors: Sequence[torch.Tensor],
    whole: Set[int],
) -> None:
    """Add tensors that stay unchanged until the batch is reduced. Rows of ``whole`` are kept whole."""
    plain_rows, plain = [], []
    for place in batch.add_plain(rows, tensors):
        row, tensor = rows[place], tensors[place]
        try:
            if row in whole or type(tensor) is not torch.Tensor or tensor.layout != torch.strided:
                add_now(batch, row, tensor, whole)
            else:
                plain_rows.append(row)
                plain.append(tensor)
        except Exception as error:  # it costs only this row
            batch.unread.note(row, error)
    if plain:
        batch.add_many(plain_rows, plain)


def add_now(batch: StatisticsBatch, row: int, tensor: torch.Tensor, whole: Set[int]) -> None:
    """Add one tensor, which may change afterwards."""
    elements = elements_of(tensor)
    if elements is not None:
        keeps = row in whole and elements.numel() <= RETAIN_LIMIT and not is_distributed(tensor)
        batch.add(row, elements, keeps)


def read_grads(
    structure: Structure, parameters: Sequence[torch.Tensor], scale: torch.Tensor | None
) -> Numbers:
    """Reduce each parameter's present ``.grad``, divided by ``scale``."""
    batch = new_batch(structure)
    rows, grads = [], []
    for parameter in parameters:
        row = structure.parameter_rows.get(id(parameter))
        if row is not None and parameter.grad is not None:
            rows.append(row)
            grads.append(parameter.grad)
    add_all(batch, rows, grads, structure.whole_rows)
    return Numbers(batch.reduce(scale))
