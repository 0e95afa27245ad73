"""Run the statistics of the user's own while one step is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch

from tb_gradgraph.autograd import elements_of, undisturbed
from tb_gradgraph.training.own.own_calls import OwnCalls
from tb_gradgraph.training.own.own_numbers import ChosenOwnNumbers, OwnNumbers, OwnRows


class OwnGradients:
    """Runs statistics on the gradients of one backward.

    Attributes:
        rows: The rows on which any of them is run.
    """

    def __init__(self, calls: OwnCalls, rows: OwnRows, scale: torch.Tensor | None) -> None:
        """Prepare; ``scale`` is a GradScaler's factor, which gradients are divided by."""
        self._rows = {one: rows[one] for one in calls.of("gradient") if rows.get(one)}
        self._numbers = OwnNumbers(calls)
        self._scale = scale
        self.rows: frozenset[int] = frozenset().union(*self._rows.values())

    def see(self, row: int, gradient: torch.Tensor) -> None:
        """Run them on the gradient of ``row``. An error of theirs costs only their numbers."""
        if row not in self.rows:
            return
        try:
            elements = elements_of(gradient)
        except Exception:  # then the gradient itself cannot be read either, which is said
            return
        if elements is None:
            return
        elements = self._unscaled(elements)
        for statistic, rows in self._rows.items():
            if row in rows:
                self._numbers.compute(statistic, row, elements)

    def see_all(self, gradients: Sequence[tuple[int, torch.Tensor]]) -> None:
        """Run them on several gradients, by row."""
        chosen = [(row, gradient) for row, gradient in gradients if row in self.rows]
        if chosen:
            with undisturbed(chosen[0][1].device):
                for row, gradient in chosen:
                    self.see(row, gradient)

    def _unscaled(self, elements: torch.Tensor) -> torch.Tensor:
        if self._scale is None:
            return elements
        is_narrow = elements.is_floating_point() and elements.element_size() < 4
        wide = elements.float() if is_narrow else elements
        is_near = self._scale.device in (wide.device, torch.device("cpu"))
        return wide / (self._scale if is_near else self._scale.to(wide.device))

    def choose(self) -> ChosenOwnNumbers:
        """Return the numbers of the backward that has ended."""
        return self._numbers.choose(((row, (row,)) for row in self.rows), self._rows)


class OwnWeights:
    """Runs statistics on parameters; again only after something has written to one of them."""

    def __init__(self, calls: OwnCalls) -> None:
        self._calls = calls
        self._versions: tuple[tuple[int, int], ...] = ()
        self._numbers = OwnNumbers(calls)

    def choose(
        self, parameters: Sequence[torch.Tensor], row_of: Mapping[int, int], rows: OwnRows
    ) -> ChosenOwnNumbers | None:
        """Return the numbers of parameters, whose rows ``row_of`` gives by ``id``; None if none is run."""
        wanted = {one: rows[one] for one in self._calls.of("weight") if rows.get(one)}
        if not wanted:
            return None
        versions = tuple([(id(parameter), _version(parameter)) for parameter in parameters])
        if versions != self._versions:
            self._numbers, self._versions = OwnNumbers(self._calls), versions
        with undisturbed(parameters[0].device):
            self._read(parameters, row_of, wanted)
        return self._numbers.choose(((of, (row,)) for of, row in row_of.items()), wanted)

    def _read(
        self, parameters: Iterable[torch.Tensor], row_of: Mapping[int, int], wanted: OwnRows
    ) -> None:
        for parameter in parameters:
            of = id(parameter)
            row = row_of.get(of)
            missing = [s for s in wanted if row in wanted[s] and (s, of) not in self._numbers]
            elements = elements_of(parameter) if missing else None
            if elements is not None:
                for statistic in missing:
                    self._numbers.compute(statistic, of, elements)


def _version(parameter: torch.Tensor) -> int:
    return 0 if parameter.is_inference() else parameter._version
