"""Read what optimizers hold, and their settings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from tb_gradgraph.training.quantities.late_number import LateNumber, read_known
from tb_gradgraph.training_facts import (
    MOST_GROUPS,
    MOST_NAMES,
    MOST_NAMES_IN_GROUPS,
    MOST_OPTIMIZERS,
    MOST_SETTINGS,
    GroupFacts,
    Names,
    OptimizerFacts,
)


class OptimizersReading:
    """The groups of optimizers as they are now. Settings on devices arrive later.

    Attributes:
        held: How often each parameter of the model is held, by ``id``.
        every: All tensors that are held, by ``id``.
    """

    def __init__(self, optimizers: Sequence[Any], names: Mapping[int, str]) -> None:
        """Read them; ``names`` has those of the model's parameters by ``id``, or none at all."""
        self.held: dict[int, int] = {}
        self.every: set[int] = set()
        self._names = names
        self._groups_left, self._names_left = MOST_GROUPS, MOST_NAMES_IN_GROUPS
        self._found = [self._read(one) for one in optimizers]

    def _read(self, optimizer: Any) -> tuple[str, list[_Group], int]:
        groups, strangers = [], 0
        for group in optimizer.param_groups:
            ids = [id(parameter) for parameter in group["params"]]
            self.every.update(ids)
            own = [of for of in ids if of in self._names]
            for of in own:
                self.held[of] = self.held.get(of, 0) + 1
            strangers += len(ids) - len(own) if self._names else 0
            if self._groups_left:
                self._groups_left -= 1
                names = Names.of([self._names[of] for of in own], min(MOST_NAMES, self._names_left))
                self._names_left -= len(names.first)
                groups.append(_Group(_numbers_of(group), len(ids), names))
        return type(optimizer).__name__, groups, strangers

    def finish(self) -> tuple[OptimizerFacts, ...]:
        """Return the facts; waits for copies of settings."""
        return tuple(
            OptimizerFacts(name, tuple(group.finish() for group in groups), strangers)
            for name, groups, strangers in self._found[:MOST_OPTIMIZERS]
        )


class _Group:
    def __init__(self, settings: Mapping[str, LateNumber], parameters: int, names: Names) -> None:
        self._settings, self._parameters, self._names = settings, parameters, names

    def finish(self) -> GroupFacts:
        return GroupFacts(read_known(self._settings), self._parameters, self._names)


def _numbers_of(group: Mapping[str, Any]) -> dict[str, LateNumber]:
    numbers = ((name, value) for name, value in _settings_of(group) if _is_number(value))
    return {name: LateNumber(value) for name, value in itertools.islice(numbers, MOST_SETTINGS)}


def _settings_of(group: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a group; of several numbers each one by itself."""
    for name, value in group.items():
        if name == "params" or not isinstance(name, str):
            continue
        if isinstance(value, (tuple, list)):
            yield from ((f"{name}/{at}", one) for at, one in enumerate(value[:MOST_SETTINGS]))
        else:
            yield name, value


def _is_number(value: Any) -> bool:
    is_scalar = isinstance(value, torch.Tensor) and value.numel() == 1
    return is_scalar or isinstance(value, (bool, int, float))
