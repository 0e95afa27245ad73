"""The parameters that a watch reads: those of the model, and others that its optimizers own."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from tb_gradgraph.autograd import (
    KnownTensor,
    is_fully_sharded,
    known_tensors,
    names_of_modules,
    variables_of,
)
from tb_gradgraph.autograd import stand_ins as gathered_for
from tb_gradgraph.summarize import native_grad_states
from tb_gradgraph.training.reading.followed import reference_to

#: The state of a ``.grad``: identity and version of the tensor; None if there is none.
GradState = tuple[int, int] | None


class Parameters:
    """Tensors and names, which ``refresh`` updates. Neither model nor optimizers are kept alive.

    Attributes:
        tensors: Each parameter once, the model's first.
        known: Kind and names of parameters and buffers by ``id``.
        modules: Names of modules by ``id``.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizers: Sequence[torch.optim.Optimizer],
        frame: FrameType | None,
    ) -> None:
        """Prepare; the variables of ``frame`` name parameters outside the model."""
        self._model = weakref.ref(model)
        self._optimizers = [reference_to(optimizer) for optimizer in optimizers]
        self._variables = {
            id(value): (name, weakref.ref(value))
            for name, value in variables_of(frame).items()
            if isinstance(value, torch.nn.Parameter)
        }
        self.tensors: list[torch.Tensor] = []
        self.known: Mapping[int, KnownTensor] = {}
        self.modules: Mapping[int, str] = {}
        self._ids: tuple[int, ...] = ()
        self._numbers: dict[int, int] = {}  # a unique number of each tensor, by ``id``
        self._next = 0
        self._tables: list[Mapping[str, torch.Tensor | None]] = []  # parameters of each module
        self._tree: list[Mapping[str, torch.nn.Module | None]] = []  # children of each module
        self._children = [0]  # their ids; none yet
        self._gathering: list[torch.nn.Module] = []  # modules under fully_shard
        self._stand_ins: Mapping[
            int, torch.Tensor
        ] = {}  # parameters, by the ``id`` of their stand-ins
        self.refresh()

    def refresh(self) -> None:
        """Find the parameters that exist now: layers may be replaced, and groups added, during a training."""
        model = self._model()
        if model is None:
            return
        if self._children != _ids_of(self._tree):
            modules = list(model.modules())
            self._tables = [module._parameters for module in modules]
            self._tree = [module._modules for module in modules]
            self._children = _ids_of(self._tree)
            self._ids = ()
            self._gathering = [module for module in modules if is_fully_sharded(module)]
        stand_ins = gathered_for(self._gathering) if self._gathering else {}
        owned = {
            id(own): own
            for table in self._tables
            for p in table.values()
            if (own := stand_ins.get(id(p), p)) is not None
        }
        outside = self._outside(owned)
        before, self.tensors = self.tensors, [*owned.values(), *outside]
        ids = tuple(map(id, self.tensors))
        if ids != self._ids or stand_ins.keys() != self._stand_ins.keys():
            self._ids, self._stand_ins = ids, stand_ins
            self._number_anew(before)
            self.modules = names_of_modules(model)
            known = _as_sharded(known_tensors(model, (), {}), stand_ins)
            self.known = {**known, **self._names(outside)}

    def read_modules(self) -> Mapping[int, str]:
        """Return the names of modules as they are now, by ``id``."""
        self.refresh()
        return self.modules

    def forget(self) -> None:
        """Release the tensors."""
        self.tensors, self.known, self.modules, self._ids = [], {}, {}, ()
        self._numbers = {}
        self._tables, self._tree, self._children = [], [], []
        self._gathering, self._stand_ins = [], {}

    def late(self, left: Mapping[int, GradState]) -> frozenset[int]:
        """Return the gathered parameters, by ``id``, whose ``.grad`` a pass did not set; a later pass will.

        Under ``set_requires_gradient_sync(False)`` the gradient accumulates in a place that we
        cannot read.
        """
        gathered = {id(parameter) for parameter in self._stand_ins.values()}
        return frozenset(of for of in gathered if left.get(of, 0) is None)

    def is_gathered(self, leaves: Sequence[torch.Tensor]) -> bool:
        """Return whether one of ``leaves`` replaces one of our parameters."""
        return any(id(leaf) in self._stand_ins for leaf in leaves)

    def signature(self) -> tuple[tuple[int, ...], tuple[bool, ...]]:
        """Return a value that changes when a parameter is added, replaced, frozen or unfrozen."""
        return tuple(self._numbers.values()), tuple([t.requires_grad for t in self.tensors])

    def may_be_among(self, inputs: Sequence[Any]) -> bool:
        """Return whether a backward to ``inputs`` alone (empty: to all leaves) may reach one of ours."""
        return not inputs or any(
            id(self.own(given)) in self._numbers or not isinstance(given, torch.Tensor)
            for given in inputs
        )

    def numbers_of(self, leaves: Sequence[torch.Tensor]) -> tuple[int | None, ...]:
        """Return a number for each of our parameters, None for other leaves.

        Unlike an ``id``, this number is not reused when a layer is replaced.
        """
        if not self._stand_ins:
            return tuple([self._numbers.get(id(leaf)) for leaf in leaves])
        return tuple([self._numbers.get(id(self.own(leaf))) for leaf in leaves])

    def own(self, tensor: Any) -> Any:
        """Return the parameter that a tensor stands for, or else the tensor itself."""
        return self._stand_ins.get(id(tensor), tensor)

    def _number_anew(self, before: Sequence[torch.Tensor]) -> None:
        kept = {id(tensor): self._numbers[id(tensor)] for tensor in before}
        self._numbers = {}
        for tensor in self.tensors:
            number = kept.get(id(tensor))
            if number is None:
                number, self._next = self._next, self._next + 1
            self._numbers[id(tensor)] = number

    def _outside(self, owned: Mapping[int, torch.Tensor]) -> list[torch.Tensor]:
        """Return the optimizers' parameters that the model does not own, each once."""
        found: dict[int, torch.Tensor] = {}
        for reference in self._optimizers:
            optimizer = reference()
            for group in [] if optimizer is None else optimizer.param_groups:
                found.update({id(p): p for p in group["params"] if id(p) not in owned})
        return list(found.values())

    def _names(self, outside: Sequence[torch.Tensor]) -> dict[int, KnownTensor]:
        names: dict[int, str] = {}
        for reference in self._optimizers:
            optimizer = reference()
            for group, values in enumerate([] if optimizer is None else optimizer.param_groups):
                for index, tensor in enumerate(values["params"]):
                    place = f"{type(optimizer).__name__}.param_groups[{group}].params[{index}]"
                    names.setdefault(id(tensor), place)
        for tensor in outside:
            name, alive = self._variables.get(id(tensor), ("", lambda: None))
            if alive() is tensor:
                names[id(tensor)] = name
        return {id(t): KnownTensor("parameter", (names[id(t)],), is_owned=False) for t in outside}


