"""The base of the callbacks: it holds the arguments of ``watch``, and at most one watch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from tb_gradgraph.api import watch
from tb_gradgraph.autograd import Selector, warn_quietly
from tb_gradgraph.training import UPDATE_MEMORY, Watch


class WatchingCallback:
    """Holds the arguments of ``watch`` until a trainer begins, and then the watch until the trainer ends.

    Attributes:
        watch: The watch of the training that is running, else None.
        is_to_stop: Whether an error was found that is to stop the training.
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
        values: bool | None = None,
        on_finding: str | Callable[[Any], Any] | None = "warn",
        keep_batch: bool = False,
        strict: bool = False,
        ranks: str | Iterable[int] = "shards",
    ) -> None:
        """Take the arguments of ``tb_gradgraph.watch``; ``on_finding`` may also be ``"stop"``."""
        super().__init__()
        self.watch: Watch | None = None
        self.is_to_stop = False
        self._arguments: dict[str, Any] = {
            "every_n_steps": every_n_steps,
            "level": level,
            "tag": tag,
            "select": select,
            "exclude": exclude,
            "retain": retain,
            "budget": budget,
            "update_memory": update_memory,
            "values": values,
            "on_finding": self._stop_at if on_finding == "stop" else on_finding,
            "keep_batch": keep_batch,
            "strict": strict,
            "ranks": ranks,
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
        self.is_to_stop = False
        self.watch.count_from(first)
        self.watch.step = step

    def _stop_at(self, finding: Any) -> None:
        """Say what was found; if it is an error, ask the trainer to stop."""
        if finding.severity == "error" and not self.is_to_stop:
            self.is_to_stop = True
            text = f"{finding.text} {finding.advice} The training stops."
            where = f"tb_gradgraph, {finding.tag!r}, step {finding.first_step}"
            warn_quietly(f"{where}: {text}")

    def _end(self) -> None:
        current, self.watch = self.watch, None
        if current is not None:
            current.close()
