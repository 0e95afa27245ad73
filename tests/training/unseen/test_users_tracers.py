"""The user's tracers, profilers and debuggers go on as before, in whatever order they come and go."""

# ruff: noqa: RET504  that a variable is assigned before it is returned is what is tested

from __future__ import annotations

import contextlib
import cProfile
import gc
import pathlib
import pstats
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest
import torch
from torch import nn

from tb_gradgraph.autograd.user_code.anomaly_lines import tell_what_is_lost
from tb_gradgraph.graph import Graph
from tests.training.loops import Bare, run_both, state_of

HEARS_BESIDE = sys.version_info >= (3, 12)  # sys.monitoring
HERE = __file__


def helper(given: torch.Tensor) -> torch.Tensor:
    inner = given.exp()
    return inner


class Net(nn.Module):
    """Calls ``enter`` when its forward begins, and ``leave`` in its middle."""

    def __init__(self, enter: Callable[[], Any], leave: Callable[[], Any]) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 2)
        self.enter, self.leave = enter, leave

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.enter()
        h = self.lin(x)
        out = helper(h)
        self.leave()
        y = out * 2
        return y


def _nothing() -> None:
    return None


class Tracer:
    """The user's own: notes the lines of this file that run while it is on."""

    def __init__(self, install: Callable[[Any], None], current: Callable[[], Any]) -> None:
        self.seen: list[tuple[str, str, int]] = []
        self.install, self.current = install, current
        self.before: list[Any] = []

    def enter(self) -> None:
        self.before.append(self.current())
        self.install(self)

    def leave(self) -> None:
        self.install(self.before.pop() if self.before else None)

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == HERE and frame.f_code.co_name in ("helper", "forward"):
            self.seen.append((frame.f_code.co_name, event, frame.f_lineno))
        return self


def _tracer() -> Tracer:
    return Tracer(sys.settrace, sys.gettrace)


def _profiler() -> Tracer:
    return Tracer(sys.setprofile, sys.getprofile)


def _graph_of(
    net: nn.Module, run: Bare, before: Callable[[], Any], after: Callable[[], Any]
) -> Any:
    """Train two steps; ``before`` is called at the start of each, ``after`` when its loss is there."""
    run.watch(net, level="op")
    for _ in range(2):
        before()
        loss = net(torch.ones(2, 3)).square().sum()
        after()
        loss.backward()
    return state_of(net)


def _assert_lines(graph: Graph, has_names: bool = True) -> None:
    lines = {node.operation: node.source for node in graph.nodes if node.requires_grad}
    begin = Net.forward.__code__.co_firstlineno
    assert lines["AddmmBackward0"].endswith(f"test_users_tracers.py:{begin + 2} in forward")
    assert lines["ExpBackward0"].endswith("in helper")
    names = {slot.name for node in graph.nodes if node.operation for slot in node.slots}
    assert ({"h", "inner", "y"} <= names) == has_names


