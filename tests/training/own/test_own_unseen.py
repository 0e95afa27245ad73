"""A training with statistics of the user's own is the same as without, and their faults are contained."""

from __future__ import annotations

import gc
import math
import pathlib
import random
import warnings
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import tb_gradgraph
from tests.logged import read_one_run
from tests.training.own.added import Add
from tests.training.own.test_own_of_watch import make_net, named, train


def wild(tensor: torch.Tensor) -> float:
    """Use every random generator, gradients, a backward and a function mode."""
    random.random(), np.random.rand(), torch.rand(3)  # noqa: NPY002
    with torch.enable_grad():
        x = tensor.double().requires_grad_()
        x.square().sum().backward()
    return float(x.grad.norm()) + float(torch.randn(()))


@pytest.mark.parametrize("level", ["param", "module", "op"])
def test_the_training_is_bit_for_bit_the_same(level: str, add: Add, tmp_path: pathlib.Path) -> None:
    def make() -> nn.Module:
        net = make_net()
        net.insert(2, nn.Dropout(0.5))
        random.seed(0), np.random.seed(0)  # noqa: NPY002
        return net

    _, _, bare = train(make(), tmp_path / "bare", False, level=level)
    after = random.random(), np.random.rand(), torch.rand(2).tolist()  # noqa: NPY002
    for of in ("weight", "gradient", "value"):
        add(f"of_{of}", of=of)(wild)
    run, _, own = train(make(), tmp_path / "own", False, level=level)
    assert (random.random(), np.random.rand(), torch.rand(2).tolist()) == after  # noqa: NPY002
    assert all(torch.equal(a, b) for a, b in zip(bare, own, strict=True))
    assert run.forwards[0].own["of_weight"]
    assert {record.backward_pass for record in run.records} == {0}


class Mode(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        calls.append(func)
        return func(*args, **(kwargs or {}))


calls: list[Any] = []


def test_modes_and_autocast_are_paused(add: Add, tmp_path: pathlib.Path) -> None:
    types = []

    @add("product", of="value")
    def product(value: torch.Tensor) -> float:
        calls.clear()
        two = value.float().reshape(-1, 1)
        types.append((two.T @ two).dtype)
        assert not torch.is_grad_enabled() and not value.requires_grad
        assert type(value) is torch.Tensor and not calls
        return 1.0

    net = make_net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, strict=True, level="op")
        with Mode(), torch.autocast("cpu", torch.bfloat16):
            net(torch.ones(2, 4)).sum().backward()
    (record,) = read_one_run(tmp_path).forwards
    assert record.own_measures["product"].reason == ""
    assert len(record.own["product"]) > 4 and set(types) == {torch.float32}


BAD = {
    "a tensor of several": (lambda t: torch.ones(2), "a tensor of shape [2] and type float32"),
    "a complex number": (lambda t: 1j, "got complex"),
    "a complex tensor": (lambda t: torch.tensor(1j), "type complex64"),
    "a text": (lambda t: "3", "got str"),
    "a list": (lambda t: [1.0], "got list"),
    "an error": (lambda t: 1 / 0, "ZeroDivisionError: division by zero"),
    "too large": (lambda t: 10**400, "OverflowError"),
    "a name": (lambda t: {"a,b": 1}, "keys that are short printable texts, got 'a,b'"),
    "an empty name": (lambda t: {"": 1}, "keys that are short printable texts"),
    "a long name": (lambda t: {"x" * 81: 1}, "keys that are short printable texts"),
    "many names": (lambda t: dict.fromkeys(range(17), 1), "a dict of at most 16 keys, got also 16"),
    "a part": (lambda t: {"a": [1]}, "got list"),
}


@pytest.mark.parametrize("of", ["weight", "gradient", "value"])
@pytest.mark.parametrize("kind", BAD)
def test_a_fault_costs_its_number_and_is_said_once(
    kind: str, of: str, add: Add, tmp_path: pathlib.Path
) -> None:
    function, reason = BAD[kind]
    add("good", of=of)(lambda t: 1.0)
    add("bad", of=of)(function)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run, _, _ = train(make_net(), tmp_path, False)
    (text,) = [str(one.message) for one in told if "statistic" in str(one.message)]
    assert "the statistic 'bad' gave no number of '" in text and reason in text
    stage = "backward" if of == "gradient" else "forward"
    records = [record for record in (*run.forwards, *run.records) if record.stage == stage]
    assert len(records) == 3
    for record in records:
        assert record.own.keys() == {"good"} and record.own["good"]
        assert record.own_measures["good"].reason == ""
        assert reason in record.own_measures["bad"].reason


def test_a_fault_at_one_tensor_alone(add: Add, tmp_path: pathlib.Path) -> None:
    @add("only_matrices", of="weight")
    def only_matrices(w: torch.Tensor) -> torch.Tensor:
        return torch.linalg.matrix_norm(w, 2)

    with pytest.warns(RuntimeWarning, match="gave no number of '0.bias'"):
        run, _, _ = train(make_net(), tmp_path, False)
    for record in run.forwards:
        found = named(run.graphs[record.graph_hash], record.own["only_matrices"])
        assert found.keys() == {"0.weight", "2.weight", "4.weight"}
        assert record.own_measures["only_matrices"].reason.startswith("at 0.bias: ")


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, -0.0, True, np.float32(3), 7])
def test_numbers_are_kept_as_they_are(number: Any, add: Add, tmp_path: pathlib.Path) -> None:
    add("of_python", of="gradient", select="0.bias")(lambda t: number)
    add("of_torch", of="weight", select="0.bias")(lambda t: torch.tensor(number))
    run, _, _ = train(make_net(), tmp_path, False)
    ((of_torch,),) = [record.own["of_torch"].values() for record in run.forwards[:1]]
    ((of_python,),) = [record.own["of_python"].values() for record in run.records[:1]]
    np.testing.assert_equal([of_python, of_torch], [float(number)] * 2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_types(dtype: torch.dtype, add: Add, tmp_path: pathlib.Path) -> None:
    found = []
    add("half", of="gradient")(lambda t: found.append(t.dtype) or t.norm())
    add("halfway", of="value")(lambda t: found.append(t.dtype) or t.sum())
    run, _, _ = train(make_net().to(dtype), tmp_path, False)
    assert set(found) == {dtype}
    assert run.forwards[0].own["halfway"] and run.records[0].own["half"]


def test_an_empty_batch(add: Add, tmp_path: pathlib.Path) -> None:
    add("average", of="value")(torch.mean)
    net = make_net()
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        writer.watch(net, every_n_steps=1, strict=True)
        net(torch.ones(0, 4)).sum().backward()
    run = read_one_run(tmp_path)
    (record,) = run.forwards
    numbers = named(run.graphs[record.graph_hash], record.own["average"])
    np.testing.assert_equal(list(numbers.values()), [math.nan] * 5)


def test_nothing_is_left(add: Add, tmp_path: pathlib.Path) -> None:
    seen: list[weakref.ref[torch.Tensor]] = []
    for of in ("gradient", "value"):
        add(f"of_{of}", of=of)(lambda t: seen.append(weakref.ref(t)) or t.sum())
    net = make_net()
    _, _, _ = train(net, tmp_path, False)
    gc.collect()
    assert seen and all(one() is None for one in seen)
    assert not any(module._forward_hooks for module in net.modules())
    assert not any(p._backward_hooks for p in net.parameters())
    assert not torch.nn.modules.module._global_forward_hooks
