"""Notice parameters that no gradient arrives at."""

from __future__ import annotations

from tb_gradgraph.training.guard.broken import listed
from tb_gradgraph.training.guard.telling import Telling
from tb_gradgraph.training.step.setting import Setting

#: A parameter without a gradient in so many recorded steps never gets one.
_STEPS_WITHOUT = 3


class MissingGradients:
    """Counts the recorded steps in which a parameter has no gradient."""

    def __init__(self, setting: Setting, telling: Telling) -> None:
        self._setting = setting
        self._telling = telling
        self._without: dict[int, int] = {}  # recorded steps without a gradient, by ``id``
        self._last = -1  # the last step that was counted

    def look(self, step: int) -> None:
        """Count a step before its optimizer steps; the first call of a step counts."""
        if step == self._last:
            return
        self._last = step
        known, missing = self._setting.parameters.known, []
        for parameter in self._setting.parameters.tensors:
            if parameter.requires_grad and parameter.grad is None:
                count = self._without[id(parameter)] = self._without.get(id(parameter), 0) + 1
                if count == _STEPS_WITHOUT and id(parameter) in known:
                    missing.append(known[id(parameter)].names[0])
            else:
                self._without[id(parameter)] = _STEPS_WITHOUT  # it had one
        if missing:
            text = f"In {_STEPS_WITHOUT} recorded steps no gradient arrived at {listed(missing)}."
            self._telling.tell("no_gradient", step, text, nodes=len(missing))
