"""Find what a line of Python adds and subtracts, from its bytecode; nothing is run."""

from __future__ import annotations

import dis
import functools
import itertools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from tb_gradgraph.autograd.bytecode.line_values import Line
from tb_gradgraph.autograd.bytecode.stack_values import Instruction, Reading

_JUMPS = frozenset(("JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"))
_ENDS = frozenset(("RETURN_VALUE", "YIELD_VALUE"))
_HAS_JUMP = frozenset((*dis.hasjrel, *dis.hasjabs))
_OPERATORS: Sequence[tuple[str, str]] = getattr(dis, "_nb_ops", ())
#: The instructions that add or subtract, with the argument that says so from Python 3.11 on.
_MAY_ADD = frozenset(
    (dis.opmap[name], argument)
    for name, argument in (
        *((f"{how}_{name}", 0) for how in ("BINARY", "INPLACE") for name in ("ADD", "SUBTRACT")),
        *(("BINARY_OP", nr) for nr, (_, sign) in enumerate(_OPERATORS) if sign[0] in "+-"),
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
    if not may_add(known):
        return _nothing_of_use
    instructions = instructions_of(known)
    place = {each.offset: nr for nr, each in enumerate(instructions)}

    @functools.cache
    def read(begin: int) -> Reading | None:
        return _read_line(instructions, place.get(begin, len(instructions)))

    return read


@functools.lru_cache(maxsize=4096)
def may_add(known: ByIdentity) -> bool:
    """Return whether a code adds or subtracts anything."""
    instructions = known.code.co_code
    return not _MAY_ADD.isdisjoint(zip(instructions[::2], instructions[1::2]))


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
            return line.reading(instruction.offset, instruction.argval)
        if instruction.opcode in _HAS_JUMP or "WITH" in instruction.opname:
            return None
        if line.begun and instruction.starts_line and not line.stack:
            return line.reading(instruction.offset, instruction.offset)
        if instruction.opname in _ENDS:
            return line.reading(instruction.offset, instruction.offset, line.pop())
        line.step(instruction, instruction.following)
    return None


def breaks_off(instruction: Instruction) -> bool:
    """Return whether the instruction after ``instruction`` may not run next."""
    return (
        instruction.opcode in _HAS_JUMP
        or instruction.opname in _ENDS
        or "WITH" in instruction.opname
    )


@functools.lru_cache(maxsize=64)
def instructions_of(known: ByIdentity) -> list[Instruction]:
    """Return the instructions of a code."""
    code = known.code
    lines = {start for start, _ in dis.findlinestarts(code)}
    found = list(dis.get_instructions(code))
    offsets = [each.offset for each in found] + [len(code.co_code)]
    return [
        Instruction(
            *(i.opcode, i.opname, i.arg or 0, _argument_of(i, code), i.argrepr, i.offset),
            *(following, i.offset in lines, i.is_jump_target),
        )
        for i, following in zip(found, offsets[1:])
    ]


def _argument_of(instruction: dis.Instruction, code: CodeType) -> Any:
    """Return the argument of an instruction. In 3.11 the names of keywords are not looked up."""
    is_names = instruction.opname == "KW_NAMES"
    return code.co_consts[instruction.arg or 0] if is_names else instruction.argval


def _nothing_of_use(_begin: int) -> None:
    return None
