"""Find the tensors that hooks (of a checkpoint, or of the user) packed for a backward, without unpacking."""

from __future__ import annotations

from collections.abc import Container, Iterator
from types import FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.seen_tensors import SeenTensor, SeenTensors
from tb_gradgraph.autograd.torch_internals.engine import (
    TELLS_PACKED,
    names_of_saved,
    next_sequence_nr,
)


def packed_objects(node: AutogradNode, names: Container[str]) -> Iterator[tuple[str, Any]]:
    """Yield the packed objects of the tensors that ``node`` saved under ``names``; none is unpacked."""
    for name in names_of_saved(type(node)) if TELLS_PACKED else ():
        if name not in names:
            continue
        try:
            raw = getattr(node, "_raw_saved_" + name)
            parts = raw if isinstance(raw, tuple) else (raw,)
            packed = [part.data for part in parts if part.unpack_hook is not None]
        except (RuntimeError, AttributeError):  # it was freed
            continue
        yield from ((name, each) for each in packed)


class PackedTensors:
    """The packed tensors without gradient, by node and by packed object.

    A tensor is packed for the node that has just got a number, and the node keeps the object that
    the hook returned. Both together identify the tensor.
    """

    def __init__(self, seen: SeenTensors) -> None:
        self._seen = seen
        self._running: dict[int, tuple[int, SeenTensor | None]] = {}  # by ``id`` of the frame
        self._packed: dict[
            int, dict[int, SeenTensor]
        ] = {}  # by number, by ``id`` of what was packed

    def begin(self, frame: FrameType) -> None:
        """Handle the call of a hook: note its argument."""
        given = frame.f_locals.get(frame.f_code.co_varnames[0])
        seen = None
        if isinstance(given, torch.Tensor) and not given.requires_grad:
            seen = self._seen.note(given)
        self._running[id(frame)] = (next_sequence_nr() - 1, seen)

    def end(self, frame: FrameType, packed: Any) -> bool:
        """Handle a frame that returns ``packed``; return whether it was the frame of a hook."""
        number, seen = self._running.pop(id(frame), (-1, None))
        if seen is not None:
            self._packed.setdefault(number, {})[id(packed)] = seen
        return number >= 0

    def given(self, number: int, packed: Any) -> SeenTensor | None:
        """Return the tensor that node ``number`` packed as ``packed``, if it was seen and has no gradient."""
        return self._packed.get(number, {}).get(id(packed))

    def forget(self, number: int) -> None:
        """Forget the packed tensors of a node."""
        self._packed.pop(number, None)

    def close(self) -> None:
        """Note that no hook runs any more."""
        self._running.clear()
