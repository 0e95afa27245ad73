"""For Lightning: ``Trainer(callbacks=[GradGraphCallback()], logger=TensorBoardLogger("logs"))``."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import torch

from tb_gradgraph.api import is_off
from tb_gradgraph.errors import WriterError
from tb_gradgraph.integrations.watching import WatchingCallback

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _callbacks() -> tuple[type, ...]:
    """Return the Callback class of each package in use, else of the first one installed."""
    used = [module for name in _PACKAGES if (module := sys.modules.get(name)) is not None]
    if not used:
        found = [name for name in _PACKAGES if _is_installed(name)]
        used = [importlib.import_module(name) for name in found[:1]]
    if not used:
        raise ModuleNotFoundError(
            "tb_gradgraph.integrations.lightning: expected lightning or pytorch_lightning to be "
            "installed, found neither. Install one: pip install lightning"
        )
    return tuple(module.Callback for module in used)


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name.partition(".")[0]) is not None


class GradGraphCallback(WatchingCallback, *_callbacks()):  # type: ignore[misc]  # known at run time
    """Records the gradients of ``fit`` through the Trainer's TensorBoardLogger.

    Arguments are those of ``tb_gradgraph.watch``; with ``on_finding="stop"`` the Trainer stops at the
    first error that is found in the training. Steps are the Trainer's ``global_step``, which
    counts the steps of each optimizer. With several optimizers, a step is one step of all of them,
    and counting begins at the number of batches trained before.
    """

    def setup(self, trainer: Any, pl_module: torch.nn.Module, stage: str) -> None:
        """Raise WriterError now if there is no TensorBoardLogger."""
        if stage == "fit" and not trainer.fast_dev_run and not is_off():
            _logger_of(trainer)

    def on_train_start(self, trainer: Any, pl_module: torch.nn.Module) -> None:
        """Attach. Checkpoints have been restored at this point."""
        if not trainer.is_global_zero or trainer.fast_dev_run or is_off():
            return  # in a fast_dev_run, a Trainer replaces its loggers
        writer = _logger_of(trainer).experiment
        writer._get_file_writer()  # opens it again if an earlier stage of the Trainer closed it
        scaler = getattr(trainer.precision_plugin, "scaler", None)
        step = trainer.global_step
        if len(trainer.optimizers) > 1:
            step = trainer.fit_loop.epoch_loop.total_batch_idx + 1
        self._begin(writer, pl_module, trainer.optimizers, scaler, step)

    def on_train_batch_start(
        self, trainer: Any, pl_module: torch.nn.Module, batch: Any, batch_idx: int
    ) -> None:
        """Set the step to the Trainer's count."""
        if self.watch is not None and len(trainer.optimizers) == 1:
            self.watch.step = trainer.global_step

    def on_train_batch_end(self, trainer: Any, *_: Any, **__: Any) -> None:
        """Stop the Trainer if that is wanted at what was found."""
        if self.is_to_stop:
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: torch.nn.Module) -> None:
        """Remove all hooks."""
        self._end()

    def on_exception(
        self, trainer: Any, pl_module: torch.nn.Module, exception: BaseException
    ) -> None:
        """Remove all hooks, and write what was recorded."""
        self._end()

    def teardown(self, trainer: Any, pl_module: torch.nn.Module, stage: str) -> None:
        """Remove all hooks if a tuner has ended ``fit`` early."""
        self._end()


def _logger_of(trainer: Any) -> Any:
    for logger in trainer.loggers:
        if any(kind.__name__ == "TensorBoardLogger" for kind in type(logger).__mro__):
            return logger
    found = ", ".join(type(logger).__name__ for logger in trainer.loggers) or "none"
    raise WriterError(
        f"GradGraphCallback: expected a Trainer with a TensorBoardLogger, got loggers: {found}. "
        'Give it one: Trainer(logger=TensorBoardLogger("logs")).'
    )
