"""One thing in a run that the user should look at, over all of its steps."""

from __future__ import annotations

import dataclasses

from tb_gradgraph.diagnose.kinds import KINDS, Severity


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunFinding:
    """What was found in one training of a run, how severe it is, where and when.

    Attributes:
        run: The run, as TensorBoard names it.
        tag: The training in it.
        kind: The name of one of ``KINDS``.
        severity: "error", "warning" or "note".
        text: What happened, in a sentence or two, with numbers.
        advice: What to try, in a sentence.
        node: The name of the node that it begins at; "": none in particular.
        key: The key of that node, which is the same at all steps; "": none.
        module: The qualified name of the module in which the node is made; "": the model, or none.
        source: The line that made it, "path/file.py:12 in forward"; "": unknown.
        first_step: The first recorded step at which it is true.
        last_step: The last one.
        spans: From which step to which it is true, without an examined step between at which it is
            not: pairs of first and last, at most 100.
        shown_by_steps: Whether the records of its steps show it by themselves, each alone. Otherwise only
            the course of the training does.
        count: At how many of the examined steps it is true.
        examined: How many steps were examined for it.
        measure: What ``numbers`` are: a statistic, or a quantity; "": there are none.
        numbers: The numbers that led to it: pairs of step and value, at most 100.
        nodes: The names of all nodes that it concerns, the first one included.
    """

    run: str = "."
    tag: str = ""
    kind: str
    severity: Severity
    text: str
    advice: str = ""
    node: str = ""
    key: str = ""
    module: str = ""
    source: str = ""
    first_step: int = 0
    last_step: int = 0
    spans: tuple[tuple[int, int], ...] = ()
    shown_by_steps: bool = False
    count: int = 1
    examined: int = 1
    measure: str = ""
    numbers: tuple[tuple[int, float], ...] = ()
    nodes: tuple[str, ...] = ()

    def holds_at(self, step: int) -> bool:
        """Return whether it is true at a step, as far as steps were examined."""
        spans = self.spans or ((self.first_step, self.last_step),)
        return any(first <= step <= last for first, last in spans)

    @property
    def meaning(self) -> str:
        """Say what findings of this kind say about a training."""
        return KINDS[self.kind].meaning
