"""Find parameters that are equal although they are not the same."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Iterator, Sequence

import torch

from tb_gradgraph.autograd import functions_not_overridden, modes_paused
from tb_gradgraph.memory import has_memory
from tb_gradgraph.summarize import Transfer, in_memory_order
from tb_gradgraph.training_facts import MOST_SETS, Names

#: How many elements of each parameter are compared first, and on a device alone.
_SAMPLE = 64
#: On the CPU, all elements are compared of parameters that have so many together.
_MOST_ELEMENTS = 2**26
_MOST_IN_SET = 16
_PLAIN = (torch.Tensor, torch.nn.Parameter)


class EqualParameters:
    """Finds sets of parameters of one shape that are equal and not constant.

    On the CPU all elements are compared, at once. On another device a sample of each, 64 elements
    evenly spread, is copied without waiting. No random numbers are used, and nothing is written.
    """

    def __init__(self, parameters: Sequence[torch.Tensor], names: Sequence[str]) -> None:
        """Begin; parameters without equals of their shape, type and device are not looked at."""
        self._names = names
        self._found: list[list[int]] = []
        self._sampled: list[_Sampled] = []  # on devices
        with _unseen():
            for places in _of_one_kind(parameters):
                first = parameters[places[0]]
                sampled = _Sampled(places, first, [_sample(parameters[at]) for at in places])
                if first.device.type != "cpu":
                    self._sampled.append(sampled)
                    continue
                for some in sampled.alike():
                    self._found += _equal(some, parameters)

    def finish(self) -> tuple[Names, ...]:
        """Return the names of each set; waits for copies."""
        found = list(self._found)
        for sampled in self._sampled:
            found += sampled.alike()
        found.sort()
        return tuple(
            Names.of((self._names[place] for place in some), _MOST_IN_SET)
            for some in found[:MOST_SETS]
        )


class _Sampled:
    """Samples of parameters of one kind, on their way to the host."""

    def __init__(
        self, places: Sequence[int], first: torch.Tensor, samples: Sequence[torch.Tensor]
    ) -> None:
        self._places = places
        self._itemsize = first.element_size()
        self._transfer = Transfer(first.device, samples)

    def alike(self) -> list[list[int]]:
        """Return sets of places whose samples are equal, and not constant; waits for the copies."""
        alike: dict[bytes, list[int]] = {}
        for place, sample in zip(self._places, self._transfer.wait()):
            elements = sample.reshape(-1, self._itemsize)
            if (elements != elements[0]).any():
                alike.setdefault(sample.tobytes(), []).append(place)
        return [some for some in alike.values() if len(some) > 1]


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    with torch.no_grad(), functions_not_overridden(), modes_paused():
        yield


def _of_one_kind(parameters: Sequence[torch.Tensor]) -> list[list[int]]:
    """Return the places of parameters that could be equal, by shape, type and device."""
    kinds: dict[Hashable, list[int]] = {}
    for place, parameter in enumerate(parameters):
        is_plain = type(parameter) in _PLAIN and parameter.layout == torch.strided
        if is_plain and parameter.numel() > 1 and has_memory(parameter):
            kind = (parameter.shape, parameter.stride(), parameter.dtype, parameter.device)
            kinds.setdefault(kind, []).append(place)
    return [places for places in kinds.values() if len(places) > 1]


def _sample(parameter: torch.Tensor) -> torch.Tensor:
    """Return a copy of some elements of a parameter, as bytes: one row for each."""
    flat = in_memory_order(parameter.detach())
    step = max(1, -(-flat.numel() // _SAMPLE))
    return flat[::step].clone().view(torch.uint8)


def _equal(places: Sequence[int], parameters: Sequence[torch.Tensor]) -> list[list[int]]:
    """Part places whose samples are equal into sets whose tensors are; small tensors are samples."""
    if len(places) * parameters[places[0]].numel() > _MOST_ELEMENTS:
        return [list(places)]
    sets: list[list[int]] = []
    for place in places:
        same = (one for one in sets if torch.equal(parameters[one[0]], parameters[place]))
        found = next(same, None)
        if found is None:
            sets.append([place])
        else:
            found.append(place)
    return [some for some in sets if len(some) > 1]
