"""Simulate the instructions of a line: what they leave on Python's stack and in variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tb_gradgraph.autograd.bytecode.stack_values import Instruction, Reading, Value

_Stack = list["Value | None"]
#: The operators of Python 3.10, each of which has its own instruction.
_OLD_OPERATORS = {
    "ADD": "+", "SUBTRACT": "-", "MULTIPLY": "*", "TRUE_DIVIDE": "/", "MATRIX_MULTIPLY": "@",
    "POWER": "**",
}  # fmt: skip
#: Instructions that do not change the stack, and run nothing.
_NOTHING = frozenset(("RESUME", "NOP", "CACHE", "EXTENDED_ARG", "PRECALL", "KW_NAMES"))
#: Instructions that run no code that could change an attribute.
_STILL = _NOTHING | frozenset(
    (
        *("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL"),
        *("LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_SMALL_INT"),
        *("LOAD_DEREF", "STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"),
        *("PUSH_NULL", "POP_TOP", "BINARY_OP", "RETURN_VALUE"),
        *(f"{how}_{name}" for how in ("BINARY", "INPLACE") for name in _OLD_OPERATORS),
    )
)


class Line:
    """The stack and the variables, as far as they are known. Their contents before the line are unknown."""

    def __init__(self) -> None:
        self.stack: _Stack = []
        self.begun = False
        self._stored: dict[str, Value | None] = {}
        self._moves: list[int] = []
        self._reads: list[Value] = []
        self._calls: list[Value] = []
        self._call_begins: int | None = None
        self._keywords: tuple[str, ...] = ()

    def pop(self) -> Value | None:
        """Pop the topmost value."""
        return self.stack.pop() if self.stack else None

    def reading(self, last: int, end: int, returned: Value | None = None) -> Reading | None:
        """Return the reading."""
        self._moves += [each.begin for each in self._reads if each.root.name in self._stored]
        results = tuple((name, value) for name, value in self._stored.items() if value is not None)
        values = [value for _, value in results] + ([returned] if returned is not None else [])
        given = [each for call in self._calls for each in _given(call)]
        leaves = [
            leaf for value in (*values, *(each[2] for each in given)) for leaf in _operands(value)
        ]
        if not leaves:
            return None
        times = {leaf: self._time_to_look(leaf) for leaf in leaves if leaf.kind in _LOOKED_AT}
        early = tuple(leaf for leaf, time in times.items() if time == "early")
        late = frozenset(leaf for leaf, time in times.items() if time == "late")
        calls = tuple(leaf for leaf in leaves if leaf.kind == "call")
        reads = tuple(each for each in self._reads if each.root.name not in self._stored)
        moves = tuple(self._moves)
        return Reading(last, end, results, returned, early, late, calls, tuple(given), moves, reads)

    def _time_to_look(self, leaf: Value) -> str:
        """Say when an operand certainly has the value that the line uses: "early", "late" or "never"."""
        root = leaf.root
        is_stored = root.kind == "variable" and root.name in self._stored
        if leaf.kind == "variable":
            return "early" if is_stored else "late"
        if is_stored or any(move >= leaf.end for move in self._moves):
            return "never" if any(move < root.begin for move in self._moves) else "early"
        return "late"

    def step(self, instruction: Instruction, following: int) -> None:
        """Apply the effect of an instruction on the stack."""
        self.begun = True
        name = instruction.opname
        if name not in _STILL and not self._looks_up(name):
            self._moves.append(instruction.offset)
        if name == "PRECALL":
            self._call_begins = instruction.offset
        elif name == "KW_NAMES":
            self._keywords = instruction.argval
        elif name not in _NOTHING:
            getattr(self, _STEPS.get(name, "_forget"))(instruction, following)

    def _looks_up(self, name: str) -> bool:
        """Return whether an instruction looks up an attribute of a variable."""
        owner = self.stack[-1] if self.stack and name in ("LOAD_ATTR", "LOAD_METHOD") else None
        return owner is not None and owner.root.kind in ("variable", "cell")

    def _forget(self, _instruction: Instruction, _following: int) -> None:
        self.stack.clear()  # values popped from below are unknown

    def _take(self, count: int) -> tuple[Value | None, ...]:
        return tuple(self.pop() for _ in range(count))[::-1]

    def _load_variables(self, instruction: Instruction, following: int) -> None:
        names = instruction.argval
        for name in names if isinstance(names, tuple) else (names,):
            self._load_variable(name, instruction.offset, following)

    def _load_variable(self, name: str, begin: int, end: int) -> None:
        if name in self._stored:
            self.stack.append(self._stored[name])
        else:
            self.stack.append(Value("variable", name, begin, end))

    def _load_cell(self, instruction: Instruction, following: int) -> None:
        self.stack.append(Value("cell", instruction.argval, instruction.offset, following))

    def _load_unknown(self, _instruction: Instruction, _following: int) -> None:
        self.stack.append(None)

    def _load_constant(self, instruction: Instruction, following: int) -> None:
        begin, constant = instruction.offset, instruction.argval
        self.stack.append(Value("constant", "", begin, following, constant=constant))

    def _load_global(self, instruction: Instruction, _following: int) -> None:
        self.stack += [None] * (2 if "NULL" in instruction.argrepr else 1)

    def _load_attribute(self, instruction: Instruction, following: int) -> None:
        owner = self.pop()
        name, begin = instruction.argval, instruction.offset
        if owner is not None and owner.root.kind in ("variable", "cell"):
            self._reads.append(Value("attribute", name, begin, following, (owner,)))
        if instruction.opname == "LOAD_METHOD" or "NULL" in instruction.argrepr:
            self.stack += [Value("method", name, begin, following, (owner,)), None]
        elif owner is not None and owner.kind in ("variable", "cell", "attribute"):
            self.stack.append(Value("attribute", name, begin, following, (owner,)))
        else:
            self.stack.append(None)

    def _store(self, instruction: Instruction, _following: int) -> None:
        self._stored[instruction.argval] = self.pop()

    def _store_and_load(self, instruction: Instruction, following: int) -> None:
        stored, loaded = instruction.argval
        self._stored[stored] = self.pop()
        self._load_variable(loaded, instruction.offset, following)

    def _store_two(self, instruction: Instruction, _following: int) -> None:
        for name in instruction.argval:
            self._stored[name] = self.pop()

    def _drop(self, _instruction: Instruction, _following: int) -> None:
        self.pop()

    def _replace_two(self, _instruction: Instruction, _following: int) -> None:
        self._take(2)
        self.stack.append(None)

    def _replace_one(self, _instruction: Instruction, _following: int) -> None:
        self.pop()
        self.stack.append(None)

    def _replace(self, instruction: Instruction, _following: int) -> None:
        self._take(instruction.arg)
        self.stack.append(None)

    def _build(self, instruction: Instruction, following: int) -> None:
        parts = self._take(instruction.arg)
        self.stack.append(Value("sequence", "", instruction.offset, following, parts))

    def _operate(self, instruction: Instruction, following: int) -> None:
        how, _, old = instruction.opname.partition("_")
        text = _OLD_OPERATORS.get(old, instruction.argrepr)
        in_place = how == "INPLACE" or text.endswith("=")
        operands = self._take(2)
        begin = instruction.offset
        name = text.removesuffix("=")
        if name in ("+", "*") and operands[0] is not None and operands[0].is_number:
            operands = operands[::-1]  # a method of the tensor, which is the first operand
        self.stack.append(Value("operator", name, begin, following, operands, in_place))

    def _call(self, instruction: Instruction, following: int) -> None:
        """Pop the two values below the arguments: a method and its receiver, or a callable and NULL."""
        self._call_of(2, instruction, following)

    def _call_function(self, instruction: Instruction, following: int) -> None:
        self._call_of(1, instruction, following)

    def _call_of(self, below: int, instruction: Instruction, following: int) -> None:
        begin = instruction.offset if self._call_begins is None else self._call_begins
        keywords, self._keywords, self._call_begins = self._keywords, (), None
        if instruction.opname in ("CALL_KW", "CALL_FUNCTION_KW"):
            names = self.pop()
            keywords = () if names is None else names.constant
        given = self._take(instruction.arg)
        called = next((each for each in self._take(below) if each is not None), None)
        if called is not None and called.kind == "method":
            name, parts = called.name, called.parts
        else:
            name, parts = "", (called,)
        call = Value(*("call", name, begin, following, parts), arguments=given, keywords=keywords)
        self._calls.append(call)
        self.stack.append(call)


def _given(call: Value) -> Iterator[tuple[Value, int, Value]]:
    """Yield the arguments of a call that are additions, with their places."""
    positional = call.arguments[: len(call.arguments) - len(call.keywords)]
    for place, argument in enumerate(positional):
        if argument is not None and any(True for _ in _operands(argument)):
            yield call, place, argument


def _operands(value: Value) -> Iterator[Value]:
    """Yield the known operands of the additions that certainly compute ``value``."""
    pending = [value]
    while pending:
        value = pending.pop()
        if value.kind == "operator":
            known = [part for part in value.parts if part is not None]
            pending += known
            if value.name in "+-":
                yield from (part for part in known if part.kind in (*_LOOKED_AT, "call"))
        elif value.kind == "call" and value.name in ONE_INPUT and value.parts[0] is not None:
            pending.append(value.parts[0])


_LOOKED_AT = ("variable", "cell", "attribute")
#: Methods of a tensor that make one node of the same name, whose one input is the tensor.
ONE_INPUT = frozenset(
    ("sum", "mean", "relu", "tanh", "sigmoid", "exp", "log", "sqrt", "sin", "cos", "softmax")
)
#: The method of ``Line`` for each instruction.
_STEPS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST"),
            *("LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"),
        ),
        "_load_variables",
    ),
    "LOAD_DEREF": "_load_cell",
    **dict.fromkeys(("LOAD_CONST", "LOAD_SMALL_INT"), "_load_constant"),
    "PUSH_NULL": "_load_unknown",
    "LOAD_GLOBAL": "_load_global",
    **dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD"), "_load_attribute"),
    "STORE_FAST": "_store",
    "STORE_FAST_LOAD_FAST": "_store_and_load",
    "STORE_FAST_STORE_FAST": "_store_two",
    "POP_TOP": "_drop",
    **dict.fromkeys(("BINARY_SUBSCR", "COMPARE_OP", "IS_OP", "CONTAINS_OP"), "_replace_two"),
    **dict.fromkeys(("UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT"), "_replace_one"),
    **dict.fromkeys(("BUILD_TUPLE", "BUILD_LIST"), "_build"),
    "BUILD_SLICE": "_replace",
    "BINARY_OP": "_operate",
    **dict.fromkeys(
        [f"{how}_{name}" for how in ("BINARY", "INPLACE") for name in _OLD_OPERATORS],
        "_operate",
    ),
    **dict.fromkeys(("CALL", "CALL_KW", "CALL_METHOD"), "_call"),
    **dict.fromkeys(("CALL_FUNCTION", "CALL_FUNCTION_KW"), "_call_function"),
}
