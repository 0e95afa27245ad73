"""What has no memory is never read: a read of it ends the process, or the recording."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode
from torch.testing._internal.two_tensor import TwoTensor

import tb_gradgraph
from tb_gradgraph.autograd.build.draft import GraphDraft
from tb_gradgraph.autograd.forward.origins import traced
from tb_gradgraph.autograd.model_run.attributes import attributes_kept
from tb_gradgraph.autograd.model_run.call import ModelCall
from tb_gradgraph.autograd.torch_internals.tensor_classes import elements_of
from tb_gradgraph.memory import has_memory
from tb_gradgraph.statistics import STATISTICS
from tb_gradgraph.summarize import StatisticsBatch
from tb_gradgraph.summarize.native import SWITCH
from tb_gradgraph.training.step.scalers import loss_scale, scaler_of
from tb_gradgraph.training.step.unused import Flag, UnusedPasses
from tb_gradgraph.training.step.weights import WeightReading
from tests.training.loops import Log, assert_gradient

COUNTS = (1, 40, 5_000, 70_000)  # each way to reduce: kept, small, large, without the lock


def freed(tensor: torch.Tensor) -> torch.Tensor:
    tensor.untyped_storage().resize_(0)
    return tensor


def _fake(count: int) -> torch.Tensor:
    with FakeTensorMode():
        return torch.ones(count)


def _functional(count: int) -> torch.Tensor:
    with FunctionalTensorMode():
        return FunctionalTensor.to_functional(torch.ones(count))


def _sparse(count: int) -> torch.Tensor:
    tensor = torch.ones(count).to_sparse()
    freed(tensor._values())
    return tensor


MAKERS: dict[str, Callable[[int], torch.Tensor]] = {
    "freed": lambda count: freed(torch.ones(count)),
    "a freed view": lambda count: freed(torch.ones(2 * count)[count:]),
    "freed, strided": lambda count: freed(torch.ones(count, 2)[:, 1]),
    "freed half": lambda count: freed(torch.ones(count).half()),
    "freed double": lambda count: freed(torch.ones(count).double()),
    "freed integers": lambda count: freed(torch.ones(count, dtype=torch.int64)),
    "a freed parameter": lambda count: freed(nn.Parameter(torch.ones(count))),
    "a freed wrapper": lambda count: TwoTensor(freed(torch.ones(count)), torch.ones(count)),
    "freed, sparse": _sparse,
    "meta": lambda count: torch.ones(count, device="meta"),
    "fake": _fake,
    "functional": lambda count: torch._to_functional_tensor(torch.ones(count)),
    "a functional wrapper": _functional,
}
has_none = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
both_ways = pytest.mark.parametrize("native", ["1", "0"], ids=["compiled", "torch"])


@has_none
def test_it_is_told_apart(make: Callable[[int], torch.Tensor]) -> None:
    tensor = make(4)
    assert not has_memory(tensor) and elements_of(tensor) is None


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(3),
        torch.ones(0),
        freed(torch.ones(0, 4)),
        torch.ones(1).expand(5),
        torch._efficientzerotensor(3),
        torch.eye(2).to_sparse(),
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
        TwoTensor(torch.ones(2), torch.ones(2)),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*nested tensors")
def test_what_has_memory_is_told_so(tensor: torch.Tensor) -> None:
    assert has_memory(tensor)


@has_none
def test_no_copy_is_kept_of_it(make: Callable[[int], torch.Tensor]) -> None:
    tensor = make(4)
    assert GraphDraft(()).copy_small(tensor) is None
    assert traced(tensor).value is None


@both_ways
@has_none
@pytest.mark.parametrize("count", COUNTS)
def test_statistics_leave_it_out(
    make: Callable[[int], torch.Tensor], native: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, native)
    tensor, plain = make(count).detach(), torch.full((count,), 3.0)
    for keep in (False, True):
        batch = StatisticsBatch(3)
        with torch.no_grad():
            batch.add(0, tensor, keep)
            batch.add(1, plain, keep)
        table, whole = batch.finish()
        assert table.present.tolist() == [False, True, False]
        assert list(whole) == [1] * keep
        batch.add_many([0, 1], [tensor, plain], keep)
        table, whole = batch.finish()
        assert table.present.tolist() == [False, True, False]
        assert list(whole) == [1] * keep


@both_ways
@has_none
@pytest.mark.parametrize("count", COUNTS)
def test_weights_leave_it_out(
    make: Callable[[int], torch.Tensor], native: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A weight has none before the step, or none after it."""
    monkeypatch.setenv(SWITCH, native)
    plain, gone = torch.ones(count), torch.ones(count)
    reading = WeightReading([make(count).detach(), plain, gone])
    plain.add_(1)
    freed(gone)
    reading.finish([0, 1, 2])
    batch = StatisticsBatch(3)
    table, _ = batch.finish()
    reading.write_to(table)
    columns = [STATISTICS.index(name) for name in ("weight_norm", "update_norm")]
    weight, moved = table.values[:, columns].T
    assert np.isnan(weight[0]) and np.isnan(moved[[0, 2]]).all()
    np.testing.assert_allclose([weight[1], moved[1]], [count**0.5] * 2, rtol=1e-5)


