"""Pass on tensors that a forward makes, without changing what torch runs."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Hashable, Iterable, Set
from typing import Any

import torch
from torch.autograd.graph import Node as AutogradNode

from tb_gradgraph.autograd.forward.made_by import MadeBy
from tb_gradgraph.autograd.forward.origins import SlotKey
from tb_gradgraph.autograd.torch_internals.engine import (
    autocast_paused,
    functions_not_overridden,
    modes_paused,
    peek_interpreters,
    sequence_nr,
    viewed,
)
from tb_gradgraph.autograd.torch_internals.tensor_classes import elements_of, placement_of
from tb_gradgraph.autograd.user_code.user_events import Quiet
from tb_gradgraph.autograd.values.meanings import WITHOUT_MEANING, meaning_of_node
from tb_gradgraph.memory import has_memory
from tb_gradgraph.statistics import ValueMeaning


class MadeTensors:
    """Finds the key of each tensor, and passes on its elements, each key once.

    Attributes:
        placements: The placement of tensors of which this process has only a part, by key.
    """

    def __init__(
        self,
        take: Callable[[SlotKey, torch.Tensor, ValueMeaning | None], None],
        take_plain: Callable[[SlotKey, torch.Tensor, ValueMeaning | None], bool],
        refuse: Callable[[SlotKey, Exception], None],
        knows: Callable[[SlotKey], bool],
        take_view: Callable[[SlotKey, torch.Tensor], None] | None = None,
        make_reader: Callable[[set[type], Any], Any] | None = None,
    ) -> None:
        """Prepare.

        Args:
            take: Gets each key with a plain tensor and its meaning.
            take_plain: Gets the same first; runs no function of torch, and returns whether it took
                the tensor.
            refuse: Gets the keys of tensors that cannot be read.
            knows: Returns whether a key was taken. An outer module often returns what an inner one
                has returned.
            take_view: Gets the views that ``see`` may skip; None: they are left out.
            make_reader: Makes what reads most tensors in compiled code (``KeyedBatch.reader``);
                None: nothing does.
        """
        self._take = take
        self._take_plain = take_plain
        self._refuse = refuse
        self._knows = knows
        self._take_view = take_view
        self._made_by = MadeBy()
        self.placements: dict[SlotKey, str] = {}
        #: What reads most tensors in compiled code; None if nothing does.
        self.reader: Any = None
        if make_reader is not None:
            self.reader = make_reader(WITHOUT_MEANING, functions_not_overridden)
        self._see_fast: Callable[[torch.Tensor, bool], bool] | None = (
            None if self.reader is None else self.reader.see
        )

    def see(self, tensor: torch.Tensor, may_skip: bool = False) -> None:
        """Read a tensor that an operation with gradient has just made. The user's modes do not notice.

        With ``may_skip``, a view of all elements of another tensor is not read, because its numbers
        are those of the other (see ``groups_of_equal_values``).
        """
        if self._see_fast is not None and self._see_fast(tensor, may_skip):
            return
        with functions_not_overridden():
            self._see(tensor, may_skip)

    def see_all(self, tensors: Iterable[torch.Tensor]) -> None:
        """Read several tensors, which an operation has made together."""
        with functions_not_overridden():
            for tensor in tensors:
                self._see(tensor, False)

    def _see(self, tensor: torch.Tensor, may_skip: bool) -> None:
        node: AutogradNode | None
        skips = False
        if not tensor._is_view():
            node = tensor.grad_fn
        else:
            skips = may_skip and tensor.numel() == viewed(tensor).numel()
            if skips and self._take_view is None:
                return
            node = self._made_by(tensor)
        if node is None:
            return
        key = (sequence_nr(node), tensor.output_nr)
        if not self._knows(key):
            try:
                if not skips:
                    self._read(key, tensor, node)
                elif self._take_view is not None:
                    self._read_view(key, tensor, self._take_view)
            except Exception as error:
                self._refuse(key, error)

    def _read_view(
        self, key: SlotKey, tensor: torch.Tensor, take: Callable[[SlotKey, torch.Tensor], None]
    ) -> None:
        elements = elements_of(tensor)
        if elements is not None:
            take(key, elements)

    def _read(self, key: SlotKey, tensor: torch.Tensor, node: AutogradNode) -> None:
        meaning = meaning_of_node(node, tensor)
        if self._take_plain(key, tensor, meaning):
            return
        if peek_interpreters() is not None or (elements := elements_of(tensor)) is None:
            return
        if elements is not tensor and (place := placement_of(tensor)):
            self.placements[key] = place
        with Quiet(), torch.no_grad(), modes_paused(), autocast_paused():
            self._take(key, elements, meaning)


class GivenTensors:
    """Passes on tensors without gradient that modules get before a backward, each once.

    A tensor is known by its place among them.

    Attributes:
        calls: How many modules were called in the present round.
    """

    def __init__(
        self, take: Callable[[Hashable, torch.Tensor], None], wanted: Set[int] | None
    ) -> None:
        """Prepare.

        Args:
            take: Gets a key, as ``key`` returns it, and the elements.
            wanted: The places to pass on; None: all.
        """
        self._take = take
        self._round = 0
        self._wanted = wanted
        self._end = math.inf if wanted is None else 1 + max(wanted, default=-1)
        self.calls = 0
        self._count = 0
        #: Place of each tensor by ``id``. A later tensor may have the ``id`` of one that is gone.
        self._seen: dict[int, tuple[int, weakref.ref[torch.Tensor]]] = {}

    def see_all(self, inputs: Any) -> None:
        """Read the tensors among a module's positional inputs. The user's modes do not notice."""
        self.calls += 1
        if self._count >= self._end:
            return
        with functions_not_overridden():
            for tensor in inputs if isinstance(inputs, tuple) else ():
                if type(tensor) is torch.Tensor and not tensor.requires_grad:
                    self._see(tensor)

    def _see(self, tensor: torch.Tensor) -> None:
        if self.place_of(tensor) is not None:
            return
        place = self._count
        self._count += 1
        self._seen[id(tensor)] = (place, weakref.ref(tensor))
        if self._wanted is not None and place not in self._wanted:
            return
        with Quiet(), torch.no_grad(), modes_paused(), autocast_paused():
            if peek_interpreters() is None and has_memory(tensor):
                self._take(self.key(place), tensor)

    def key(self, place: int) -> Hashable:
        """Return the key of a place in the present round."""
        return ("given", self._round, place)

    def begin_round(self) -> None:
        """Begin anew with the first place."""
        self._round += 1
        self._seen = {}
        self._count = self.calls = 0

    def place_of(self, tensor: torch.Tensor) -> int | None:
        """Return the place of a tensor that was seen in this round."""
        place, seen = self._seen.get(id(tensor), (0, None))
        return place if seen is not None and seen() is tensor else None

    def places(self) -> dict[int, int]:
        """Return the place of each tensor that is still alive, by ``id``."""
        return {of: at for of, (at, tensor) in self._seen.items() if tensor() is not None}
