"""A training loop, written once: run bare it says what is right, run watched what was recorded."""

from __future__ import annotations

import contextlib
import functools
import math
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.graph import Graph, Record
from tb_gradgraph.statistics import OF_PARAMETERS, Statistics
from tests.logged import LoggedRun, LoggedTensor, read_one_run, read_tensor
from tests.oracle import statistics_of

#: Step, stage and backward pass of a record.
Place = tuple[int, str, int]
Gradients = Mapping[str, "torch.Tensor | None"]
Named = nn.Module | Mapping[str, torch.Tensor]
Loop = Callable[["Bare"], Any]


class Bare:
    """What a loop is given: it says here what happens, and plain torch's numbers are kept."""

    def __init__(self) -> None:
        self.gradients: dict[tuple[str, Place], dict[str, torch.Tensor | None]] = {}
        self.weights: dict[tuple[str, int], dict[str, tuple[float, float, float]]] = {}

    def watch(self, net: nn.Module, **options: Any) -> Any:
        """Begin to watch; give the watch, None where there is none."""

    def note(
        self,
        step: int,
        stage: str,
        net: Named,
        number: int = 0,
        divide_by: float = 1,
        tag: str = "",
    ) -> None:
        """Say that ``.grad`` is now what ``stage`` of ``step`` is to be, times a factor."""
        gradients = {name: tensor.grad for name, tensor in _named(net)}
        self.give(step, stage, gradients, number, divide_by, tag)

    def note_parts(
        self, step: int, loss: torch.Tensor, net: Named, number: int = 0, divide_by: float = 1
    ) -> None:
        """Say that a backward from ``loss`` is to come, whatever ``.grad`` holds now."""
        names, tensors = zip(*_named(net))
        found = torch.autograd.grad(loss, tensors, retain_graph=True, allow_unused=True)
        self.give(step, "backward", dict(zip(names, found)), number, divide_by)

    def give(
        self,
        step: int,
        stage: str,
        gradients: Gradients,
        number: int = 0,
        divide_by: float = 1,
        tag: str = "",
    ) -> None:
        """Say what the gradients are."""
        kept = self.gradients.setdefault((tag, (step, stage, number)), {})
        for name, gradient in gradients.items():
            copy = None if gradient is None else gradient.detach().clone()
            kept[name] = copy if copy is None or divide_by == 1 else copy / divide_by

    @contextlib.contextmanager
    def stepping(self, step: int, net: Named, tag: str = "") -> Iterator[None]:
        """Say that the optimizer of ``net`` steps in the block."""
        before = {name: tensor.detach().clone() for name, tensor in _named(net)}
        yield
        weights = self.weights.setdefault((tag, step), {})
        for name, tensor in _named(net):
            norm = _norm(before[name])
            moved = _norm(before[name] - tensor.detach())
            weights[name] = (norm, moved, moved / norm if norm else math.nan)


class Watched(Bare):
    """The same for the watched run, in which nothing is noted."""

    def __init__(self, writer: tb_gradgraph.SummaryWriter, options: Mapping[str, Any]) -> None:
        super().__init__()
        # No function of ours: it would be taken for the frame whose variables give names.
        self.watch = functools.partial(writer.watch, **{"every_n_steps": 1, **options})

    def note_parts(self, *_: Any, **__: Any) -> None:
        """Do nothing: it would be seen."""

    def give(self, *_: Any, **__: Any) -> None:
        """Do nothing."""


class Log:
    """What was recorded of one tag."""

    def __init__(self, logged: pathlib.Path | LoggedRun, tag: str | None = None) -> None:
        self.run = logged if isinstance(logged, LoggedRun) else read_one_run(logged)
        self.records = [record for record in self.run.records if tag in (None, record.tag)]

    @property
    def places(self) -> list[Place]:
        """Step, stage and pass of every record, in order."""
        return [(record.step, record.stage, record.backward_pass) for record in self.records]

    def record(self, step: int, stage: str, number: int | None = None) -> Record:
        """Return one record."""
        (found,) = (
            record
            for record in self.records
            if (record.step, record.stage) == (step, stage)
            and number in (None, record.backward_pass)
        )
        return found

    def graph(self, record: Record) -> Graph:
        """Return the graph of a record."""
        return self.run.graphs[record.graph_hash]

    def tensor(self, step: int, stage: str, name: str, number: int | None = None) -> LoggedTensor:
        """Return what is known of one tensor."""
        return read_tensor(self.run, self.record(step, stage, number), name)

    def compare(self, bare: Bare, tag: str) -> None:
        """Assert that all that plain torch says was recorded."""
        noted = {place: found for (of, place), found in bare.gradients.items() if of == tag}
        for (step, stage, number), gradients in noted.items():
            record = self.record(step, stage, number)
            for name, gradient in gradients.items():
                found = read_tensor(self.run, record, name)
                assert_gradient(found, gradient, f"{name} at {step, stage, number}")
        for (of, step), weights in bare.weights.items():
            for name, expected in weights.items() if of == tag else ():
                found = read_tensor(self.run, self.record(step, "applied"), name).statistics
                if found is not None:
                    own = [getattr(found, column) for column in OF_PARAMETERS[:3]]
                    own = [math.nan if value is None else value for value in own]
                    np.testing.assert_allclose(own, expected, 1e-5, 1e-12, err_msg=f"{step} {name}")


