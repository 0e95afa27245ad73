"""Uses at the edge: modes, hooks, uninitialised modules, inputs of odd kinds, clear errors."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph
from tb_gradgraph.api.recorder import _PassSink
from tb_gradgraph.autograd.forward.trace import ForwardTrace
from tb_gradgraph.errors import CaptureError


def test_lazy_modules_keep_what_their_first_forward_makes() -> None:
    model = nn.Sequential(nn.LazyLinear(2), nn.ReLU(), nn.LazyBatchNorm1d(), nn.BatchNorm1d(2))
    model.append(nn.Tanh())  # else the sum were a constant
    before = torch.get_rng_state()
    graph = tb_gradgraph.capture(model, torch.randn(4, 3, generator=torch.Generator()))
    assert torch.equal(before, torch.get_rng_state())
    assert type(model[0]) is nn.Linear and model[0].weight.shape == (2, 3)
    assert graph["0.weight"].statistics is not None and graph["0.weight"].scope.path == "0"
    assert model[3].num_batches_tracked == 0
    again = tb_gradgraph.capture(model, torch.randn(4, 3, generator=torch.Generator()))
    assert again.hash == graph.hash, "a training's: the making of buffers is in neither"
    assert {node.key for node in again.nodes} == {node.key for node in graph.nodes}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_under_the_callers_modes(mode: Any) -> None:
    model, x = nn.Linear(2, 1), torch.ones(1, 2)
    with mode():
        graph = tb_gradgraph.capture(model, x)
        made_inside = tb_gradgraph.capture(model, torch.ones(1, 2))
        assert torch.is_inference_mode_enabled() == (mode is torch.inference_mode)
        assert not torch.is_grad_enabled()
    assert graph["weight"].gradient.tolist() == [[1.0, 1.0]]
    assert made_inside.hash == graph.hash


def test_inputs_that_are_inference_tensors() -> None:
    with torch.inference_mode():
        x = torch.ones(1, 2)
    graph = tb_gradgraph.capture(nn.Linear(2, 1), {"input": x})
    assert graph["weight"].gradient.tolist() == [[1.0, 1.0]]
    assert graph["input"].node.kind == "input"


def test_an_input_that_requires_grad() -> None:
    x = torch.ones(1, 2, requires_grad=True)
    graph = tb_gradgraph.capture(nn.Linear(2, 1), x)
    assert graph["input"].node.kind == "input" and graph["input"].status == "ok"
    assert x.grad is None and not x._backward_hooks


def test_an_input_with_a_graph_behind_it() -> None:
    emb = nn.Linear(2, 2)
    fired: list[torch.Tensor] = []
    x = emb(torch.ones(1, 2))
    x.register_hook(fired.append)
    for model in (nn.Linear(2, 1), nn.Sequential(nn.ReLU(inplace=True), nn.Linear(2, 1))):
        version = x._version
        graph = tb_gradgraph.capture(model, {"input": x} if isinstance(model, nn.Linear) else (x,))
        assert graph["input"].node.kind == "input" and graph["input"].is_leaf
        assert not fired and x._version == version
    x.sum().backward()
    assert emb.weight.grad is not None and len(fired) == 1


def test_a_hidden_state_that_was_not_detached_keeps_its_graph() -> None:
    class Keeps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(2, 2)
            self.hidden = torch.ones(1, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.hidden = (self.lin(x) * self.hidden).exp()
            return self.hidden.sum()

    model, x = Keeps(), torch.ones(1, 2)
    loss = model(x)
    hidden = model.hidden
    graph = tb_gradgraph.capture(model, x)
    assert model.hidden is hidden
    (earlier,) = [n for n in graph.nodes if n.operation == "ExpBackward0" and n.scope == -1]
    assert earlier.source == ""
    loss.backward()
    assert model.lin.weight.grad is not None


def test_users_hooks_fire_in_their_order_those_of_the_forward_in_each_of_two() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    fired: list[str] = []
    model[0].register_forward_pre_hook(lambda *_: fired.append("pre"))
    model[0].register_forward_hook(lambda *_: fired.append("forward"))
    model.register_forward_hook(lambda *_: fired.append("outer"))
    model[0].register_full_backward_hook(lambda *_: fired.append("backward"))
    for name in ("first", "second"):
        model[0].weight.register_hook(lambda _gradient, name=name: fired.append(name))
    model[0].weight.register_post_accumulate_grad_hook(lambda _: fired.append("accumulated"))
    x = torch.ones(1, 2, requires_grad=True)
    model(x).sum().backward()
    alone = [name for name in fired if name != "accumulated"]
    fired.clear()
    tb_gradgraph.capture(model, x)
    assert fired == ["pre", "forward", "outer", *alone]


def test_a_lambda_as_loss_and_seeds_for_several_outputs() -> None:
    model = nn.LSTM(2, 3)
    x = torch.ones(4, 1, 2)
    graph = tb_gradgraph.capture(model, x)
    assert [n.name for n in graph.nodes if n.kind == "root"] == [
        "output[0]", "output[1][0]", "output[1][1]",
    ]  # fmt: skip
    seeds = [torch.zeros(4, 1, 3), torch.zeros(1, 1, 3), torch.ones(1, 1, 3)]
    seeded = tb_gradgraph.capture(model, x, grad_outputs=seeds)
    assert seeded["output[1][1]"].statistics.mean == 1.0
    assert seeded["output[0]"].status == "zero"


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (nn.Linear(2, 1, device="meta"), torch.ones(1, 2), "weight on the meta device"),
        (nn.Linear(2, 1), torch.ones(1, 2, device="meta"), "input 0 on the meta device"),
        (nn.Linear(2, 1).requires_grad_(False), torch.ones(1, 2), "every parameter frozen"),
        (nn.Flatten(), torch.ones(2, 2, dtype=torch.int64), "got a tensor of int64"),
        (nn.Identity(), None, "missing 1 required positional argument"),
        (nn.Identity(), "text", "got str"),
    ],
)
def test_errors_say_what_is_wrong(model: nn.Module, given: Any, message: str) -> None:
    with pytest.raises((CaptureError, TypeError), match=message):
        tb_gradgraph.capture(model, given)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_a_quantized_output() -> None:
    class Quantizes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)

    with pytest.raises(CaptureError, match="got a tensor of quint8"):
        tb_gradgraph.capture(Quantizes(), torch.ones(2))


def test_everything_mutable_on_a_module_is_set_back() -> None:
    class Busy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))
            self.log: list[Any] = [[1], {"a": {2}}]
            self.plain = torch.zeros(2)
            self.added: dict[str, int] = {}

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.log[0].append(3)
            self.log[1]["a"].add(4)
            self.log.append("new")
            self.plain += 1
            self.added["x"] = 1
            self.extra = nn.Linear(2, 2)
            self.register_buffer("late", torch.zeros(1))
            self.register_forward_hook(lambda *_: None)
            return (self.w * x + self.plain).sum()

    model = Busy()
    outer, inner, plain = model.log, model.log[0], model.plain
    before = copy.deepcopy((model.log, model.added))
    tb_gradgraph.capture(model, torch.ones(2))
    assert (model.log, model.added) == before
    assert model.log is outer and model.log[0] is inner
    assert model.plain is plain and plain.tolist() == [0.0, 0.0]
    assert not hasattr(model, "extra") and not hasattr(model, "late")
    assert not model._forward_hooks


def test_control_flow_that_differs_from_step_to_step() -> None:
    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(2, 1), nn.Linear(2, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.a(x) if x.sum() > 0 else self.b(x).exp()
            return y.sum()

    model = Branches()
    positive, negative = (tb_gradgraph.capture(model, sign * torch.ones(1, 2)) for sign in (1, -1))
    assert positive.hash != negative.hash
    assert positive["b.weight"].node.note == negative["a.weight"].node.note
    assert positive["b.weight"].node.note == "Unused: no operation of this forward used it."
    shared = set(positive.graph.row_keys) & set(negative.graph.row_keys)
    assert "/SumBackward0.0:0" in {key.lstrip("#0") for key in shared}


def test_a_model_of_one_operation_and_one_that_returns_its_parameter() -> None:
    class Gives(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.tensor([1.0, 2.0]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.w

    graph = tb_gradgraph.capture(Gives(), torch.ones(1), loss_fn=torch.sum)
    assert graph["w"].gradient.tolist() == [1.0, 1.0]
    alone = tb_gradgraph.capture(Gives(), torch.ones(1))
    assert alone["output"].statistics.mean == 1.0
    assert [node.kind for node in alone.nodes] == ["parameter", "root"]


def test_our_fault_while_tracing_does_not_reach_the_forward(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_arguments: object) -> None:
        raise ValueError("of our own")

    monkeypatch.setattr(ForwardTrace, "_note_made", broken)
    with pytest.warns(RuntimeWarning, match="could not note aten.t.default"):
        graph = tb_gradgraph.capture(nn.Linear(2, 1), torch.ones(1, 2))
    assert graph["weight"].gradient.tolist() == [[1.0, 1.0]]


@pytest.mark.filterwarnings("error")
def test_our_fault_is_no_error_where_warnings_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_arguments: object) -> None:
        raise ValueError("of our own")

    monkeypatch.setattr(ForwardTrace, "_note_made", broken)
    monkeypatch.setattr(_PassSink, "finish", broken)
    w = torch.ones(1, requires_grad=True)
    loss = w * 2
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    assert float(w.grad) == 2.0 and not graph.backward_passes
    assert "stopped recording this graph" in capsys.readouterr().err
    tb_gradgraph.capture(nn.Linear(2, 1), torch.ones(1, 2))
    assert "could not note aten.t.default" in capsys.readouterr().err


def test_a_forward_that_raises_lets_go_of_its_frames() -> None:
    alive: list[weakref.ref[torch.Tensor]] = []

    class Raises(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.lin(x)
            alive.append(weakref.ref(y))
            raise ZeroDivisionError(y.sum().item())

    gc.disable()
    try:
        with pytest.raises(ZeroDivisionError):
            tb_gradgraph.capture(Raises(), torch.ones(1, 2))
        assert alive[0]() is None
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors() -> None:
    class Ragged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.lin(x).values().sum()

    parts = [torch.ones(2, 3), torch.ones(1, 3)]
    x = torch.nested.nested_tensor(parts, layout=torch.jagged)
    graph = tb_gradgraph.capture(Ragged(), {"x": x})
    assert graph["x"].shape == (2, 0, 3), "a ragged size is 0"
    assert graph["lin.weight"].gradient.tolist() == [[3.0] * 3] * 3
