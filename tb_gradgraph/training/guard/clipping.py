"""Notice the norms over gradients that torch computes, above all to clip them."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from tb_gradgraph.autograd import Replaced, is_capturing, left_out_of_compiled

_ROOM = "torch.nn.utils.clip_grad"
#: What computes a norm: for ``clip_grad_norm_`` itself, however it was imported, and for those who
#: call it by its public name.
_PLACES = ((_ROOM, "_get_total_norm"), ("torch.nn.utils", "get_total_norm"))


class NormListener(Protocol):
    """Is told of norms. Must not raise."""

    def see_norm(self, gradients: Sequence[torch.Tensor], norm: torch.Tensor | None) -> None:
        """Look at the norm of ``gradients``, which are not clipped yet.

        It is None if torch raised an error in its place.
        """


#: A reference that keeps nothing alive.
Reference = Callable[[], "NormListener | None"]


def listen_to_norms(listener: Reference) -> Callable[[], None]:
    """Tell of the norms of all gradients; return a function that ends this and may be called twice.

    ``clip_grad_norm_`` looks its norm up by name, so a replacement is found by those who imported
    it before. Compiled code sees torch's own function.
    """
    ends = [place.listen(listener) for place in _replaced()]

    def stop() -> None:
        for end in ends:
            end()

    return stop


@functools.cache
def _replaced() -> tuple[Replaced[Reference], ...]:
    places = [(importlib.import_module(owner), name) for owner, name in _PLACES]
    return tuple(Replaced(owner, name, _told) for owner, name in places if hasattr(owner, name))


def _told(total_norm: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(total_norm)
    def told_norm(tensors: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        try:
            norm = total_norm(tensors, *args, **kwargs)
        except RuntimeError:
            _tell(tensors, None)
            raise
        _tell(tensors, norm)
        return norm

    return left_out_of_compiled(told_norm, total_norm)


def _tell(gradients: Sequence[torch.Tensor], norm: torch.Tensor | None) -> None:
    if is_capturing():  # nothing runs yet
        return
    for reference in tuple(_replaced()[0].listeners):  # they are the same at each place
        if (listener := reference()) is not None:
            listener.see_norm(gradients, norm)
