"""Find the tensors in arguments, outputs and roots, and name each of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import torch

from tb_gradgraph.autograd.forward.forward import NamedTensor
from tb_gradgraph.autograd.user_code.stack_frames import variables_of

#: Deeper nesting is not searched, because a list may contain itself.
_DEPTH_LIMIT = 16


def named_tensors(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield every tensor in nested dicts, dataclasses, named tuples, lists and tuples.

    Names follow Python: ``output["logits"]``, ``output.loss``, ``output[0]``.
    """
    if isinstance(value, torch.Tensor):
        yield name, value
    elif depth < _DEPTH_LIMIT:
        for suffix, child in _children(value):
            yield from named_tensors(child, name + suffix, depth + 1)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return ((f".{field.name}", getattr(value, field.name, None)) for field in fields)
    if isinstance(value, Mapping):
        return ((f"[{key!r}]", child) for key, child in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return ((f".{field}", getattr(value, field)) for field in value._fields)
    if isinstance(value, (list, tuple)):
        return ((f"[{index}]", child) for index, child in enumerate(value))
    return iter(())


def name_roots(roots: Sequence[torch.Tensor], frame: FrameType | None) -> tuple[NamedTensor, ...]:
    """Name each root by the variable of ``frame`` that holds it, or else ``loss``."""
    names = {
        id(value): name
        for name, value in reversed(variables_of(frame).items())
        if isinstance(value, torch.Tensor) and not name.startswith("_")
    }
    default = "loss" if len(roots) == 1 else "loss[{}]"
    return tuple(
        NamedTensor(names.get(id(root), default.format(nr)), root) for nr, root in enumerate(roots)
    )
