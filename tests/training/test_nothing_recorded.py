"""A watch that came to nothing says why when it is closed, once; one that did well says nothing."""

from __future__ import annotations

import copy
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests import warm
from tests.training.loops import small_net


def _train(net: nn.Module, *optimizers: torch.optim.Optimizer, steps: int = 2) -> None:
    for _ in range(steps):
        net(torch.ones(2, 3)).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()


def _sgd(net: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(net.parameters(), 0.1)


def _a_copy(writer: Any) -> None:
    net = small_net()
    writer.watch(net, optimizer=_sgd(net))
    other = copy.deepcopy(net)
    _train(other, _sgd(other))


def _frozen(writer: Any) -> None:
    net, head = small_net().requires_grad_(False), nn.Linear(2, 1)
    optimizer = _sgd(head)
    writer.watch(net)
    head(net(torch.ones(2, 3))).sum().backward()
    optimizer.step()


def _never_due(writer: Any) -> None:
    net = small_net()
    optimizer = _sgd(net)
    writer.watch(net, optimizer=optimizer).step = 101
    _train(net, optimizer, steps=6)


def _never_due_without_optimizer(writer: Any) -> None:
    net = small_net()
    writer.watch(net).step = 101
    _train(net, _sgd(net), steps=6)


def _no_backward(writer: Any) -> None:
    net = small_net()
    optimizer = _sgd(net)
    writer.watch(net, optimizer=optimizer)
    for _ in range(3):
        for parameter in net.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step()


def _another_optimizer(writer: Any) -> None:
    net = small_net()
    writer.watch(net, optimizer=torch.optim.Adam(net.parameters()))
    _train(net, _sgd(net), steps=3)


def _another_loss(writer: Any) -> None:
    net, generator = small_net(), nn.Linear(3, 3)
    writer.watch(net, optimizer=_sgd(net))
    of_generator = _sgd(generator)
    net(generator(torch.ones(2, 3))).sum().backward()
    of_generator.step()


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (_a_copy, "'Sequential': nothing was recorded: 2 backward passes ran, but none of them "
                  "reached a parameter of this model. Watch the module"),
        (_frozen, "none of its parameters requires a gradient; all are frozen."),
        (_never_due, "steps 101 to 107 ran, but none of them was due with every_n_steps=50."),
        (_never_due_without_optimizer, "steps 101 to 107 ran, but none of them was due"),
        (_no_backward, "its optimizer stepped 3 times, but no backward of torch ran"),
        (_another_optimizer, "the optimizer Adam never stepped, but the optimizer SGD did: 3 "
                             "backward passes are recorded as one step, without weights and"),
        (_another_loss, "reached only from the loss of another optimizer, and the optimizer SGD never"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("closed_by", ["writer", "watch"])
def test_the_cause_is_named(
    run: Callable[[Any], None], message: str, closed_by: str, tmp_path: pathlib.Path
) -> None:
    writer = tb_gradgraph.SummaryWriter(str(tmp_path))
    run(writer)
    (watch,) = writer._tb_gradgraph.watches
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        (writer if closed_by == "writer" else watch).close()
        watch.close()
        writer.close()
    (found,) = (str(each.message) for each in warned)
    assert message in found


def _nothing(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Run nothing."""


def _only_forward(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    net(torch.ones(2, 3))


def _one_backward(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    net(torch.ones(2, 3)).sum().backward()


def _a_backward_that_raises(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    loss = net(torch.ones(2, 3)).sum()
    loss.register_hook(lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        loss.backward()


def _a_training(net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    _train(net, optimizer)


@pytest.mark.parametrize("with_optimizer", [True, False])
@pytest.mark.parametrize(
    "run", [_nothing, _only_forward, _one_backward, _a_backward_that_raises, _a_training]
)
def test_nothing_is_said_where_nothing_is_wrong(
    run: Callable[[nn.Module, torch.optim.Optimizer], None],
    with_optimizer: bool,
    tmp_path: pathlib.Path,
) -> None:
    net = small_net()
    optimizer = _sgd(net)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=optimizer if with_optimizer else None)
        run(net, optimizer)


def test_an_exception_says_enough(tmp_path: pathlib.Path) -> None:
    def fail(writer: Any) -> None:
        _a_copy(writer)
        raise ZeroDivisionError

    writer = tb_gradgraph.SummaryWriter(str(tmp_path))
    with pytest.raises(ZeroDivisionError), writer:
        fail(writer)


def test_a_watch_that_another_follows_says_nothing(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizer = _sgd(net)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, optimizer=_sgd(net))
        _train(net, steps=2)
        writer.watch(net, optimizer=optimizer)
        _train(net, optimizer)


@pytest.mark.parametrize(("end", "warns"), [("", True), ("1 / 0", False)])
def test_a_program_that_closes_nothing(end: str, warns: bool, tmp_path: pathlib.Path) -> None:
    program = f"""
import torch, tb_gradgraph
net, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
writer = tb_gradgraph.SummaryWriter({str(tmp_path)!r})
watch = writer.watch(net)
other(torch.ones(1, 2)).backward()
{end}
"""
    ended = warm.run("-c", program)
    assert ("nothing was recorded: 1 backward passes" in ended.stderr) == warns, ended.stderr
