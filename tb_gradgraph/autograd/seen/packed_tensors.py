"""What the hooks of a checkpoint, or of the user, packed for a backward; nothing is ever unpacked."""

from __future__ import annotations

from collections.abc import Container, Iterator
from types import FrameType
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.seen.seen_tensors import SeenTensor, SeenTensors
from tb_gradgraph.autograd.torch_internals.engine import (
    TELLS_PACKED,
    names_of_saved,
    next_sequence_nr,
)


def packed_objects(node: AutogradNode, names: Container[str]) -> Iterator[tuple[str, Any]]:
    """Give what hooks packed of the tensors that ``node`` saved by one of ``names``; none is unpacked."""
    for name in names_of_saved(type(node)) if TELLS_PACKED else ():
        if name not in names:
            continue
        try:
            raw = getattr(node, "_raw_saved_" + name)
            parts = raw if isinstance(raw, tuple) else (raw,)
            packed = [part.data for part in parts if part.unpack_hook is not None]
        except (RuntimeError, AttributeError):  # freed
            continue
        yield from ((name, each) for each in packed)


class PackedTensors:
    """The tensors without gradient that were packed, by node and by what they were packed as.

    A saved tensor is packed by the node that has just been given a number, and the node
    keeps what the hook returned: by both it is found again, whatever else has that identity.
    """

    def __init__(self, seen: SeenTensors) -> None:
        self._seen = seen
        self._running: dict[int, tuple[int, SeenTensor | None]] = {}  # by ``id`` of the frame
        self._packed: dict[int, dict[int, SeenTensor]] = {}  # by number, by ``id`` of the packed

    def begin(self, frame: FrameType) -> None:
        """A hook is called: note what it is given."""
        given = frame.f_locals.get(frame.f_code.co_varnames[0])
        seen = None
        if isinstance(given, torch.Tensor) and not given.requires_grad:
            seen = self._seen.note(given)
        self._running[id(frame)] = (next_sequence_nr() - 1, seen)

    def end(self, frame: FrameType, packed: Any) -> bool:
        """A frame returns ``packed``; whether it was a hook's."""
        number, seen = self._running.pop(id(frame), (-1, None))
        if seen is not None:
            self._packed.setdefault(number, {})[id(packed)] = seen
        return number >= 0

    def given(self, number: int, packed: Any) -> SeenTensor | None:
        """Give what node ``number`` packed as ``packed``, if that was seen and has no gradient."""
        return self._packed.get(number, {}).get(id(packed))

    def forget(self, number: int) -> None:
        """Let go of what a node packed."""
        self._packed.pop(number, None)

    def close(self) -> None:
        """No hook runs any more."""
        self._running.clear()
