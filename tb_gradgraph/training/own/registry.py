"""The statistics that the user has added."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from tb_gradgraph.autograd import Selector, check_selector
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.own_statistics import (
    MOST_LETTERS,
    OF,
    Of,
    OwnMeasure,
    Worse,
    may_be_statistic,
)
from tb_gradgraph.statistics import STATISTICS

_WHERE = "statistic()"
_registered: dict[str, Statistic] = {}


class Statistic:
    """A function of a tensor that recorded steps run. It can still be called as before."""

    def __init__(
        self, function: Callable[..., Any], name: str, select: Selector, measure: OwnMeasure
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.select = select
        self.measure = measure

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Statistic {self.name!r} of the {self.measure.of}>"

    @property
    def is_registered(self) -> bool:
        """Return whether recorded steps run it."""
        return _registered.get(self.name) is self

    def remove(self) -> None:
        """Run it no longer, also where it is being recorded. A second call does nothing."""
        if self.is_registered:
            del _registered[self.name]


def registered() -> tuple[Statistic, ...]:
    """Return all statistics of the user's own, in the order in which they were added."""
    return tuple(_registered.values())


def statistic(
    name: str,
    of: Of = "gradient",
    select: Selector = "*",
    unit: str = "",
    worse: Worse | None = None,
) -> Callable[[Callable[..., Any]], Statistic]:
    """Add a statistic of your own: a decorator of a function from a tensor to a number.

    Recorded steps of every ``watch`` that begins afterwards run it, and so do ``capture`` and
    ``add_grad_graph``. Its numbers are stored, shown, compared and exported like the built-in
    statistics. The function gets a plain tensor without gradient, under ``no_grad``, and must not
    change it. It returns a number, a tensor of one element, None (no number here), or a dict of at
    most 16 of these, by name; the numbers of a dict are called ``name/key``. If it raises, or
    returns anything else, that number is missing, and one warning says so. The training is not
    affected. ``remove()`` of the decorated function ends it.

    Args:
        name: Letters, digits, ``_``, ``.`` and ``-``, at most 80, beginning with a letter or ``_``.
        of: ``"gradient"``: the gradient, without a GradScaler's factor. ``"value"``: what the forward
            made, at level ``"module"`` or ``"op"``. ``"weight"``: the parameter, before the
            backward. None of them depends on ``values=``.
        select: Of which tensors, in the form of the ``select`` of ``watch``. It chooses among the
            tensors that ``watch`` reads.
        unit: The unit of the numbers, for people.
        worse: Which numbers are worse: ``"higher"``, ``"lower"``, or None.

    Raises:
        CaptureError: An argument is invalid, or there is already a statistic of that name.

    Example:
        >>> import tb_gradgraph
        >>> @tb_gradgraph.statistic("largest_row", of="weight", select="*.weight")
        ... def largest_row(weight):
        ...     return weight.flatten(1).norm(dim=1).max()
        >>> largest_row.remove()
    """
    _check_name(name)
    if of not in OF:
        raise CaptureError(f"{_WHERE}: expected of to be one of {OF}, got {of!r}.")
    if worse not in ("higher", "lower", None):
        expected = "'higher', 'lower' or None"
        raise CaptureError(f"{_WHERE}: expected worse to be {expected}, got {worse!r}.")
    if not isinstance(unit, str) or len(unit) > MOST_LETTERS:
        raise CaptureError(
            f"{_WHERE}: expected unit to be a text of at most {MOST_LETTERS} letters, got {unit!r}."
        )
    check_selector(select, _WHERE)

    def add(function: Callable[..., Any]) -> Statistic:
        if not callable(function):
            kind = type(function).__name__
            raise CaptureError(f"{_WHERE}: expected a function to decorate, got {kind}.")
        _check_free(name)
        measure = OwnMeasure(of, unit, worse or "")
        return _registered.setdefault(name, Statistic(function, name, select, measure))

    return add


def _check_name(name: Any) -> None:
    if not may_be_statistic(name):
        got = f"the function {name.__name__}" if hasattr(name, "__name__") else repr(name)[:90]
        raise CaptureError(
            f"{_WHERE}: expected a name of at most {MOST_LETTERS} letters, digits, '_', '.' and '-', "
            f'got {got}. Write @tb_gradgraph.statistic("my_statistic").'
        )
    _check_free(cast(str, name))


def _check_free(name: str) -> None:
    if name in STATISTICS or name == "histogram":
        raise CaptureError(
            f"{_WHERE}: expected a name of your own, got {name!r}, which is built in."
        )
    if name in _registered:
        raise CaptureError(
            f"{_WHERE}: expected each name once, got {name!r} twice. Call remove() of the first one, "
            "or choose another name."
        )
