"""``watch.note``: numbers of the user's at the step that runs, and ``watch.quantities``."""

from __future__ import annotations

import math
import pathlib
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

import tb_gradgraph
from tb_gradgraph import CaptureError
from tests.training.loops import Bare, small_net, state_of
from tests.training.quantities.test_norms_and_settings import run, values_of


@pytest.fixture
def writer(tmp_path: pathlib.Path) -> Iterator[Any]:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        yield writer


def test_notes_belong_to_the_step_that_runs(tmp_path: pathlib.Path) -> None:
    def loop(told: Bare) -> Any:
        net = small_net()
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        watch = told.watch(net, optimizer=optimizer)
        for step in range(5):
            optimizer.zero_grad()
            output = net(torch.randn(4, 3))
            mutable = torch.tensor(float(step))
            if watch is not None:
                watch.note(tokens=-1, first=mutable)
                watch.note(tokens=100 + step)
            mutable.fill_(-1)
            output.sum().backward()
            optimizer.step()
        return state_of(net)

    found = run(tmp_path, loop, every_n_steps=2)
    assert found["note/tokens"] == [100, 102, 104]
    assert found["note/first"] == [0, 2, 4]


GIVEN = {
    "whole": (10**30, 1e30),
    "true": (True, 1.0),
    "nan": (math.nan, math.nan),
    "inf": (-math.inf, -math.inf),
    "fraction": (Fraction(1, 3), 1 / 3),
    "numpy": (np.float32(0.5), 0.5),
    "numpy_bool": (np.bool_(True), 1.0),
    "array": (np.array([[2]]), 2.0),
    "double": (torch.tensor(1 / 3, dtype=torch.float64), 1 / 3),
    "brain": (torch.tensor(0.5, dtype=torch.bfloat16), 0.5),
    "half": (torch.tensor([0.25], dtype=torch.half), 0.25),
    "bytes": (torch.tensor(200, dtype=torch.uint8), 200.0),
    "with_graph": (torch.ones(1, requires_grad=True).sum() * 3, 3.0),
    "größe/a.b-c": (1, 1.0),
    "self": (2, 2.0),
    "_": (3, 3.0),
}


def test_every_kind_of_number(writer: Any, tmp_path: pathlib.Path) -> None:
    net = small_net()
    watch = writer.watch(net, every_n_steps=1)
    watch.note(**{name: given for name, (given, _) in GIVEN.items()})
    net(torch.randn(4, 3)).sum().backward()
    writer.flush()
    found = values_of(tmp_path)
    for name, (_, expected) in GIVEN.items():
        np.testing.assert_equal(found[f"note/{name}"], [expected])


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"a b": 1}, "expected a name of at most 80 letters, .* got 'a b'"),
        ({"": 1}, "begins with a letter or '_', got ''"),
        ({"1a": 1}, "got '1a'"),
        ({"a,b": 1}, "got 'a,b'"),
        ({"a\n": 1}, r"got 'a\\n'"),
        ({"a" * 81: 1}, "got 'aaa"),
        ({"x": "1"}, "expected x to be one real number, got str. Pass an int, a float"),
        ({"x": None}, "got NoneType"),
        ({"x": 1j}, "got complex"),
        ({"x": torch.ones(2, 3)}, r"got a tensor of shape \[2, 3\]. Pass its mean\(\) or sum\(\)"),
        ({"x": torch.ones(0)}, r"got a tensor of shape \[0\]"),
        ({"x": torch.tensor(1j)}, "got torch.complex64 elements. Pass a real number"),
        ({"x": torch.ones((), device="meta")}, "got a tensor without memory"),
        ({"x": np.array(["a"])}, "got <U1 elements"),
        ({"x": np.array([1, 2])}, r"got a tensor of shape \[2\]"),
        ({"x": 10**400}, "got an integer beyond the range of a float"),
    ],
)
@pytest.mark.parametrize("is_idle", [False, True])
def test_anything_else_is_an_error(
    notes: dict[str, Any],
    message: str,
    is_idle: bool,
    writer: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = small_net()
    monkeypatch.setenv("TB_GRADGRAPH", "0" if is_idle else "1")
    watch = writer.watch(net, every_n_steps=50)
    watch.step = 7  # not even a recorded step
    with pytest.raises(CaptureError, match=r"watch.note\(\): .*" + message):
        watch.note(good=1, **notes)
    watch.note(good=1)
    watch.step = 0
    net(torch.randn(4, 3)).sum().backward()


def test_a_closed_watch_takes_them_and_does_nothing(writer: Any) -> None:
    net = small_net()
    watch = writer.watch(net, every_n_steps=1)
    net(torch.randn(4, 3)).sum().backward()
    watch.close()
    watch.note(x=1)
    assert watch.failure is None


def test_the_numbers_of_the_last_recorded_step(
    writer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = small_net()
    optimizer = torch.optim.SGD(net.parameters(), 0.125)
    watch = writer.watch(net, optimizer=optimizer, every_n_steps=2)
    assert watch.quantities == {}
    losses = []
    for step in range(4):
        optimizer.zero_grad()
        loss = net(torch.randn(4, 3)).square().mean()
        losses.append(loss.item())
        loss.backward()
        watch.note(step=step)
        optimizer.step()
    writer.flush()
    found = watch.quantities
    assert found["loss"] == pytest.approx(losses[2])
    assert (found["note/step"], found["lr/0"]) == (2, 0.125)
    assert found["grad_norm/applied"] == found["grad_norm/backward"]
    watch.close()
    monkeypatch.setenv("TB_GRADGRAPH", "0")
    assert writer.watch(net).quantities == {}
