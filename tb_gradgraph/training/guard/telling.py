"""Where what is found in a running training is told."""

from __future__ import annotations

from typing import Protocol


class Telling(Protocol):
    """Tells the user what is wrong with a training, each kind once.

    Attributes:
        wants_steps: Whether it acts at steps of optimizers or forwards of the model.
        raises: Whether an error ends the training.
        wants_warnings: Whether warnings are told too.
        is_waiting: Whether ``deliver`` has something to do.
    """

    wants_steps: bool
    raises: bool
    wants_warnings: bool
    is_waiting: bool

    def tell(self, kind: str, step: int, text: str, source: str = "", nodes: int = 0) -> None:
        """Tell of one thing, at once or with ``deliver``. It may be called on any thread."""

    def expect(self, kind: str, step: int, text: str, source: str = "") -> None:
        """Tell of one thing that the record of its step may show better, with ``settle``."""

    def settle(self) -> None:
        """Tell of what was expected, as far as its record did not. It must be written by now."""

    def close(self) -> None:
        """Tell of what was not delivered, without raising: the training has ended."""

    def deliver(self) -> None:
        """Do what the user wants at a finding. Raises what the user wants to be raised."""