def _as_sharded(
    known: Mapping[int, KnownTensor], stand_ins: Mapping[int, torch.Tensor]
) -> dict[int, KnownTensor]:
    """Name parameters and their stand-ins, whichever of them the model holds at the moment."""
    named = dict(known)
    for identity, parameter in stand_ins.items():
        found = known.get(id(parameter)) or known.get(identity) or named.get(id(parameter))
        if found is not None:
            named[id(parameter)] = found
            named[identity] = dataclasses.replace(found, stands_for=parameter)
    return named


def _ids_of(tree: Sequence[Mapping[str, torch.nn.Module | None]]) -> list[int]:
    return [id(child) for children in tree for child in children.values()]


def grad_states(tensors: Sequence[torch.Tensor]) -> list[GradState]:
    """Return the state of each ``.grad``. If two states are equal, nothing changed it in between."""
    try:
        if (found := native_grad_states(tensors)) is not None:
            return found
        return [
            None if (grad := tensor.grad) is None else (id(grad), grad._version)
            for tensor in tensors
        ]
    except Exception:  # an inference tensor has no version, other classes may have none
        return list(map(_grad_state, tensors))


def _grad_state(tensor: torch.Tensor) -> GradState:
    grad = None
    try:
        grad = tensor.grad
        return None if grad is None else (id(grad), grad._version)
    except Exception:
        return None if grad is None else (id(grad), -1)


def is_any_other(tensors: Sequence[torch.Tensor], before: Sequence[GradState]) -> bool:
    """Return whether any ``.grad`` has changed since these states; stop at the first one."""
    for tensor, state in zip(tensors, before):
        grad = tensor.grad
        if grad is None:
            if state is not None:
                return True
        elif state is None or state[0] != id(grad) or state != _grad_state(tensor):
            return True
    return False
