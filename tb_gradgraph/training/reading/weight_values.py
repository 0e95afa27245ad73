"""Read the values of parameters, as the forward used them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from tb_gradgraph.autograd import local_part
from tb_gradgraph.summarize import ChosenStatistics, KeyedBatch


class WeightValues:
    """Statistics of parameters. They are read again only after something has written to one of them."""

    def __init__(self, sample: int) -> None:
        self._sample = sample
        self._versions: tuple[tuple[int, int], ...] = ()
        self._batch: KeyedBatch | None = None

    def choose(
        self, parameters: Sequence[torch.Tensor], row_of: Mapping[int, int]
    ) -> ChosenStatistics:
        """Return the statistics of ``parameters``, which fill the rows that ``row_of`` gives by ``id``."""
        versions = tuple([(id(parameter), parameter._version) for parameter in parameters])
        if self._batch is None or versions != self._versions:
            self._batch, self._versions = KeyedBatch(self._sample), versions
            self._read(self._batch, parameters)
        return self._batch.choose(((of, (row,)) for of, row in row_of.items()))

    @torch.no_grad()
    def _read(self, batch: KeyedBatch, parameters: Sequence[torch.Tensor]) -> None:
        left = batch.add_many_plain(list(map(id, parameters)), list(parameters))
        for parameter in (parameters[place] for place in left):
            try:
                elements = local_part(parameter)
                if elements is not None:
                    batch.add(id(parameter), elements)
            except Exception as error:
                batch.note(id(parameter), error)
