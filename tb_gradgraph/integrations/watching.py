"""The base of the callbacks: it holds the arguments of ``watch``, and at most one watch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tb_gradgraph.api import watch
from tb_gradgraph.autograd import Selector
from tb_gradgraph.training import UPDATE_MEMORY, Watch


class WatchingCallback:
    """Holds the arguments of ``watch`` until a trainer begins, and then the watch until the trainer ends.

    Attributes:
        watch: The watch of the training that is running, else None.
    """

    def __init__(
        self,
        every_n_steps: int = 50,
        level: str = "module",
        *,
        tag: str | None = None,
        select: Selector = "*",
        exclude: Selector = (),
        retain: Selector = (),
        budget: float | None = None,
        update_memory: int = UPDATE_MEMORY,
        strict: bool = False,
    ) -> None:
        """Take the arguments of ``tb_gradgraph.watch``."""
        super().__init__()
        self.watch: Watch | None = None
        self._arguments: dict[str, Any] = {
            "every_n_steps": every_n_steps,
            "level": level,
            "tag": tag,
            "select": select,
            "exclude": exclude,
            "retain": retain,
            "budget": budget,
            "update_memory": update_memory,
            "strict": strict,
        }

    def __getstate__(self) -> dict[str, Any]:
        """Copy or pickle without the watch, which belongs to one training loop."""
        return {**vars(self), "watch": None}

    def _begin(
        self,
        writer: Any,
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        grad_scaler: torch.amp.GradScaler | None,
        step: int,
        first: int = 0,
    ) -> None:
        """Attach at ``step`` of a training whose first step is ``first``."""
        self.watch = watch(
            writer, model, optimizer=optimizers, grad_scaler=grad_scaler, **self._arguments
        )
        self.watch.count_from(first)
        self.watch.step = step

    def _end(self) -> None:
        current, self.watch = self.watch, None
        if current is not None:
            current.close()
