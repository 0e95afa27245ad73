"""The values that instructions leave on Python's stack, and the reading of a line."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, and the offset of the next one."""

    opcode: int
    opname: str
    arg: int
    argval: Any
    argrepr: str
    offset: int
    following: int
    starts_line: bool
    is_target: bool  # of a jump or an exception


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value that an instruction leaves on the stack."""

    kind: Literal[
        "variable", "cell", "attribute", "operator", "method", "call", "constant", "sequence"
    ]
    # The name of the variable, attribute or method. Of an operator its symbol, without "=" if it
    # works in place. Of a call the name of the method, or "" if it calls the value in ``parts``.
    name: str
    begin: int  # offset of the instruction
    end: int  # offset of the next instruction
    # Owner of an attribute, operands, receiver of a method, callee, or elements of a list.
    parts: tuple[Value | None, ...] = ()
    in_place: bool = False
    arguments: tuple[Value | None, ...] = ()  # of a call, those by keyword last
    keywords: tuple[str, ...] = ()
    constant: Any = None

    @property
    def root(self) -> Value:
        """The variable from which an attribute is reached; the value itself if it is no attribute."""
        owner = self.parts[0] if self.kind == "attribute" else None
        return self if owner is None else owner.root

    @property
    def is_number(self) -> bool:
        """Return whether it is a number literal."""
        return self.kind == "constant" and type(self.constant) in (int, float, bool, complex)


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """What certainly happens in a line, if Python continues at ``end``."""

    last: int  # offset after its instructions, or of a jump or return that ends it
    end: int  # offset of the next line, of a jump's target, or of the return itself
    results: tuple[tuple[str, Value], ...]  # by the variable that holds them at the end
    returned: Value | None
    early: tuple[Value, ...]  # operands to look at when the line begins
    late: frozenset[Value]  # operands to look at when the line ends
    calls: tuple[Value, ...]  # operands that are results of calls
    given: tuple[tuple[Value, int, Value], ...]  # calls, with the place of an argument that adds
    moves: tuple[int, ...]  # offsets of instructions that may run any code, if
    reads: tuple[Value, ...]  # looking up these attributes runs no code
