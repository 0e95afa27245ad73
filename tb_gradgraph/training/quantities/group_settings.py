"""The settings of an optimizer's groups: learning rate, weight decay and momentum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tb_gradgraph.quantities import made_name, made_unique
from tb_gradgraph.training.quantities.late_number import LateNumber, read_known

#: How many groups of an optimizer are recorded; some trainings have one for each parameter.
MOST_GROUPS = 256

_SETTINGS = ("lr", "weight_decay", "momentum")


def prefixes_of(optimizers: Sequence[Any]) -> dict[int, str]:
    """Return what the names of each optimizer's groups begin with, by its ``id``.

    With a single optimizer that is nothing. With several it is the class, as ``Adam/`` or ``Adam#1/``.
    """
    if len(optimizers) < 2:
        return {}
    names = made_unique([made_name(type(optimizer).__name__) for optimizer in optimizers])
    return {id(optimizer): f"{name}/" for optimizer, name in zip(optimizers, names)}


class GroupSettings:
    """The settings of one optimizer's groups when it steps. Tensors are copied without waiting."""

    def __init__(self, optimizer: Any, prefix: str = "") -> None:
        """Read them now. What cannot be read is left out."""
        self._found: dict[str, LateNumber] = {}
        try:
            groups = list(optimizer.param_groups)[:MOST_GROUPS]
            for name, group in zip(_names_of(groups), groups):
                for setting, value in _settings_of(group):
                    self._found[f"{setting}/{prefix}{name}"] = LateNumber(value)
        except Exception:  # an optimizer of another library, with groups of another kind
            return

    def read(self) -> dict[str, float]:
        """Return the numbers by name; waits for copies."""
        return read_known(self._found)


def _names_of(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    given = [group.get("name") for group in groups]
    return made_unique(
        [
            str(index) if name is None or name == "" else made_name(name)
            for index, name in enumerate(given)
        ]
    )


def _settings_of(group: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield the settings that a group has; Adam's first beta is its momentum."""
    for name in _SETTINGS:
        if name in group:
            yield name, group[name]
    betas = group.get("betas")
    if "momentum" not in group and isinstance(betas, (tuple, list)) and betas:
        yield "momentum", betas[0]
