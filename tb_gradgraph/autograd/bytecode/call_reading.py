"""Find the arguments of each call, from the bytecode before it; nothing is run."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping

from tb_gradgraph.autograd.bytecode.line_reading import ByIdentity, breaks_off, instructions_of
from tb_gradgraph.autograd.bytecode.line_values import Line
from tb_gradgraph.autograd.bytecode.stack_values import Instruction, Value

#: Instructions that may run code. The reading of a line handles these in another way.
_MAY_RUN_CODE = ("LOAD_ATTR", "LOAD_METHOD", "BINARY_", "INPLACE_")


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """The arguments of a call that can be read when it begins; ``None`` for the others."""

    positional: tuple[Value | None, ...]  # without the receiver of a method
    by_keyword: Mapping[str, Value | None]


@functools.lru_cache(maxsize=4096)
def calls_of(known: ByIdentity) -> Mapping[int, Call]:
    """Return the calls in a code, by the offset of the calling instruction.

    An argument is known under two conditions. The instructions from its load to the call run in
    sequence, and the variable (or its attribute) does not change in between.
    """
    found: dict[int, Call] = {}
    block = _Block()
    for instruction in instructions_of(known):
        if instruction.is_target or breaks_off(instruction):
            block = _Block()
        if not breaks_off(instruction):
            block.step(instruction, instruction.following)
            for value, call in block.take_calls():
                found.update(dict.fromkeys(range(value.begin, value.end, 2), call))
    return found


class _Block(Line):
    """Instructions that run in sequence."""

    def __init__(self) -> None:
        super().__init__()
        self._ran_code = self._ran_before = -1  # offset of the last instruction that may have

    def step(self, instruction: Instruction, following: int) -> None:
        """Apply the effect of an instruction on the stack."""
        self._ran_before = self._ran_code
        super().step(instruction, following)
        if self._moves or instruction.opname.startswith(_MAY_RUN_CODE):
            self._ran_code = instruction.offset
            self._moves.clear()
        if instruction.opname.startswith("STORE"):
            self._stored.clear()
            self.stack = [None] * len(self.stack)  # they may be the former value of the variable

    def take_calls(self) -> Iterator[tuple[Value, Call]]:
        """Yield the call that the last instruction made, if it made one."""
        while self._calls:
            value = self._calls.pop()
            arguments = tuple(map(self._lasting, value.arguments))
            count = len(arguments) - len(value.keywords)
            yield value, Call(arguments[:count], dict(zip(value.keywords, arguments[count:])))

    def _lasting(self, value: Value | None) -> Value | None:
        """Return an argument if it is still the same as when it was loaded."""
        if value is None or value.kind == "variable":
            return value
        if value.kind == "sequence":
            return dataclasses.replace(value, parts=tuple(map(self._lasting, value.parts)))
        is_looked_at = value.kind in ("cell", "attribute")
        return value if is_looked_at and self._ran_before <= value.begin else None
