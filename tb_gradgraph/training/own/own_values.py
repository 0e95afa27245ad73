"""Run the statistics of the user's own on what forwards make, before its rows are known."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import torch

from tb_gradgraph.autograd import undisturbed
from tb_gradgraph.training.own.own_calls import OwnCalls
from tb_gradgraph.training.own.own_numbers import ChosenOwnNumbers, OwnNumbers, OwnRows
from tb_gradgraph.training.own.registry import Statistic

#: The places of selected tensors among those that a forward makes, of all recorded steps so far.
Places = dict[Statistic, set[Hashable]]


class OwnValues:
    """Runs statistics on the tensors of one step's forwards.

    Which node a tensor belongs to is known only when its backward begins. So at the first recorded
    step every statistic is run on every tensor, and what it gives for those that are not selected
    is dropped. Later it is run on those that are made at the place of one that was selected before.
    If a forward makes them in another order, a number may be missing once; none is ever wrong.
    """

    def __init__(self, calls: OwnCalls, places: Places) -> None:
        """Prepare; ``places`` belongs to the watch, and is filled."""
        self._statistics = calls.of("value")
        self._places = places
        self._numbers = OwnNumbers(calls)
        self._place_of: dict[Hashable, Hashable] = {}
        self._count = 0
        self._is_running = False  # a statistic, which may call modules itself

    @property
    def is_any(self) -> bool:
        """Return whether any statistic is run."""
        return bool(self._statistics)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._place_of

    def see(self, key: tuple[Hashable, ...], tensor: torch.Tensor) -> None:
        """Run them on a tensor, unless its key was seen. Inputs have keys ``("given", round, place)``."""
        if not self._statistics or self._is_running or key in self._place_of:
            return
        is_given = key[0] == "given"
        place: Hashable = ("given", key[2]) if is_given else self._count
        self._count += not is_given
        self._place_of[key] = place
        places = self._places
        chosen = [s for s in self._statistics if s not in places or place in places[s]]
        if chosen:
            self._is_running = True
            try:
                with undisturbed(tensor.device):
                    for statistic in chosen:
                        self._numbers.compute(statistic, key, tensor)
            finally:
                self._is_running = False

    def clear(self) -> None:
        """Forget everything that was seen in this step."""
        self._numbers.clear()
        self._place_of.clear()
        self._count = 0

    def choose(
        self, keys: Iterable[tuple[Hashable, Sequence[int]]], rows: OwnRows
    ) -> ChosenOwnNumbers | None:
        """Return the numbers behind a backward, and remember their places; None if none is run."""
        if not self._statistics:
            return None
        known = [(key, of_key) for key, of_key in keys if key in self._place_of]
        for statistic in self._statistics:
            wanted = rows.get(statistic, frozenset())
            places = (self._place_of[key] for key, of_key in known if not wanted.isdisjoint(of_key))
            self._places.setdefault(statistic, set()).update(places)
        self._count = 0
        return self._numbers.choose(known, rows)
