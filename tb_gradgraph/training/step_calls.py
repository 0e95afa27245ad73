"""Notice the steps of optimizers that do not support torch's hooks, such as Opacus' wrapper."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from tb_gradgraph.autograd import Replaced
from tb_gradgraph.errors import CaptureError
from tb_gradgraph.training.reading.followed import reference_to

#: Gets the optimizer and the arguments of its step; may return other arguments.
Told = Callable[[Any, Any, Any], Any]


@dataclasses.dataclass(eq=False, slots=True)
class _Follower:
    """The listener of one optimizer."""

    optimizer: Callable[[], Any]
    before: Told
    after: Told
    is_running: bool = False  # a nested call, such as ``super().step()``, is part of the outer one


def follow_calls(optimizer: Any, before: Told, after: Told) -> Callable[[], None]:
    """Call ``before`` and ``after`` around every ``optimizer.step``; return a function that ends this.

    The method is replaced in its class while an object of the class is followed. So nothing is put
    on the optimizer, which may be copied meanwhile. If the optimizer has a ``step`` of its own, as
    schedulers set it, that is replaced instead.

    Raises:
        CaptureError: Neither can be replaced.
    """
    follower = _Follower(reference_to(optimizer), before, after)
    owner = next((kind for kind in type(optimizer).__mro__ if "step" in vars(kind)), None)
    if owner is None or "step" in getattr(optimizer, "__dict__", ()):
        return _follow_own(optimizer, follower)
    place = _places.get(owner)
    if place is None:
        place = _places[owner] = Replaced(owner, "step", functools.partial(_told, owner))
    try:
        stop_listening = place.listen(follower)
    except (AttributeError, TypeError) as error:
        _places.pop(owner)
        raise _refused(optimizer) from error

    def stop() -> None:
        stop_listening()
        if not place.listeners:
            _places.pop(owner, None)

    return stop


_places: dict[type, Replaced[_Follower]] = {}


def _told(owner: type, step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def told_step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        place = _places.get(owner)
        followers = () if place is None else tuple(place.listeners)
        own = [one for one in followers if one.optimizer() is optimizer]
        return _run(own, functools.partial(step, optimizer), optimizer, args, kwargs)

    return told_step


def _follow_own(optimizer: Any, follower: _Follower) -> Callable[[], None]:
    step = optimizer.step
    own = vars(optimizer).get("step") if hasattr(optimizer, "__dict__") else None
    followers = [follower]

    @functools.wraps(step)
    def told_step(*args: Any, **kwargs: Any) -> Any:
        return _run(followers, step, follower.optimizer(), args, kwargs)

    try:
        optimizer.step = told_step
    except (AttributeError, TypeError) as error:
        raise _refused(optimizer) from error

    def stop() -> None:
        followers.clear()
        held = follower.optimizer()
        if held is None or vars(held).get("step") is not told_step:
            return  # it is gone, or other code has replaced it
        if own is None:
            del held.step
        else:
            held.step = own

    return stop


def _refused(optimizer: Any) -> CaptureError:
    return CaptureError(
        f"watch(): expected an optimizer whose steps can be followed, got {type(optimizer).__name__}, "
        "which takes neither hooks nor a replacement of its step. Pass the optimizer that it "
        "stands for, or leave optimizer= out to count backward passes as steps."
    )


def _run(
    followers: list[_Follower], step: Callable[..., Any], optimizer: Any, args: Any, kwargs: Any
) -> Any:
    told = [one for one in followers if not one.is_running]
    try:
        for one in told:
            one.is_running = True
            changed = one.before(optimizer, args, kwargs)  # may raise, if the user wants it
            args, kwargs = changed or (args, kwargs)
        result = step(*args, **kwargs)
    finally:
        for one in told:
            one.is_running = False
    for one in told:
        one.after(optimizer, args, kwargs)
    return result
