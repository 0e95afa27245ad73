"""Check arguments: wrong calls get an error that says what to write instead."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch

from tb_gradgraph.errors import CaptureError, WriterError

P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def names_mistakes(
    name: str, most: int, first_named: str = ""
) -> Callable[[Callable[P, ResultT]], Callable[P, ResultT]]:
    """Decorate a function of a writer and a model: a missing writer or name gets a clear error.

    Args:
        name: The function's name.
        most: How many arguments it takes without their names.
        first_named: The argument that users often pass without its name by mistake.
    """

    def decorate(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> ResultT:
            if args and isinstance(args[0], (torch.nn.Module, torch.Tensor)):
                raise _no_writer(name, args[0])
            if len(args) > most:
                raise _not_named(name, args[most], most, first_named)
            return function(*args, **kwargs)

        return checked

    return decorate


def names_inputs(name: str, most: int) -> Callable[[Callable[P, ResultT]], Callable[P, ResultT]]:
    """Decorate a function that calls a model: an unknown argument gets an error that shows ``kwargs=``.

    Args:
        name: The function's name.
        most: How many arguments it takes without their names.
    """

    def decorate(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
        own = inspect.signature(function).parameters

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> ResultT:
            unknown = next((each for each in kwargs if each not in own), None)
            if unknown is not None:
                raise CaptureError(
                    f"{name}(): expected one of its own arguments, got {unknown}=. Keyword arguments of "
                    f"the model go in a dict: kwargs={{{unknown!r}: ...}}."
                )
            if len(args) > most:
                raise CaptureError(
                    f"{name}(): expected at most {most} arguments without a name, got "
                    f"{type(args[most]).__name__} as one more. Several arguments of the model go in a "
                    "tuple: (model, (x, y)). Pass all further arguments by name."
                )
            return function(*args, **kwargs)

        return checked

    return decorate


def _no_writer(name: str, got: Any) -> WriterError:
    return WriterError(
        f"{name}(): expected a summary writer as the first argument, got {type(got).__name__}. Write "
        f"tb_gradgraph.{name}(writer, ...), or writer.{name}(...) with a tb_gradgraph.SummaryWriter."
    )


def _not_named(name: str, got: Any, most: int, first_named: str) -> CaptureError:
    kind = type(got).__name__
    cure = f"Write {first_named}=.." if first_named else "Write the name of the argument before it"
    own = most - 1  # without the writer, which is ``self`` of the method
    return CaptureError(
        f"{name}(): expected at most {own} argument{'s' * (own > 1)} without a name after the "
        f"writer, got {kind} as one more. {cure}, and pass all further arguments by name."
    )


def check_cadence(every_n_steps: Any, budget: Any) -> None:
    """Raise CaptureError if ``every_n_steps`` or ``budget`` of a watch makes no sense."""
    try:
        steps = 0 if isinstance(every_n_steps, bool) else operator.index(every_n_steps)
    except TypeError:
        steps = 0
    if steps < 1:
        raise CaptureError(
            f"watch(): expected every_n_steps to be an integer of at least 1, got {every_n_steps!r}."
        )
    if budget is not None and not (isinstance(budget, (int, float)) and 0 < budget < 1):
        raise CaptureError(
            f"watch(): expected budget to be a share of the time between 0 and 1, such as 0.02, got "
            f"{budget!r}."
        )


def check_update_memory(update_memory: Any) -> None:
    """Raise CaptureError if ``update_memory`` of a watch is no number of bytes."""
    if isinstance(update_memory, bool) or not isinstance(update_memory, int) or update_memory < 0:
        raise CaptureError(
            f"watch(): expected update_memory to be a number of bytes such as 256 * 2**20, or 0, got "
            f"{update_memory!r}."
        )