def test_scalers_flags_and_cleared_gradients_leave_it_out() -> None:
    scaler = torch.amp.GradScaler("cpu")
    loss = scaler.scale(torch.ones(1, requires_grad=True).sum())
    freed(scaler._scale)
    assert loss_scale(scaler) is None and scaler_of([loss], {"scaler": scaler}) is None
    assert not Flag(freed(torch.ones(1))).read()
    assert UnusedPasses().take_cleared([]) == []


def test_a_forward_of_ours_does_not_copy_it() -> None:
    net = nn.Linear(2, 2)
    net.register_buffer("gone", freed(torch.ones(3)))
    with attributes_kept(net):
        pass
    with torch.inference_mode():
        given = torch.ones(2)
    call = ModelCall(net, (freed(given),), {})
    assert call.args[0] is given


class Freeing(nn.Module):
    """Frees what its backward does not need, as who shards a model does."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = nn.Parameter(torch.rand(4))
        self.given_back = nn.Parameter(torch.rand(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shifted = self.kept * 2 + self.given_back + x
        shifted.register_hook(lambda gradient: None)
        return shifted * 1.5


def _step(net: Freeing, frees_gradient: bool) -> None:
    x = torch.rand(4)
    shifted = net(x)
    loss = shifted.sum()
    for tensor in (net.given_back.data, shifted.detach(), x, loss.detach()):
        freed(tensor)
    if frees_gradient:
        node = net.given_back.view(-1).grad_fn.next_functions[0][0]  # accumulates into .grad
        node.register_hook(lambda *_: _free_grad(net.given_back))
    loss.backward()


def _free_grad(leaf: torch.Tensor) -> None:
    freed(leaf.grad)


@both_ways
@pytest.mark.parametrize("level", ["param", "module", "op"])
@pytest.mark.parametrize("frees_gradient", [False, True])
def test_a_step_whose_tensors_are_freed_is_recorded(
    native: str, level: str, frees_gradient: bool, tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv(SWITCH, native)
    net = Freeing()
    with warnings.catch_warnings(), tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        warnings.simplefilter("error")
        writer.watch(net, every_n_steps=1, level=level, strict=True)
        _step(net, frees_gradient)
    log = Log(tmp_path)
    assert log.places == [(0, "backward", 0)]
    assert_gradient(log.tensor(0, "backward", "kept"), torch.full((4,), 3.0), "kept")
    gone = log.tensor(0, "backward", "given_back")
    assert gone.value is None
    expected = None if frees_gradient else torch.full((4,), 1.5)
    assert_gradient(gone, expected, "given_back")


@both_ways
def test_a_graph_of_ones_own_whose_tensors_are_freed(
    native: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SWITCH, native)
    leaf, x = torch.rand(4, requires_grad=True), torch.rand(4)
    inner = leaf + x
    loss = inner.sum()
    for tensor in (leaf.data, inner.detach(), x, loss.detach()):
        freed(tensor)
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    assert graph["leaf"].gradient.tolist() == [1.0] * 4
    assert graph["leaf"].value is None and graph["inner"].value is None
