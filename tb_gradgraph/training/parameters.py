"""The parameters that a watch reads: the model's, and those that its optimizers own beside it."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

import torch

from tb_gradgraph.autograd.forward import KnownTensor
from tb_gradgraph.autograd.frames import variables_of
from tb_gradgraph.autograd.known import known_tensors, names_of_modules

#: What a ``.grad`` was: the tensor's identity and version; None where there was none.
GradState = tuple[int, int] | None


class Parameters:
    """Tensors and names, read anew by ``refresh``; neither model nor optimizers are kept alive.

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
        """Prepare; parameters outside the model are named by the variables of ``frame``."""
        self._model = weakref.ref(model)
        self._optimizers = [weakref.ref(optimizer) for optimizer in optimizers]
        self._variables = {
            id(value): (name, weakref.ref(value))
            for name, value in variables_of(frame).items()
            if isinstance(value, torch.nn.Parameter)
        }
        self.tensors: list[torch.Tensor] = []
        self.known: Mapping[int, KnownTensor] = {}
        self.modules: Mapping[int, str] = {}
        self._ids: tuple[int, ...] = ()
        self.refresh()

    def refresh(self) -> None:
        """See which parameters there are now: layers may be replaced and groups added in mid-run."""
        model = self._model()
        owned = [] if model is None else list(model.parameters())
        outside = self._outside({id(tensor) for tensor in owned})
        tensors = [*owned, *(tensor for _, tensor in outside)]
        ids = tuple(map(id, tensors))
        if ids != self._ids and model is not None:
            self._ids = ids
            self.modules = names_of_modules(model)
            self.known = {
                **known_tensors(model, (), {}),
                **{id(tensor): KnownTensor("parameter", (name,)) for name, tensor in outside},
            }
        self.tensors = tensors

    def forget(self) -> None:
        """Let go of the tensors."""
        self.tensors, self.known, self.modules, self._ids = [], {}, {}, ()

    def signature(self) -> tuple[tuple[int, ...], tuple[bool, ...]]:
        """Give what changes when a parameter is added, replaced, frozen or unfrozen."""
        return self._ids, tuple([tensor.requires_grad for tensor in self.tensors])

    def _outside(self, owned: set[int]) -> list[tuple[str, torch.Tensor]]:
        found: dict[int, tuple[str, torch.Tensor]] = {}
        for optimizer, name, tensor in self._grouped():
            if id(tensor) not in owned and id(tensor) not in found:
                variable, alive = self._variables.get(id(tensor), ("", lambda: None))
                named = variable if alive() is tensor else f"{optimizer}.{name}"
                found[id(tensor)] = (named, tensor)
        return list(found.values())

    def _grouped(self) -> Iterator[tuple[str, str, torch.Tensor]]:
        for reference in self._optimizers:
            optimizer = reference()
            if optimizer is None:
                continue
            for group, values in enumerate(optimizer.param_groups):
                for index, tensor in enumerate(values["params"]):
                    if isinstance(tensor, torch.Tensor):
                        place = f"param_groups[{group}].params[{index}]"
                        yield type(optimizer).__name__, place, tensor


def grad_states(tensors: Sequence[torch.Tensor]) -> list[GradState]:
    """Note what each ``.grad`` is; equal notes mean that nothing has touched it in between."""
    return [
        None if (grad := tensor.grad) is None else (id(grad), grad._version) for tensor in tensors
    ]
