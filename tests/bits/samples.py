"""Samples of torch's own list of operators, each with its gradient in every way that it can have one."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import random
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tests.bits.outcome import seed_all
from tests.bits.shell import Inputs, Way

_AMONG = 12  # the first samples of an operator, of which some are chosen


@dataclasses.dataclass(frozen=True)
class Sample:
    """The ways to call one operator or module with one set of inputs."""

    operator: str
    dtype: str
    index: int  # among the samples of the operator
    ways: tuple[Way, ...]

    @property
    def place(self) -> str:
        """Name it in full."""
        only = f" ({self.ways[0].name})" if len(self.ways) == 1 else ""
        return f"{self.operator} {self.dtype} sample {self.index}{only}"

    def split(self) -> list[Sample]:
        """Return each way as a separate sample."""
        return [dataclasses.replace(self, ways=(way,)) for way in self.ways]


@dataclasses.dataclass(frozen=True)
class Source:
    """All samples of one operator or module in one type."""

    operator: str
    dtype: str
    draw: Callable[[], Iterator[list[Way]]]
    is_whole: bool = False  # whether all are always drawn

    def samples(self, seed: int, each: int | None) -> list[Sample]:
        """Draw them all, or ``each`` of the first dozen at random."""
        each = None if self.is_whole else each
        number = zlib.crc32(f"{seed} {self.operator} {self.dtype}".encode())
        seed_all(number)
        found = list(enumerate(itertools.islice(self.draw(), None if each is None else _AMONG)))
        if each is not None and len(found) > each:
            found = random.Random(number).sample(found, each)
        return [Sample(self.operator, self.dtype, index, tuple(ways)) for index, ways in found]


def operators(dtypes: list[str]) -> Iterator[Source]:
    """Yield every operator of torch's list in each of the types that it takes."""
    from torch.testing._internal.common_methods_invocations import op_db

    for name in dtypes:
        dtype = getattr(torch, name)
        for operator in op_db:
            if dtype in operator.supported_dtypes("cpu"):
                yield Source(_name_of(operator), name, functools.partial(_draw, operator, dtype))


def _name_of(operator: Any) -> str:
    variant = operator.variant_test_name
    return f"{operator.name}.{variant}" if variant else operator.name


def _draw(operator: Any, dtype: torch.dtype) -> Iterator[list[Way]]:
    has_gradient = operator.supports_autograd and dtype in operator.supported_backward_dtypes("cpu")
    for sample in operator.sample_inputs("cpu", dtype, requires_grad=has_gradient):
        inputs = Inputs((sample.input, *sample.args), sample.kwargs)
        calls = {"": operator.get_op()}
        if operator.inplace_variant is not None and not sample.broadcasts_input:
            calls["in place, "] = functools.partial(_on_a_copy, operator.inplace_variant)
        yield [
            Way(prefix + name, functools.partial(_same, call), inputs, need, sample.output_process_fn_grad)
            for prefix, call in calls.items()
            for name, need in needs_of(inputs.need_gradient).items()
        ]  # fmt: skip


def needs_of(places: list[int]) -> dict[str, list[int]]:
    """Return which inputs need a gradient: none, all, the first, the rest."""
    needs = {"gradient of none": []}
    if places:
        needs["gradient of all"] = places
    if len(places) > 1:
        needs |= {"gradient of the first": places[:1], "gradient of the rest": places[1:]}
    return needs


def _same(call: Callable[..., Any]) -> Callable[..., Any]:
    return call


def _on_a_copy(call: Callable[..., Any], first: Any, *args: Any, **kwargs: Any) -> Any:
    """Change a copy: torch does not let a parameter be changed."""
    return call(first.clone() if isinstance(first, torch.Tensor) else first, *args, **kwargs)
