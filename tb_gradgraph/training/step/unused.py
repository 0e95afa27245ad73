"""Track passes whose gradients no optimizer of the watch has used yet."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import torch

from tb_gradgraph.autograd import elements_of
from tb_gradgraph.memory import has_memory
from tb_gradgraph.summarize import Transfer
from tb_gradgraph.training.reading.parameter_rows import GradState, grad_states
from tb_gradgraph.training.reading.pass_numbers import PassNumbers


@dataclasses.dataclass(frozen=True, slots=True)
class Cleared:
    """Passes whose gradients were removed from ``.grad`` before an optimizer used them.

    Attributes:
        passes: Their numbers.
        is_lent: Whether an optimizer outside this watch had stepped with them. Then the passes were
            its own, and only flowed through our parameters.
        is_so: Whether they were really cleared. If gradients were set to zero, their elements
            decide.
    """

    passes: range
    is_lent: bool
    is_so: Flag


class UnusedPasses:
    """The unused passes of a step. It is called for each pass and each optimizer step."""

    def __init__(self) -> None:
        """Begin with none."""
        self.first = 0  # the number of the first unused pass
        self._count = 0
        self._lent = 0  # an optimizer outside used the passes before this number
        self._leaves: set[int] | None = set()  # those that they reached, by ``id``; None: unknown
        self._left: Mapping[int, GradState] = {}

    def add(self, leaves: Sequence[int], numbers: PassNumbers) -> None:
        """Note a pass, and the leaves that it reached, by ``id`` (none: unknown)."""
        self._count += 1
        if numbers.accumulated is not None:
            self._left = numbers.state_of
        if self._leaves is not None and leaves:
            self._leaves.update(leaves)
        elif not leaves:
            self._leaves = None

    def use(self) -> None:
        """Note that an optimizer of this watch has used all passes."""
        self.first = self._count
        self._leaves = set()

    def lend(self, parameters: Iterable[torch.Tensor]) -> None:
        """Note that an optimizer has stepped whose ``parameters`` include none of ours."""
        leaves = self._leaves
        if leaves is None or any(id(parameter) in leaves for parameter in parameters):
            self._lent = self._count

    def take_lent(self) -> list[Cleared]:
        """Return the passes that only an optimizer outside has used. They no longer count as unused."""
        lent = range(self.first, self._lent)
        self.first = max(self.first, self._lent)
        return [Cleared(lent, True, Flag(True))] if lent else []

    def take_cleared(self, parameters: Sequence[torch.Tensor]) -> list[Cleared]:
        """Return the passes whose gradients are gone. They no longer count as unused."""
        if self.first == self._count:
            return []
        is_so = _are_cleared(parameters, self._left)
        if is_so is None:
            return []
        lent = min(max(self._lent, self.first), self._count)
        parts = ((range(self.first, lent), True), (range(lent, self._count), False))
        self.use()
        return [Cleared(passes, is_lent, is_so) for passes, is_lent in parts if passes]


@torch.no_grad()
def _are_cleared(parameters: Sequence[torch.Tensor], left: Mapping[int, GradState]) -> Flag | None:
    """Return whether every gradient that passes left is gone or zero; None if certainly not."""
    changed = []
    had = False
    for parameter, now in zip(parameters, grad_states(parameters)):
        before = left.get(id(parameter))
        if before is None:
            continue
        had = True
        if now is None:
            continue
        if now[0] != before[0] or now == before:
            return None  # another tensor, put there by the user, or untouched
        if parameter.grad is not None:
            changed.append(parameter.grad)
    if not had:
        return None
    read = [elements for elements in map(elements_of, changed) if elements is not None]
    return Flag(_all_zero(read)) if read else Flag(not changed)


def _all_zero(gradients: Sequence[torch.Tensor]) -> torch.Tensor:
    parts = []
    for gradient in gradients:
        dense = gradient._values() if gradient.layout == torch.sparse_coo else gradient
        parts.append(dense.ne(0).any())
    return torch.stack([part.to(parts[0].device) for part in parts]).any().logical_not()


class Flag:
    """A boolean: a number on a device that is true if it is not 0, or a known value."""

    def __init__(self, number: torch.Tensor | bool | None) -> None:
        """Begin the copy to the host."""
        self._transfer = None
        self._read = False
        if isinstance(number, torch.Tensor) and has_memory(number):
            self._transfer = Transfer(number.device, [number.detach().clone()])
        elif isinstance(number, bool):
            self._read = number

    @property
    def is_sure(self) -> bool:
        """Return whether it is known to be true."""
        return self._transfer is None and self._read

    def read(self) -> bool:
        """Return the value; waits for the copy."""
        if self._transfer is not None:
            self._read = bool(self._transfer.wait()[0][0])
            self._transfer = None
        return self._read
