"""What calls are given, read from bytecode, is what Python gives them."""

# ruff: noqa: E702  how lines are written is what is tested

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tb_gradgraph.autograd.bytecode.call_reading import calls_of
from tb_gradgraph.autograd.bytecode.line_reading import ByIdentity, may_add
from tb_gradgraph.autograd.bytecode.stack_values import Value


class Owner:
    """Has attributes, and calls that tell what they got."""

    row, column = "its row", "its column"
    other = row

    def swap(self) -> str:
        self.row, self.column = self.column, self.row
        return "swapped"


def given(value: Value | None, variables: Mapping[str, Any]) -> Any:
    """Look an argument up as it would be: a variable, an attribute of one, or a list of them."""
    if value is None:
        return None
    if value.kind == "sequence":
        return [given(part, variables) for part in value.parts]
    if value.kind == "attribute":
        return getattr(given(value.parts[0], variables), value.name)
    return variables[value.name]


def listens(*_arguments: Any, **_keywords: Any) -> str:
    """Note what the caller's line is known to give, and what it gives."""
    frame = sys._getframe(1)
    call = calls_of(ByIdentity(frame.f_code))[frame.f_lasti]
    variables = frame.f_locals
    told = [given(value, variables) for value in call.positional]
    named = {name: given(value, variables) for name, value in call.by_keyword.items()}
    TOLD.append((told, named, list(_arguments), _keywords))
    return "a result"


TOLD: list[tuple[list[Any], dict[str, Any], list[Any], dict[str, Any]]] = []


def plain(a, m):
    listens(a, m.row, 3, key=a, more=m.column)


def by_several_lines(a, m):
    b = a
    listens(
        b,
        m.row,
        key=a,
    )


def in_lists(a, m):
    b = a
    listens([a, b], (b, m), m.row)


def of_results(a, m):
    listens(listens(a), a, len(a))


def as_method(a, m):
    m.listens = listens
    b = m
    b.listens(a, b)


def with_branch(a, m):
    listens(m, a if m else m, a)


def after_a_branch(a, m):
    if a:
        b = m
    else:
        b = a
    listens(b, a)


def rebound(a, m):
    listens(a, a := "another", a)


def swapped(a, m):
    listens(m.row, m.swap(), m.row)


def in_a_loop(a, m):
    for b in (a, m):
        listens(b, a)


def in_a_handler(a, m):
    try:
        listens(a, a.missing)
    except AttributeError as error:
        listens(a, m, error)


def in_a_comprehension(a, m):
    return [listens(b, b) for b in (a, m)]


def of_a_cell(a, m):
    def inner():
        nonlocal a
        listens(a, change())

    def change():
        nonlocal a
        a = "changed"

    inner()


def starred(a, m):
    listens(*(a, m))


#: What is known of the arguments of each call, whatever the Python: None may be unknown.
KNOWN = {
    plain: [(["an a", None, None], {"key": "an a", "more": "its column"})],
    by_several_lines: [(["an a", "its row"], {"key": "an a"})],
    in_lists: [([["an a", "an a"], ["an a", "m"], "its row"], {})],
    of_results: [(["an a"], {}), ([None, "an a", None], {})],
    as_method: [(["an a", "m"], {})],
    with_branch: [([None, None, "an a"], {})],
    after_a_branch: [(["m", "an a"], {})],
    rebound: [([None, None, None], {})],
    swapped: [([None, None, "its column"], {})],
    in_a_loop: [(["an a", "an a"], {}), (["m", "an a"], {})],
    in_a_handler: [(["an a", "m", "error"], {})],
    in_a_comprehension: [(["an a", "an a"], {}), (["m", "m"], {})],
    of_a_cell: [([None, None], {})],
}


def _agree(wanted: Any, got: Any) -> bool:
    """Return whether all that is known of one, piece by piece, is so in the other."""
    if isinstance(wanted, (list, tuple)):
        return len(wanted) == len(got) and all(map(_agree, wanted, got))
    if isinstance(wanted, dict):
        return wanted.keys() == got.keys() and all(_agree(wanted[key], got[key]) for key in wanted)
    return wanted is None or wanted == got


def _spelled(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_spelled(part) for part in value]
    if isinstance(value, dict):
        return {key: _spelled(part) for key, part in value.items()}
    return "m" if isinstance(value, Owner) else "error" if isinstance(value, Exception) else value


@pytest.mark.parametrize("program", KNOWN, ids=lambda program: program.__name__)
def test_what_is_told_is_what_is_given(program: Callable[..., Any]) -> None:
    TOLD.clear()
    program("an a", Owner())
    told = [_spelled([each[0], each[1]]) for each in TOLD]
    got = [_spelled([each[2], each[3]]) for each in TOLD]
    assert _agree(told, got)
    assert _agree([list(each) for each in KNOWN[program]], told)


def test_a_call_with_a_star_is_not_read() -> None:
    with pytest.raises(KeyError):
        starred("an a", Owner())


def test_a_code_that_only_multiplies_adds_nothing() -> None:
    codes = [each.__code__ for each in (lambda a, b: a * b, lambda a, b: a - b, _adds_in_place)]
    assert [may_add(ByIdentity(code)) for code in codes] == [False, True, True]


def _adds_in_place(a: Any, b: Any) -> None:
    a += b
