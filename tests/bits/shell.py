"""The model that is watched: one operator, or one module, called in several ways with inputs of its own."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree

from tests.bits.outcome import Outcome, bits_of, names_of, randomness, seed_all


class Inputs:
    """Arguments of one sample, of which copies are made: strides and shared memory are kept."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        leaves, self._spec = _pytree.tree_flatten((tuple(args), dict(kwargs)))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.need_gradient = [n for n, tensor in enumerate(tensors) if tensor.requires_grad]
        self._leaves = [
            leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves
        ]

    def tensors(self) -> list[torch.Tensor]:
        """Copy all tensors."""
        memory: dict[int, Any] = {}
        tensors = [leaf for leaf in self._leaves if isinstance(leaf, torch.Tensor)]
        return [
            copy.deepcopy(tensor, memory) if tensor.layout == torch.strided else tensor.clone()
            for tensor in tensors
        ]

    def arguments(self, tensors: Sequence[torch.Tensor]) -> Any:
        """Put tensors into their places: positional and keyword arguments."""
        given = iter(tensors)
        leaves = [next(given) if isinstance(x, torch.Tensor) else x for x in self._leaves]
        return _pytree.tree_unflatten(leaves, self._spec)


@dataclasses.dataclass(frozen=True)
class Way:
    """How a sample is called."""

    name: str
    make_call: Callable[[], Callable[..., Any]]  # gives a function, or a module
    inputs: Inputs
    need: Collection[int]  # which tensors among the inputs need a gradient
    process: Callable[[Any], Any]  # what of the output a backward may begin with
    context: Callable[[], Any] = contextlib.nullcontext


class Part(nn.Module):
    """Calls a function or module; inputs that need a gradient are parameters."""

    def __init__(self, way: Way) -> None:
        super().__init__()
        self._way = way
        self.call = way.make_call()
        self._tensors: list[torch.Tensor] = way.inputs.tensors()
        for number in way.need:
            self._tensors[number] = parameter = nn.Parameter(self._tensors[number])
            self.register_parameter(f"input{number}", parameter)

    def renew(self) -> None:
        """Have inputs as they were before the last forward; parameters stay the same objects."""
        for number, tensor in enumerate(self._way.inputs.tensors()):
            if isinstance(self._tensors[number], nn.Parameter):
                self._tensors[number].data = tensor
            else:
                self._tensors[number] = tensor
        self.zero_grad()

    def forward(self) -> tuple[Any, list[torch.Tensor]]:
        """Return what the sample gives, and what a backward may begin with."""
        args, kwargs = self._way.inputs.arguments(self._tensors)
        with self._way.context():
            output = self.call(*args, **kwargs)
        leaves = _pytree.tree_leaves(self._way.process(output))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        return output, [_dense(tensor) for tensor in tensors if tensor.requires_grad]


class Shell(nn.Module):
    """Runs the parts, and has a parameter that always gets a gradient, so that there is a backward."""

    def __init__(self, ways: Sequence[Way]) -> None:
        super().__init__()
        self.anchor = nn.Parameter(torch.ones(2))
        self.parts = nn.ModuleDict({f"way{n}": Part(way) for n, way in enumerate(ways)})

    def forward(self) -> tuple[list[Any], list[list[torch.Tensor]]]:
        """Return outputs and roots by part; the last roots are of no part."""
        found = [part() for part in self.parts.values()]
        return [output for output, _ in found], [*(r for _, r in found), [self.anchor * 2]]


def visit(shell: Shell, seed: int) -> list[Outcome]:
    """Run forward and backward once; give what came by part, with what raised."""
    for part in shell.parts.values():
        part.renew()
    seed_all(seed)
    outputs, roots, raised = [None] * len(shell.parts), [[] for _ in shell.parts], None
    try:
        outputs, roots = shell()
        every = [root for of_part in roots for root in of_part]
        torch.autograd.backward(every, [_seed_of(root, seed) for root in every])
    except Exception as error:
        raised = error.with_traceback(None)
    state = randomness()
    return [
        _outcome(part, *of_part, raised, state)
        for part, *of_part in zip(shell.parts.values(), outputs, roots)
    ]


def _outcome(
    part: nn.Module, output: Any, roots: list[torch.Tensor], raised: Exception | None, state: Any
) -> Outcome:
    parameters = dict(part.named_parameters())
    return Outcome(
        error="" if raised is None else f"{type(raised).__name__}: {raised}",
        outputs=bits_of(output),
        gradients=[(name, bits_of(parameter.grad)) for name, parameter in parameters.items()],
        state=[*map(bits_of, parameters.values()), *map(bits_of, part.buffers())],
        names=names_of(roots),
        randomness=state,
    )


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.layout == torch.strided else tensor.to_dense()


def _seed_of(root: torch.Tensor, seed: int) -> torch.Tensor:
    """Draw what a backward begins with, apart from the generator that the sample uses."""
    generator = torch.Generator().manual_seed(seed)
    wide = torch.complex64 if root.is_complex() else torch.float32
    return torch.randn(root.shape, dtype=wide, generator=generator).to(root.dtype)
