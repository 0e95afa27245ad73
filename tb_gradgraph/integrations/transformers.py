"""For Hugging Face's Trainer: ``Trainer(model, args, callbacks=[GradGraphCallback()], ...)``."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback
from transformers.integrations import TensorBoardCallback

from tb_gradgraph.api import is_off
from tb_gradgraph.autograd import is_module_wrapper, local_variables
from tb_gradgraph.integrations.watching import WatchingCallback


class GradGraphCallback(WatchingCallback, TrainerCallback):
    """Records the gradients of ``train`` into the files of the Trainer's TensorBoardCallback.

    If the Trainer has no such callback (``report_to`` without "tensorboard"), the files go to the
    directory that it would use. Arguments are those of ``tb_gradgraph.watch``; with
    ``on_finding="stop"`` the Trainer stops at the first error that is found in the training. Steps
    are those of the Trainer's own logs, which count from 1, so that the gradients of an update have
    the same step as its loss. The first step and every n-th one are recorded.
    """

    _own: TensorBoardCallback | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Forget an earlier training, in case an error ended it."""
        self._end()

    def on_step_begin(
        self,
        args: Any,
        state: Any,
        control: Any,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        **kwargs: Any,
    ) -> None:
        """Attach at the first step, when all callbacks have begun. Set the step to the Trainer's count."""
        if not state.is_world_process_zero or is_off():
            return
        step = state.global_step + 1  # the number with which the Trainer will log this step
        if self.watch is not None:
            self.watch.step = step
            return
        trainer = _running_trainer()
        outermost = getattr(trainer, "model_wrapped", model)
        self._begin(
            self._writer_of(trainer, args, state, control),
            outermost
            if is_module_wrapper(outermost)
            else model,  # the wrapper of torch.compile is needed
            [optimizer],
            getattr(getattr(trainer, "accelerator", None), "scaler", None),
            step,
            first=1,
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop the Trainer if that is wanted at what was found."""
        if self.is_to_stop:
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Remove all hooks."""
        self._end()

    def _writer_of(self, trainer: Any, args: Any, state: Any, control: Any) -> Any:
        handler = getattr(trainer, "callback_handler", None)
        for callback in getattr(handler, "callbacks", ()):
            if isinstance(callback, TensorBoardCallback) and callback.tb_writer is not None:
                return callback.tb_writer
        self._own = TensorBoardCallback()
        self._own.on_train_begin(args, state, control)
        return self._own.tb_writer

    def _end(self) -> None:
        own, self._own = self._own, None
        try:
            super()._end()
        finally:
            if own is not None and own.tb_writer is not None:
                own.tb_writer.close()


def _running_trainer() -> Any:
    """Return the running Trainer, because callbacks get its parts but not the Trainer itself."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        this = local_variables(frame).get("self")
        if hasattr(this, "callback_handler"):
            return this
        frame = frame.f_back
    return None