def run_both(loop: Loop, logdir: pathlib.Path, **options: Any) -> Log:
    """Run a loop bare and watched; assert that it ends the same, and that what it noted was recorded.

    What the loop returns, tensors in any containers, has to be bit-equal.
    """
    bare = Bare()
    torch.manual_seed(0)
    expected = loop(bare)
    state = torch.get_rng_state()
    torch.manual_seed(0)
    with tb_gradgraph.SummaryWriter(str(logdir)) as writer:
        found = loop(Watched(writer, options))
    assert_bit_equal((found, torch.get_rng_state()), (expected, state))
    for tag in {tag for tag, _ in [*bare.gradients, *bare.weights]}:
        Log(logdir, tag or None).compare(bare, tag)
    return Log(logdir)


def assert_gradient(found: LoggedTensor, gradient: torch.Tensor | None, where: str) -> None:
    """Assert that a tensor's statistics, and its elements where kept, are those of ``gradient``."""
    if gradient is None:
        assert found.statistics is None, f"{where}: expected no gradient"
        return
    assert found.statistics is not None, f"{where}: expected a gradient"
    assert_statistics(found.statistics, gradient, where)
    if found.gradient is not None and gradient.layout == torch.strided:
        least = torch.complex64 if gradient.is_complex() else torch.float32
        wide = gradient.to(least) if gradient.dtype.itemsize < least.itemsize else gradient
        np.testing.assert_allclose(found.gradient, wide.numpy(), 1e-5, 1e-30, err_msg=where)


def assert_statistics(found: Statistics, gradient: torch.Tensor, where: str) -> None:
    """Compare with what plain Python computes."""
    expected = statistics_of(gradient)
    scale = expected["abs_max"] or 1.0
    for name, value in expected.items():
        own = getattr(found, name)
        if value is None or own is None:
            assert own is value, f"{where}: {name} is {own}, expected {value}"
        elif isinstance(value, int):
            assert own == value, f"{where}: {name}"
        else:
            close = math.isclose(own, value, rel_tol=2e-5, abs_tol=2e-6 * scale)
            assert close, f"{where}: {name} is {own}, expected {value}"


def assert_bit_equal(found: Any, expected: Any) -> None:
    """Compare nested containers of tensors bit by bit."""
    ours, ours_spec = torch.utils._pytree.tree_flatten(found)
    theirs, spec = torch.utils._pytree.tree_flatten(expected)
    assert ours_spec == spec
    for own, value in zip(ours, theirs, strict=True):
        if isinstance(value, torch.Tensor):
            assert own.dtype == value.dtype and own.shape == value.shape
            own, value = (tensor.detach().to_dense().reshape(-1) for tensor in (own, value))
            assert own.view(torch.uint8).equal(value.view(torch.uint8))
        else:
            assert own == value or (own != own and value != value)


def state_of(net: nn.Module, *optimizers: torch.optim.Optimizer) -> Any:
    """Return all that a training leaves: parameters, buffers, gradients, optimizer state."""
    grads = {name: parameter.grad for name, parameter in net.named_parameters()}
    return dict(net.state_dict()), grads, [optimizer.state_dict() for optimizer in optimizers]


def training(
    steps: int,
    step_of: Callable[[Bare, int, Any, torch.optim.Optimizer], None],
    weighs: bool = False,
) -> Loop:
    """Return a loop of SGD over ``small_net`` with ``step_of`` between ``zero_grad`` and the step.

    Args:
        steps: How many.
        step_of: Runs the backwards; given what the loop is given, the step, net and optimizer.
        weighs: Whether weights and updates are noted for comparison too.
    """

    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer)
        for step in range(steps):
            optimizer.zero_grad()
            step_of(run, step, net, optimizer)
            with run.stepping(step, net) if weighs else contextlib.nullcontext():
                optimizer.step()
        return state_of(net, optimizer)

    return loop


def small_net() -> nn.Module:
    """Make a net of two layers, one of whose weights has more elements than are kept whole."""
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2))


def _named(net: Named) -> list[tuple[str, torch.Tensor]]:
    return list(net.named_parameters() if isinstance(net, nn.Module) else net.items())


def _norm(tensor: torch.Tensor) -> float:
    dense = tensor.detach().to_dense().reshape(-1)
    wide = torch.complex128 if dense.is_complex() else torch.float64
    return float(torch.linalg.vector_norm(dense.to(wide)))
