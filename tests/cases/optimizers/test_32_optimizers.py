"""Case 32: optimizers that are not made as torch's own are; each is followed, and nothing is left on it."""

from __future__ import annotations

import copy
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.training.loops import Bare, assert_bit_equal, run_both, small_net, state_of

Parameters = list[torch.Tensor]


class Private(torch.optim.Optimizer):
    """As Opacus' DPOptimizer: no ``super().__init__()``, changes gradients, then has another step."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.original_optimizer = optimizer
        self.skips = False

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self.original_optimizer.param_groups

    @property
    def state(self) -> Any:
        return self.original_optimizer.state

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.original_optimizer.zero_grad(set_to_none)

    def state_dict(self) -> Any:
        return self.original_optimizer.state_dict()

    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = parameter.grad * 0.5
        self.original_optimizer.step()


class Plain:
    """What steps like an optimizer and is none of torch's."""

    def __init__(self, parameters: Any) -> None:
        self.param_groups = [{"params": list(parameters), "lr": 0.1}]

    def zero_grad(self) -> None:
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for parameter in self.param_groups[0]["params"]:
            parameter -= 0.1 * parameter.grad
        return loss

    def state_dict(self) -> dict[str, Any]:
        return {}


class Derived(Plain):
    """Calls its base's step within its own."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        return super().step(closure)


class Uninitialised(Derived, torch.optim.Optimizer):
    """torch's class without what its ``__init__`` makes."""


class Slotted:
    __slots__ = ("param_groups",)
    zero_grad, step, state_dict = Plain.zero_grad, Plain.step, Plain.state_dict
    __init__ = Plain.__init__


