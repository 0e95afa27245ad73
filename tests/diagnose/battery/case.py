"""One training of the battery: what it does, and what should be found in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

#: ``watch(model, optimizer=..., ...)`` begins to record, with every step, level "op" and values
#: unless the case says otherwise. It returns the watch.
Watch = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """A short training: at most a few seconds on one core, with its own seed.

    Attributes:
        name: Unique in the battery, such as "gpt: log of zero in the loss".
        train: Runs the training. It calls ``watch`` once its model and optimizer are there. It may
            return a number for each step that falls if the training is healthy, such as the loss.
        kinds: The kinds of finding that are right, any of them; none: the training is healthy.
        nodes: Patterns (``fnmatch``) for the finding's node, any of them; none: it has no one node.
        step: The step at which the fault begins; None: at no particular step.
        family: The net, such as "mlp", "conv", "transformer", "recurrent".
    """

    name: str
    train: Callable[[Watch], Sequence[float] | None]
    kinds: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    step: int | None = None
    family: str = ""

    @property
    def is_healthy(self) -> bool:
        """Return whether nothing is wrong with the training."""
        return not self.kinds

    @property
    def slug(self) -> str:
        """Return the name as that of a directory."""
        words = "".join(letter if letter.isalnum() else " " for letter in self.name).split()
        return "-".join(words)
