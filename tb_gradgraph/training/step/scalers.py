"""Notice the steps of GradScalers, and find the losses that a scaler has multiplied."""

from __future__ import annotations

import collections
import functools
import threading
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard

import torch

from tb_gradgraph.autograd import (
    HAS_NUMBERS,
    TELLS_PACKED,
    Replaced,
    next_sequence_nr,
    saved_tensors,
    sequence_nr,
    warn_quietly,
)
from tb_gradgraph.memory import has_memory

_SEARCHED = 64  # nodes behind a loss to search for a scaler's multiplication
#: Types that have no scaler among their attributes, or have too many attributes to search.
_NOT_SEARCHED = (type, types.ModuleType, torch.Tensor, torch.nn.Module)


class ScalerListener(Protocol):
    """Is called for the steps of scalers. Must not raise."""

    def before_scaled_step(self, scaler: Any, optimizer: Any) -> None:
        """Handle the start of ``scaler.step(optimizer)``."""

    def after_scaled_step(self, scaler: Any, optimizer: Any) -> None:
        """Handle its end without an error; the optimizer may have stepped or not."""

    def before_unscaling(self, scaler: Any, optimizer: Any) -> None:
        """Handle the start of ``scaler.unscale_(optimizer)``, also within the step."""


def listen_to_scalers(listener: ScalerListener) -> Callable[[], None]:
    """Call ``listener`` for the steps of every scaler; return a function that ends this.

    ``step`` and ``unscale_`` of ``GradScaler`` are replaced in the class while there is a listener.
    So nothing is put on a scaler, and scalers that the user did not name are found.
    """
    ends = _replaced.listen(listener), _replaced_unscaling.listen(listener)

    def stop() -> None:
        for end in ends:
            end()

    return stop


def _told(step: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(step)
    def told_step(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        listeners = tuple(_replaced.listeners)
        for listener in listeners:
            listener.before_scaled_step(scaler, optimizer)
        result = step(scaler, optimizer, *args, **kwargs)
        for listener in listeners:
            listener.after_scaled_step(scaler, optimizer)
        return result

    return told_step


def _told_unscaling(unscale: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(unscale)
    def told_unscale(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        for listener in tuple(_replaced_unscaling.listeners):
            listener.before_unscaling(scaler, optimizer)
        return unscale(scaler, optimizer, *args, **kwargs)

    return told_unscale


_replaced: Replaced[ScalerListener] = Replaced(torch.amp.GradScaler, "step", _told)
_replaced_unscaling: Replaced[ScalerListener] = Replaced(
    torch.amp.GradScaler, "unscale_", _told_unscaling
)


def loss_scale(scaler: Any) -> torch.Tensor | None:
    """Return a copy of the present factor of ``scaler``; None if it has none."""
    if scaler is None or not scaler.is_enabled():
        return None
    scale = getattr(scaler, "_scale", None)  # get_scale() would wait for the device
    return scale.detach().clone() if _is_readable(scale) else None


def scaler_of(roots: Sequence[Any], variables: Mapping[str, Any]) -> Any:
    """Return the scaler that has multiplied ``roots``, from ``variables`` or their attributes."""
    scalers = list({id(scaler): scaler for scaler in _scalers_in(variables)}.values())
    for scaler in scalers:
        if _has_multiplied(scaler, roots):
            return scaler
        if not TELLS_PACKED and type(scaler).scale is not torch.amp.GradScaler.scale:
            warn_quietly(
                f"watch(): torch {torch.__version__} does not tell whether {type(scaler).__name__} has "
                "multiplied this loss, so gradients are recorded as they are. Pass it as grad_scaler=."
            )
    return None


def enabled_scaler_in(variables: Mapping[str, Any]) -> Any:
    """Return an enabled scaler among ``variables`` or their attributes; None if there is none."""
    return next((one for one in _scalers_in(variables) if one.is_enabled()), None)


def _scalers_in(variables: Mapping[str, Any]) -> Iterator[Any]:
    for value in list(variables.values()):
        if isinstance(value, torch.amp.GradScaler):
            yield value
        elif not isinstance(value, _NOT_SEARCHED):
            held = list(getattr(value, "__dict__", {}).values())
            yield from (part for part in held if isinstance(part, torch.amp.GradScaler))


def _is_readable(scale: Any) -> TypeGuard[torch.Tensor]:
    return isinstance(scale, torch.Tensor) and has_memory(scale)


def _has_multiplied(scaler: Any, roots: Sequence[Any]) -> bool:
    scale = getattr(scaler, "_scale", None)
    if not _is_readable(scale):
        return False
    nodes = [root.grad_fn for root in roots if isinstance(root, torch.Tensor)]
    for node in nodes:  # grows as it is read
        if node is None or len(nodes) > _SEARCHED:
            continue
        if type(node).__name__ == "MulBackward0" and _multiplies_by(node, scaler, scale):
            return True
        nodes += [source for source, _ in node.next_functions]
    return False


def _multiplies_by(node: Any, scaler: Any, scale: torch.Tensor) -> bool:
    if TELLS_PACKED:
        saved = saved_tensors(node, ("self", "other"))
        factors = (factor for _, factor in saved if has_memory(factor))
        return any(factor.data_ptr() == scale.data_ptr() for factor in factors)
    thread = threading.get_ident()
    return HAS_NUMBERS and any(
        made.thread == thread and sequence_nr(node) in made.numbers and made.scaler() is scaler
        for made in tuple(_scalings)
    )


class _Scaling(NamedTuple):
    """A multiplication that a scaler made."""

    scaler: weakref.ref[Any]
    thread: int
    numbers: range  # sequence numbers of the nodes that it made


_scalings: collections.deque[_Scaling] = collections.deque(maxlen=_SEARCHED)


def note_scalings() -> Callable[[], None]:
    """Note what scalers multiply, for a torch whose nodes do not show it; return a function to end this."""
    return _noted_scale.listen(None) if HAS_NUMBERS and not TELLS_PACKED else lambda: None


def _noted(scale: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(scale)
    def noted_scale(scaler: Any, *args: Any, **kwargs: Any) -> Any:
        first = next_sequence_nr()
        result = scale(scaler, *args, **kwargs)
        numbers = range(first, next_sequence_nr())
        _scalings.append(_Scaling(weakref.ref(scaler), threading.get_ident(), numbers))
        return result

    return noted_scale


_noted_scale: Replaced[None] = Replaced(torch.amp.GradScaler, "scale", _noted)
