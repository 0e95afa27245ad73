"""How a model is given its arguments, and what of its output is differentiated without a loss."""

from __future__ import annotations

import inspect
import pathlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph

X, Y, MASK = torch.ones(2, 3), torch.full((2, 3), 2.0), torch.tensor([1.0, 0.0, 1.0])


class Both(nn.Module):
    """Takes positional, keyword-only and further arguments."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Any, y: Any = 1.0, *rest: Any, mask: Any, factor: float = 1, **more: Any):  # noqa: ANN201
        if isinstance(x, dict):
            x = x["x"]
        scaled = self.lin(x) * y * mask * factor
        return scaled + sum(rest) + sum(more.values())


@pytest.mark.parametrize(
    ("given", "kwargs"),
    [
        ((X, Y), {"mask": MASK, "factor": 3}),
        (X, {"mask": MASK}),
        ((), {"x": X, "mask": MASK}),
        (None, {"x": X, "y": Y, "mask": MASK}),
        ((X, Y, X, Y), {"mask": MASK, "further": Y}),
        ({"x": X}, {"mask": MASK}),
        (({"x": X},), {"mask": MASK}),
        ({"x": X, "mask": MASK}, None),
    ],
)
def test_positional_and_keyword_arguments(given: Any, kwargs: Any, tmp_path: pathlib.Path) -> None:
    graph = tb_gradgraph.capture(Both(), given, kwargs=kwargs)
    model = Both()
    args = given if isinstance(given, tuple) else () if given is None else (given,)
    output = model(*args, **kwargs) if kwargs is not None else model(**given)
    output.sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(torch.from_numpy(graph[name].gradient), parameter.grad)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        written = writer.add_grad_graph(Both(), given, kwargs=kwargs)
    assert written.hash == graph.hash
    names = {node.name for node in graph.nodes if node.kind == "input"}
    assert "mask" in names


def test_what_was_given_is_left_as_it_was() -> None:
    class Changes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(3, 3)

        def forward(self, x: torch.Tensor, *, scale: torch.Tensor, names: list[str]) -> Any:
            names.append("changed")
            return self.lin(x) * scale.mul_(2)

    kwargs = {"scale": torch.ones(3), "names": []}
    tb_gradgraph.capture(Changes(), (X,), kwargs=kwargs)
    assert kwargs["scale"].tolist() == [1, 1, 1] and set(kwargs) == {"scale", "names"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, w: tb_gradgraph.capture(m, X, mask=MASK), "kwargs={'mask': ...}"),
        (lambda m, w: w.add_grad_graph(m, X, mask=MASK), "add_grad_graph(): expected one of its own"),
        (lambda m, w: tb_gradgraph.capture(m, X, Y), "go in a tuple: (model, (x, y))"),
        (lambda m, w: tb_gradgraph.capture(m, X, kwargs=[MASK]), "kwargs to be a dict"),
        (lambda m, w: tb_gradgraph.capture(m, X, kwargs={1: MASK}), "kwargs to be a dict"),
        (lambda m, w: tb_gradgraph.capture(m(X, mask=MASK), kwargs={"mask": MASK}),
         "no input_to_model or kwargs beside tensors, got dict"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_cure(
    call: Callable[..., Any], message: str, tmp_path: pathlib.Path
) -> None:
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        with pytest.raises(tb_gradgraph.CaptureError, match=re.escape(message)):
            call(Both(), writer)


def test_signatures_name_the_same_arguments() -> None:
    capture = inspect.signature(tb_gradgraph.capture).parameters
    written = inspect.signature(tb_gradgraph.add_grad_graph).parameters
    assert set(written) - set(capture) == {"writer", "global_step"} and "kwargs" in capture


def _weighted(module: nn.Module, weight: Any) -> nn.Module:
    with torch.no_grad():
        module.weight.copy_(torch.as_tensor(weight, dtype=module.weight.dtype))
    return module


class Two(nn.Module):
    def __init__(self, second: nn.Module) -> None:
        super().__init__()
        self.lin, self.second = nn.Linear(3, 4), second

    def forward(self, x: torch.Tensor) -> Any:
        return self.lin(x).softmax(1), self.second(self.lin(x))


CONSTANT: dict[str, nn.Module] = {
    "softmax": nn.Softmax(1),
    "softmax of the other dimension": nn.Softmax(0),
    "softmax, then reshaped": nn.Sequential(nn.Softmax(1), nn.Flatten(0)),
    "layer norm": nn.LayerNorm(4),
    "layer norm without weight": nn.LayerNorm(4, elementwise_affine=False),
    "layer norm with one number": _weighted(nn.LayerNorm(4), [0.7] * 4),
    "frozen layer norm": nn.LayerNorm(4).requires_grad_(False),
    "batch norm": nn.BatchNorm1d(4),
    "batch norm with weights": _weighted(nn.BatchNorm1d(4), [1, 2, 3, 4]),
    "group norm": nn.GroupNorm(2, 4),
    "two softmaxes": Two(nn.Softmax(1)),
}
ORDINARY: dict[str, nn.Module] = {
    "nothing": nn.Identity(),
    "log-softmax": nn.LogSoftmax(1),
    "relu": nn.ReLU(),
    "layer norm that was trained": _weighted(nn.LayerNorm(4), [1, 1, 1, 1.01]),
    "frozen, trained layer norm": _weighted(nn.LayerNorm(4), [1, 2, 3, 4]).requires_grad_(False),
    "batch norm in eval": nn.BatchNorm1d(4).eval(),
    "layer norm, then more": nn.Sequential(nn.LayerNorm(4), nn.ReLU()),
    "rms norm": nn.RMSNorm(4),
    "softmax and logits": Two(nn.Identity()),
    "tanh": nn.Tanh(),
}


def _model(last: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return last if isinstance(last, Two) else nn.Sequential(nn.Linear(3, 4), last)


@pytest.mark.parametrize("last", CONSTANT)
def test_a_constant_sum_is_said_to_be_one(last: str) -> None:
    model, x = _model(CONSTANT[last]), torch.randn(5, 3)
    with pytest.warns(UserWarning, match="does not depend on the model's input.*Pass loss_fn="):
        graph = tb_gradgraph.capture(model, x)
    assert "(a constant: it ends in " in graph.objective
    own = [view for view in graph if view.name.endswith(("0.weight", "lin.weight"))]
    assert own and all(view.statistics.abs_max < 1e-5 for view in own)


@pytest.mark.parametrize("last", ORDINARY)
def test_no_other_sum_is(last: str) -> None:
    model, x = _model(ORDINARY[last]), torch.randn(5, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = tb_gradgraph.capture(model, x)
    assert graph.objective in ("sum of the output", "sum of all floating outputs")
    own = [view for view in graph if view.name.endswith(("0.weight", "lin.weight"))]
    assert own and any(view.statistics.abs_max > 1e-3 for view in own)


def test_a_loss_of_the_users_own_is_not_judged() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tb_gradgraph.capture(_model(nn.Softmax(1)), X, loss_fn=torch.sum)
        tb_gradgraph.capture(_model(nn.Softmax(1)), X, grad_outputs=torch.ones(2, 4))