class OwnStep(Plain):
    """Keeps its step on the object, as schedulers put it there."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters)
        self.step = super().step


class Averaged(Plain):
    """As schedule-free wrappers and Lookahead: moves weights around the step of the one it holds."""

    def __init__(self, parameters: Any) -> None:
        self.base = torch.optim.SGD(list(parameters), 0.1)
        self.param_groups = self.base.param_groups

    def step(self, closure: Any = None) -> None:
        self.base.step()
        with torch.no_grad():
            for parameter in self.param_groups[0]["params"]:
                parameter.mul_(0.9)


class Delegates:
    """Has nothing of its own; what it has a step of is inside."""

    def __init__(self, parameters: Any) -> None:
        self.inside = torch.optim.SGD(list(parameters), 0.1)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["inside"], name)


KINDS: dict[str, Callable[[Any], Any]] = {
    "a private one": lambda p: Private(torch.optim.SGD(p, 0.1)),
    "two wrappers": lambda p: Private(Private(torch.optim.Adam(p, 0.1))),
    "a look-alike": Plain,
    "its subclass": Derived,
    "torch's, not initialised": Uninitialised,
    "with slots": Slotted,
    "with a step of its own": OwnStep,
    "around another": Averaged,
    "that delegates": Delegates,
}


def _traces(optimizer: Any) -> Any:
    """Note what a watch may have put on an optimizer or its class."""
    kinds = [kind for kind in type(optimizer).__mro__ if kind is not object]
    held = [dict(getattr(optimizer, "__dict__", {}))]
    inner = getattr(optimizer, "original_optimizer", None) or getattr(optimizer, "inside", None)
    hooks = {n: list(v) for n, v in getattr(inner, "__dict__", {}).items() if n.endswith("_hooks")}
    return [vars(kind).get("step") for kind in kinds], held, hooks


@pytest.mark.parametrize("kind", KINDS)
def test_each_is_followed(kind: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = KINDS[kind](net.parameters())
        before = _traces(optimizer)
        watch = run.watch(net, optimizer=optimizer)
        for step in range(3):
            assert watch is None or watch.step == step
            optimizer.zero_grad()
            net(torch.randn(4, 3)).square().mean().backward()
            run.note(step, "backward", net)
            with run.stepping(step, net):
                optimizer.step()
            run.note(step, "applied", net)  # as the step has left them
        if watch is not None:
            watch.close()
        assert _traces(optimizer) == before
        return state_of(net)

    log = run_both(loop, tmp_path)
    assert {place[0] for place in log.places} == {0, 1, 2}


@pytest.mark.parametrize("kind", ["a look-alike", "its subclass", "with slots"])
def test_with_a_closure(kind: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = small_net()
        optimizer = KINDS[kind](net.parameters())
        run.watch(net, optimizer=optimizer)
        for step in range(2):

            def closure(x: torch.Tensor = torch.randn(4, 3)) -> torch.Tensor:  # noqa: B008
                optimizer.zero_grad()
                loss = net(x).square().mean()
                loss.backward()
                return loss

            with run.stepping(step, net):
                assert isinstance(optimizer.step(closure), torch.Tensor)
            run.note(step, "applied", net)
        return state_of(net)

    assert (1, "applied", 0) in run_both(loop, tmp_path).places


def test_one_that_skips_steps_counts_those_that_it_makes(tmp_path: pathlib.Path) -> None:
    """A private optimizer collects some batches before its own steps."""
    net = small_net()
    optimizer = Private(torch.optim.SGD(net.parameters(), 0.1))
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for micro in range(4):
            net(torch.ones(1, 3)).sum().backward()
            if micro % 2:
                optimizer.step()
        assert watch.step == 2


def test_others_of_its_class_and_copies_are_not_counted(tmp_path: pathlib.Path) -> None:
    net, other = small_net(), small_net()
    optimizer, stranger = Plain(net.parameters()), Plain(other.parameters())
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        twin = copy.deepcopy(optimizer)
        for one in (net, other):
            one(torch.ones(1, 3)).sum().backward()
        for given, own in zip(twin.param_groups[0]["params"], net.parameters()):
            given.grad = torch.ones_like(own)
        before = [parameter.clone() for parameter in net.parameters()]
        stranger.step()
        twin.step()
        assert watch.step == 0
        assert_bit_equal(before, list(net.parameters()))
        optimizer.step()
        assert watch.step == 1


def test_a_step_that_raises_is_the_users(tmp_path: pathlib.Path) -> None:
    class Failing(Plain):
        def step(self, closure: Any = None) -> Any:
            raise LookupError("the user's own")

    net = small_net()
    optimizer = Failing(net.parameters())
    own = Failing.step
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        net(torch.ones(1, 3)).sum().backward()
        for _ in range(2):
            with pytest.raises(LookupError, match="the user's own"):
                optimizer.step()
        assert watch.failure is None and watch.step == 0
    assert Failing.step is own


def test_a_scaler_that_skips_its_step(tmp_path: pathlib.Path) -> None:
    net = small_net()
    optimizer = Plain(net.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, optimizer=optimizer, every_n_steps=1)
        for value in (1.0, float("inf"), 1.0):
            optimizer.zero_grad()
            scaler.scale(net(torch.full((1, 3), value)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        assert watch.step == 3 and watch.failure is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: 3, "got int (has no step())"),
        (lambda _: Plain, "got type (a class)"),
        (lambda n: n, "got Sequential (has no step())"),
        (lambda _: type("Steps", (), {"step": print})(), 'got Steps (has no param_groups, a list'),
        (lambda n: torch.optim.lr_scheduler.StepLR(torch.optim.SGD(n.parameters(), 1), 1),
         "got StepLR (a scheduler)"),
    ],
)  # fmt: skip
def test_what_is_no_optimizer_is_refused(
    make: Callable[[nn.Module], Any], message: str, tmp_path: pathlib.Path
) -> None:
    net = small_net()
    given = make(net)
    message = message.replace("got type", f"got {getattr(given, '__name__', 'type')}")
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(tb_gradgraph.CaptureError, match=re.escape(message)):
            writer.watch(net, optimizer=given)


def test_one_that_cannot_be_followed_is_refused(tmp_path: pathlib.Path) -> None:
    class Fixed:
        __slots__ = ("inside",)

        def __init__(self, parameters: Any) -> None:
            object.__setattr__(self, "inside", Plain(parameters))

        def __getattr__(self, name: str) -> Any:
            return getattr(object.__getattribute__(self, "inside"), name)

    net = small_net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(tb_gradgraph.CaptureError, match="got Fixed, which takes neither hooks"):
            writer.watch(net, optimizer=Fixed(net.parameters()))


def test_one_that_steps_copies_of_the_weights_is_told_so(tmp_path: pathlib.Path) -> None:
    net = small_net()
    master = [parameter.detach().clone() for parameter in net.parameters()]
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.warns(UserWarning, match="copies of them .master weights"):
            watch = writer.watch(net, optimizer=Plain(master), every_n_steps=1)
        net(torch.ones(1, 3)).sum().backward()
    assert watch.failure is None