@pytest.mark.parametrize("make", [_tracer, _profiler])
def test_one_that_is_on_all_the_time(make: Callable[[], Tracer], tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        own = make()
        state = _graph_of(Net(_nothing, _nothing), run, own.enter, own.leave)
        assert own.current() is None
        return own.seen, state

    has_names = make is _profiler or HEARS_BESIDE
    tell_what_is_lost.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        log = run_both(loop, tmp_path)
    told = [warning for warning in caught if "another tracer is active" in str(warning.message)]
    assert len(told) == (0 if has_names else 1)
    (graph,) = log.run.graphs.values()
    _assert_lines(graph, has_names)


@pytest.mark.parametrize("make", [_tracer, _profiler])
def test_one_that_begins_and_ends_within_the_forward(
    make: Callable[[], Tracer], tmp_path: pathlib.Path
) -> None:
    def loop(run: Bare) -> Any:
        own = make()
        state = _graph_of(Net(own.enter, own.leave), run, _nothing, _nothing)
        assert own.current() is None
        return [event for event in own.seen if event[0] == "helper"], state

    assert run_both(loop, tmp_path).records


@pytest.mark.parametrize("make", [_tracer, _profiler])
def test_one_that_begins_within_and_ends_late(
    make: Callable[[], Tracer], tmp_path: pathlib.Path
) -> None:
    """What it puts back when it ends, ours among it, is over by then and goes by itself."""

    def loop(run: Bare) -> Any:
        own = make()
        state = _graph_of(Net(own.enter, _nothing), run, _nothing, own.leave)
        helper(torch.ones(1))
        assert own.current() is None
        return [event for event in own.seen if event[0] == "helper"], state

    assert run_both(loop, tmp_path).records


def test_one_that_ends_within(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        own = _tracer()
        state = _graph_of(Net(_nothing, own.leave), run, own.enter, _nothing)
        return own.seen, state, sys.gettrace() is None

    assert run_both(loop, tmp_path).records


@pytest.mark.parametrize("where", ["around", "within"])
def test_a_c_profiler(where: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        own = cProfile.Profile()
        inside = (own.enable, own.disable) if where == "within" else (_nothing, _nothing)
        outside = (own.enable, own.disable) if where == "around" else (_nothing, _nothing)
        state = _graph_of(Net(*inside), run, *outside)
        calls = pstats.Stats(own).stats
        return [n[1] for key, n in calls.items() if key[0] == HERE and key[2] == "helper"], state

    log = run_both(loop, tmp_path)
    (graph,) = log.run.graphs.values()
    _assert_lines(graph)


@pytest.mark.parametrize("where", ["around", "within", "left late"])
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")
def test_anomaly_mode(where: str, traced: bool, tmp_path: pathlib.Path) -> None:
    """Under a tracer our own lines come from that mode, where Python hears one thing at a time."""

    def loop(run: Bare) -> Any:
        own: list[Any] = []

        def enter() -> None:
            own.append(torch.autograd.detect_anomaly())
            own[-1].__enter__()

        def leave() -> None:
            own.pop().__exit__()

        tracer = _tracer()
        if traced:
            tracer.enter()
        net = Net(
            enter if where != "around" else _nothing, leave if where == "within" else _nothing
        )
        before = enter if where == "around" else _nothing
        state = _graph_of(net, run, before, leave if where != "within" else _nothing)
        if traced:
            tracer.leave()
        return state, torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()

    log = run_both(loop, tmp_path)
    (graph,) = log.run.graphs.values()
    _assert_lines(graph, not traced or HEARS_BESIDE)
    torch.autograd.set_detect_anomaly(False)


class Odd(nn.Module):
    """A forward whose variables are of every kind, and are looked at by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.found: list[Any] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cell = x * self.w

        def change() -> int:
            nonlocal cell
            cell = cell + 1
            return len(cell)

        gone = cell.exp()
        alive = weakref.ref(gone)
        length = change()
        del gone
        self.found.append(alive() is None)
        with contextlib.suppress(UnboundLocalError):
            self.found.append(gone)  # noqa: F821  that it is no more is what is tested
        self.found.append(sorted(self.own(1)))
        generator = self.parts(cell)
        part = next(generator)
        rest = sum(generator, part)
        return rest * length

    def own(self, given: int) -> dict[str, Any]:
        found = locals()
        found.pop("self")
        later = given + 1
        assert later == 2
        return dict(found)

    def parts(self, x: torch.Tensor) -> Iterator[torch.Tensor]:
        for factor in (1, 2, 3):
            yield x * factor


def test_variables_are_left_as_they_are(tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = Odd()
        run.watch(net, level="op")
        gc.disable()
        for _ in range(2):
            net(torch.ones(2, 3)).sum().backward()
        gc.enable()
        return net.found, state_of(net)

    assert run_both(loop, tmp_path).records


def test_other_threads_are_not_looked_at(tmp_path: pathlib.Path) -> None:
    """They run their own, also while a forward of ours does."""

    def loop(run: Bare) -> Any:
        own, found = _tracer(), []

        def elsewhere() -> None:
            found.append(sys.gettrace() is None and sys.getprofile() is None)
            own.enter()
            helper(torch.ones(1))
            own.leave()

        def enter() -> None:
            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()

        return _graph_of(Net(enter, _nothing), run, _nothing, _nothing), own.seen, found

    assert run_both(loop, tmp_path).records
