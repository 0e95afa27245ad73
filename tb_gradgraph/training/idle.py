"""A watch that records nothing."""

from __future__ import annotations

from typing import Any

from tb_gradgraph.errors import CaptureError
from tb_gradgraph.training.quantities.notes import check_notes
from tb_gradgraph.training.watch import Watch


class IdleWatch(Watch):
    """A watch that attaches nothing and records nothing; otherwise it works like any other."""

    def __init__(self, tag: str, every_n_steps: int, why: str) -> None:
        """Prepare; ``repr`` shows ``why`` nothing is recorded."""
        self._name = tag
        self._asked = every_n_steps
        self._why = why
        self._step = 0

    @property
    def tag(self) -> str:
        """The name that the training would be recorded under."""
        return self._name

    @property
    def step(self) -> int:
        """The step that was set; it is not counted."""
        return self._step

    @step.setter
    def step(self, step: int) -> None:
        if not isinstance(step, int) or isinstance(step, bool) or step < 0:
            raise CaptureError(f"watch.step: expected an integer of at least 0, got {step!r}.")
        self._step = step

    def note(self, /, **values: Any) -> None:
        """Check the numbers, and do nothing with them."""
        check_notes(values)

    @property
    def quantities(self) -> dict[str, float]:
        """Nothing."""
        return {}

    def findings(self) -> list[Any]:
        """Return nothing, because nothing is recorded."""
        return []

    def count_from(self, first: int) -> None:
        """Do nothing: no step is recorded."""

    @property
    def every_n_steps(self) -> int:
        """The cadence that the user asked for."""
        return self._asked

    @property
    def cost(self) -> float:
        """Nothing."""
        return 0.0

    @property
    def failure(self) -> None:
        """None, because nothing can fail."""
        return None

    @property
    def closed(self) -> bool:
        """Return True, because nothing is recorded."""
        return True

    def close(self) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""

    def hand_over(self) -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return f"<Watch {self.tag!r}: records nothing, {self._why}>"

    def __exit__(self, *exception: Any) -> None:
        pass
