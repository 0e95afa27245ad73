"""After close(), and after each step, nothing of ours is left on the user's objects, and none is kept."""

from __future__ import annotations

import gc
import pathlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.overrides
from torch import nn
from torch.nn.modules import module as torch_module
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

import tb_gradgraph
from tests.training.loops import small_net

LEVELS = ("param", "module", "op")


def state_of_process(net: nn.Module, *optimizers: torch.optim.Optimizer) -> Any:
    """Note whatever a watch may put somewhere, module, tensor, optimizer, torch itself."""
    holders = [*net.modules(), *optimizers]
    return (
        [{n: list(v) for n, v in vars(h).items() if n.endswith("_hooks")} for h in holders],
        [sorted(vars(holder)) for holder in holders],
        [(p._backward_hooks, p._post_accumulate_grad_hooks) for p in net.parameters()],
        {n: list(v) for n, v in vars(torch_module).items()
         if n.startswith("_global_") and isinstance(v, dict)},
        torch.autograd._engine_run_backward,
        torch.amp.GradScaler.step,
        torch.amp.GradScaler.unscale_,
        torch.nn.utils.clip_grad._get_total_norm,
        torch.nn.utils.get_total_norm,
        torch.Tensor.register_hook,
        _get_current_dispatch_mode_stack(),
        torch.overrides._len_torch_function_stack(),
        gc.isenabled(),
    )  # fmt: skip


@pytest.fixture
def writer(tmp_path: pathlib.Path) -> Iterator[tb_gradgraph.SummaryWriter]:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        yield writer


def _step(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    net(torch.ones(2, 3)).square().mean().backward()
    optimizer.step()


Stop = Callable[[nn.Module, torch.optim.Optimizer, Callable[[], None]], Any]


def _at_once(_net: Any, _optimizer: Any, close: Callable[[], None]) -> None:
    close()


def _after_steps(net: Any, optimizer: Any, close: Callable[[], None]) -> None:
    _step(net, optimizer)
    _step(net, optimizer)
    close()


def _after_the_forward(net: Any, _optimizer: Any, close: Callable[[], None]) -> Any:
    loss = net(torch.ones(2, 3)).sum()
    close()
    return loss


def _after_the_backward(net: Any, _optimizer: Any, close: Callable[[], None]) -> Any:
    loss = net(torch.ones(2, 3)).sum()
    loss.backward(retain_graph=True)
    close()
    return loss


def _within_the_forward(net: Any, optimizer: Any, close: Callable[[], None]) -> None:
    handle = net[1].register_forward_hook(lambda *_: close())
    _step(net, optimizer)
    handle.remove()


def _within_the_backward(net: Any, _optimizer: Any, close: Callable[[], None]) -> None:
    hidden = net[1](net[0](torch.ones(2, 3)))
    hidden.register_hook(lambda _: close())
    net[2](hidden).sum().backward()


def _after_a_forward_that_raises(net: Any, _optimizer: Any, close: Callable[[], None]) -> None:
    with pytest.raises(RuntimeError):
        net(torch.ones(2, 4))
    close()


def _after_a_backward_that_raises(net: Any, _optimizer: Any, close: Callable[[], None]) -> Any:
    def fail(_: torch.Tensor) -> None:
        raise ValueError("the user's own")

    hidden = net[0](torch.ones(2, 3))
    hidden.register_hook(fail)
    loss = net[2](net[1](hidden)).sum()
    with pytest.raises(ValueError, match="the user's own"):
        loss.backward()
    close()
    return loss


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "stop",
    [
        _at_once,
        _after_steps,
        _after_the_forward,
        _after_the_backward,
        _within_the_forward,
        _within_the_backward,
        _after_a_forward_that_raises,
        _after_a_backward_that_raises,
    ],
)
def test_closing_at_any_time(stop: Stop, level: str, writer: Any) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    before = state_of_process(net, optimizer)
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)
    kept = stop(net, optimizer, watch.close)
    assert watch.closed and watch.failure is None
    assert state_of_process(net, optimizer) == before
    watch.close()
    _step(net, optimizer)
    del kept
    alive = [weakref.ref(each) for each in (net, net[0].weight, optimizer)]
    del net, optimizer
    gc.collect()
    assert [reference() for reference in alive] == [None] * 3


@pytest.mark.parametrize("level", LEVELS)
def test_a_watch_keeps_neither_model_nor_optimizer(level: str, writer: Any) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)
    _step(net, optimizer)
    engine = torch.autograd._engine_run_backward
    alive = [weakref.ref(each) for each in (net, net[0].weight, optimizer)]
    del net, optimizer
    gc.collect()
    assert [reference() for reference in alive] == [None] * 3
    assert watch.closed, "there is nothing left to watch"
    assert torch.autograd._engine_run_backward is not engine


def _live() -> tuple[int, int]:
    """Count what Python holds: all objects, and tensors."""
    gc.collect()
    objects = gc.get_objects()
    return len(objects), sum(issubclass(type(each), torch.Tensor) for each in objects)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("retain", [False, True])
def test_memory_is_flat(retain: bool, level: str, writer: Any) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)

    def steps(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            net(torch.ones(2, 3)).square().mean().backward(retain_graph=retain)
            optimizer.step()
        writer.flush()

    steps(5)
    before, tensors = _live()
    steps(50)
    after, tensors_after = _live()
    assert watch.step == 55
    assert tensors_after <= tensors
    assert after - before < 50, "less than one object a step"


@pytest.mark.parametrize("level", LEVELS)
def test_autograd_nodes_go_with_their_loss(level: str, writer: Any) -> None:
    """A hook that held the list of nodes would keep them for good: autograd cannot see such a ring."""

    class Kept(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.mark = Mark()
            marks.append(weakref.ref(ctx.mark))
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient

    class Mark:
        pass

    marks: list[Any] = []
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)
    for _ in range(4):
        optimizer.zero_grad()
        loss = Kept.apply(net(torch.ones(300, 3))).square().mean()
        loss.backward()
        optimizer.step()
    del loss
    gc.collect()
    assert [mark() for mark in marks] == [None] * 4


@pytest.mark.parametrize("level", LEVELS)
def test_forwards_whose_backward_never_comes(level: str, writer: Any) -> None:
    """As an evaluation without no_grad, in a step that is recorded."""
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=1, level=level)
    x = torch.ones(2, 3)
    _step(net, optimizer)

    def evaluate(count: int) -> None:
        for _ in range(count):
            net(x).argmax(1)

    evaluate(500)
    before, tensors = _live()
    evaluate(2_000)
    after, tensors_after = _live()
    assert tensors_after <= tensors
    assert after - before < 250
    _step(net, optimizer)
    assert watch.failure is None and watch.step == 2


def test_a_first_forward_without_backward_keeps_no_graph(writer: Any) -> None:
    """At the first step, which is traced, what the model cuts off is not kept for ever."""

    class Cutting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.lin(x)
            alive.append(weakref.ref(y.grad_fn._saved_self if False else y))
            return self.lin(y.detach()) + y

    alive: list[Any] = []
    net = Cutting()
    writer.watch(net, every_n_steps=1, level="op")
    _, tensors = _live()
    for _ in range(200):
        net(torch.ones(64, 3))
    _, after = _live()
    assert after - tensors < 50
