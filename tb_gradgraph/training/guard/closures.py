"""Look at the gradients that a closure makes before the optimizer that called it uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

_NO_CLOSURES = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer, type)
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def has_closure(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Return whether an optimizer's step got a closure. Its own ``self`` may be among ``args``."""
    return _place_of(args, kwargs) is not None


def with_look(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], look: Callable[[], None]
) -> Arguments:
    """Return the arguments of a step whose closure calls ``look`` at its end. It may raise."""
    place = _place_of(args, kwargs)
    if isinstance(place, int):
        return (*args[:place], _looked_at(args[place], look), *args[place + 1 :]), dict(kwargs)
    found = {} if place is None else {place: _looked_at(kwargs[place], look)}
    return args, {**kwargs, **found}


def _place_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int | str | None:
    """Return where the closure is: the first argument, or the one of that name."""
    if callable(kwargs.get("closure")):
        return "closure"
    for place, given in enumerate(args[:2]):
        if callable(given) and not isinstance(given, _NO_CLOSURES):
            return place
    return None


def _looked_at(closure: Callable[..., Any], look: Callable[[], None]) -> Callable[..., Any]:
    def closure_and_look(*args: Any, **kwargs: Any) -> Any:
        result = closure(*args, **kwargs)
        look()
        return result

    closure_and_look.__wrapped__ = closure  # type: ignore[attr-defined]
    return closure_and_look
