"""Find what a line of Python adds and subtracts, from its bytecode; nothing is run."""

from __future__ import annotations

import dis
import functools
import itertools
from collections.abc import Callable, Sequence
from types import CodeType

from tb_gradgraph.autograd.user_code.line_values import Instruction, Line, Reading

_JUMPS = frozenset(("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"))
_ENDS = frozenset(("RETURN_VALUE", "YIELD_VALUE"))
_HAS_JUMP = frozenset((*dis.hasjrel, *dis.hasjabs))
#: The instructions that add or subtract.
_MAY_ADD = frozenset(
    dis.opmap[name]
    for name in (
        *("BINARY_OP", "BINARY_ADD", "BINARY_SUBTRACT", "INPLACE_ADD", "INPLACE_SUBTRACT"),
    )
    if name in dis.opmap
)
#: Longer lines are not read; no line that people write has so many instructions.
_MOST = 400


@functools.lru_cache(maxsize=4096)
def readings_of(known: ByIdentity) -> Callable[[int], Reading | None]:
    """Return a cached function from an offset of a code to the reading of the line there, or to ``None``.

    A line with a branch is not read. The result of an unknown instruction is unknown.
    """
    code = known.code
    if not _MAY_ADD.intersection(code.co_code[::2]):
        return _nothing_of_use
    instructions = _instructions(code)
    place = {each.offset: nr for nr, each in enumerate(instructions)}

    @functools.cache
    def read(begin: int) -> Reading | None:
        return _read_line(instructions, place.get(begin, len(instructions)))

    return read


class ByIdentity:
    """A code object that is compared by identity, because comparing two code objects reads all of both."""

    __slots__ = ("code",)

    def __init__(self, code: CodeType) -> None:
        self.code = code

    def __hash__(self) -> int:
        return id(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.code is self.code


def read_line(code: CodeType, begin: int) -> Reading | None:
    """Read the line that begins at offset ``begin`` of ``code``, to its end."""
    return readings_of(ByIdentity(code))(begin)


def _read_line(instructions: Sequence[Instruction], first: int) -> Reading | None:
    line = Line()
    for instruction in itertools.islice(instructions, first, first + _MOST):
        if instruction.opname in _JUMPS:
            return line.reading(instruction.argval)
        if instruction.opcode in _HAS_JUMP or "WITH" in instruction.opname:
            return None
        if line.begun and instruction.starts_line and not line.stack:
            return line.reading(instruction.offset)
        if instruction.opname in _ENDS:
            return line.reading(instruction.offset, line.pop())
        line.step(instruction, instruction.following)
    return None


def _instructions(code: CodeType) -> list[Instruction]:
    lines = {start for start, _ in dis.findlinestarts(code)}
    found = list(dis.get_instructions(code))
    offsets = [each.offset for each in found] + [len(code.co_code)]
    return [
        Instruction(
            *(i.opcode, i.opname, i.arg or 0, i.argval, i.argrepr, i.offset),
            *(following, i.offset in lines),
        )
        for i, following in zip(found, offsets[1:])
    ]


def _nothing_of_use(_begin: int) -> None:
    return None
