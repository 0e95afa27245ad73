"""Find the rows of a model's inputs again, at later passes over the same graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd import GivenTensors, saved_places, saved_tensor


class GivenRows:
    """The rows of one graph's inputs, which are found by place among what modules were given.

    The place of an input may change: a forward may have failed before, or another model was called.
    So if an operation saved the input, it is found by this tensor. Otherwise it is found by its
    place, as long as the same number of modules are called before the backward.

    Attributes:
        wanted: The places at which inputs were found so far; None: any.
    """

    def __init__(self) -> None:
        self.wanted: set[int] | None = set()
        self._saved: dict[int, tuple[int, str]] = {}  # by row: the node's place, and the name there
        self._placed: dict[int, int] = {}  # row of other inputs by place
        self._calls = 0

    def learn(
        self, rows: Mapping[int, int], order: Sequence[AutogradNode], given: GivenTensors
    ) -> None:
        """Note how the inputs of a new graph, whose rows are given by ``id``, are found again."""
        found = {of: at for of, at in given.places().items() if of in rows}
        saved = saved_places(order, found)
        self._saved = {rows[of]: where for of, where in saved.items()}
        self._placed = {at: rows[of] for of, at in found.items() if of not in saved}
        self._calls = given.calls
        self.wanted = set(found.values())

    def find(self, order: Sequence[AutogradNode], given: GivenTensors) -> Iterator[tuple[int, int]]:
        """Yield the place of each input that was seen before this backward, with its row."""
        for row, (at, name) in self._saved.items() if order else ():
            tensor = saved_tensor(order[at], name)
            place = None if tensor is None else given.place_of(tensor)
            if place is not None:
                yield place, row
            self._want(place)
        if order and given.calls == self._calls:
            yield from self._placed.items()

    def _want(self, place: int | None) -> None:
        """Read what is given at a place from the next step on; None: at any place."""
        if place is None:
            self.wanted = None
        elif self.wanted is not None:
            self.wanted.add(place)
