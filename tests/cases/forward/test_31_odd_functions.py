"""Case 31: custom Functions that do what few do: each is drawn, with its numbers; none ends a recording."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.function import once_differentiable

import tb_gradgraph
from tests.training.loops import Bare, run_both, state_of

Tensor = torch.Tensor


class Product(torch.autograd.Function):
    """The plain one, from which the odd ones differ."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, c: Tensor) -> Any:
        ctx.save_for_backward(x, c)
        return x * c

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, c = ctx.saved_tensors
        return gradient * c, (gradient * x).sum(0)


class GivesNoneForC(Product):
    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return gradient * ctx.saved_tensors[1], None


class GivesNothing(Product):
    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return None, None


class TooFew(Product):
    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return gradient


class WrongShape(Product):
    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return gradient[:, :1], None


class NoTensor(Product):
    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return "gradient", None


class Raises(Product):
    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        raise LookupError("the user's own")


class OtherOutputs(Product):
    """Outputs that are no tensors, or that have no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, c: Tensor) -> Any:
        places = x.argmax(1)
        ctx.mark_non_differentiable(places)
        return Product.forward(ctx, x, c), places, "text", None, {"a": x.sum().item()}

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_others: Any) -> Any:
        return Product.backward(ctx, gradient)


class NotMaterialized(Product):
    """Two outputs, of which one is not used; its gradient is None."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, c: Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return Product.forward(ctx, x, c), x + 1

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, other: None) -> Any:
        assert other is None
        return Product.backward(ctx, gradient)


class Once(Product):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Any:
        return Product.backward(ctx, gradient)


class SavesWhatItMade(Product):
    """Saves what is neither input nor output, and keeps tensors on ``ctx`` beside."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, c: Tensor) -> Tensor:
        ctx.save_for_backward(x.detach() * 1, c)
        ctx.kept = x
        return x * c


class View(Product):
    """Gives views of its inputs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, c: Tensor) -> Any:
        ctx.save_for_backward(x, c)
        return x.view_as(x), c.view_as(c)

    @staticmethod
    def backward(ctx: Any, first: Tensor, second: Tensor) -> Any:
        return first, second


class WithContext(torch.autograd.Function):
    """The newer form, which vmap takes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, c: Tensor) -> Tensor:
        return x * c

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, c = ctx.saved_tensors
        summed = gradient * x
        return gradient * c, summed.sum(0) if summed.dim() > 1 else summed


class HidesMethods(Product):
    """Writes to ``ctx`` what hides the methods of its node."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, c: Tensor) -> Any:
        ctx.name = "product"
        ctx.variable = ctx.register_hook = ctx.register_prehook = ctx._sequence_nr = 3
        return Product.forward(ctx, x, c)


class Net(nn.Module):
    """A linear layer, then a Function of its output and of a weight."""

    def __init__(self, call: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.c = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
        self._call = call

    def forward(self, x: Tensor) -> Tensor:
        return self._call(self.lin(x), self.c).tanh()


def _mapped(x: Tensor, c: Tensor) -> Tensor:
    return torch.vmap(WithContext.apply, (0, None))(x, c)


def _twice(x: Tensor, c: Tensor) -> Tensor:
    y = Product.apply(x, c)
    (slope,) = torch.autograd.grad(y.square().sum(), x, create_graph=True)
    return y + slope


WORKING: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "plain": Product.apply,
    "None for a weight": GivesNoneForC.apply,
    "None for all, beside another way": lambda x, c: x + GivesNothing.apply(x, c),
    "other outputs": lambda x, c: OtherOutputs.apply(x, c)[0],
    "not materialized": lambda x, c: NotMaterialized.apply(x, c)[0],
    "once differentiable": Once.apply,
    "saves what it made": SavesWhatItMade.apply,
    "views": lambda x, c: torch.mul(*View.apply(x, c)),
    "one view of two": lambda x, c: View.apply(x, c)[0],
    "setup_context": WithContext.apply,
    "within vmap": _mapped,
    "differentiated twice": _twice,
    "hidden methods": HidesMethods.apply,
}
RAISING: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "too few gradients": TooFew.apply,
    "a wrong shape": WrongShape.apply,
    "no tensor": NoTensor.apply,
    "raises": Raises.apply,
}


def _net(name: str) -> Net:
    torch.manual_seed(0)
    return Net({**WORKING, **RAISING}[name])


@pytest.mark.parametrize("name", WORKING)
def test_a_capture_reads_what_torch_gives(name: str) -> None:
    x = torch.linspace(-1, 1, 6).view(2, 3)
    graph = tb_gradgraph.capture(_net(name), x)
    net = _net(name)
    net(x).sum().backward()
    assert len(graph.backward_passes) == 1 and not graph.backward_passes[0].unread
    for of, parameter in net.named_parameters():
        own = graph[of].gradient
        assert (own is None) == (parameter.grad is None), graph[of].status
        if own is not None:
            torch.testing.assert_close(torch.from_numpy(own), parameter.grad)


@pytest.mark.parametrize(
    ("name", "level"), [*((name, "op") for name in WORKING), ("None for a weight", "param")]
)
def test_a_training_is_recorded(name: str, level: str, tmp_path: pathlib.Path) -> None:
    def loop(run: Bare) -> Any:
        net = _net(name)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        run.watch(net, optimizer=optimizer, level=level)
        for step in range(3):
            if step != 2:  # then leaves are read by hooks
                optimizer.zero_grad()
            loss = net(torch.randn(2, 3)).square().mean()
            run.note_parts(step, loss, net)
            loss.backward()
            run.note(step, "applied", net)
            with run.stepping(step, net):
                optimizer.step()
        return state_of(net, optimizer)

    log = run_both(loop, tmp_path, level=level)
    assert [record.unread for record in log.records] == [{}] * len(log.records)


@pytest.mark.parametrize("name", RAISING)
def test_what_a_backward_raises_is_the_users(name: str, tmp_path: pathlib.Path) -> None:
    x = torch.ones(2, 3)
    with pytest.raises(Exception) as expected:  # noqa: PT011  whatever torch says
        _net(name)(x).sum().backward()
    with pytest.raises(expected.type) as found:
        tb_gradgraph.capture(_net(name), x)
    assert str(found.value) == str(expected.value)
    net = _net(name)
    with tb_gradgraph.SummaryWriter(str(tmp_path)) as writer:
        watch = writer.watch(net, every_n_steps=1, level="op")
        for _ in range(2):
            with pytest.raises(expected.type) as found:
                net(x).sum().backward()
            assert str(found.value) == str(expected.value)
        net.lin(x).sum().backward()
        assert watch.failure is None and watch.step == 1


def test_who_gave_no_gradient_is_said() -> None:
    graph = tb_gradgraph.capture(_net("None for a weight"), torch.ones(2, 3))
    assert graph["c"].status == "GivesNoneForC got a gradient but returned none for it."
    assert graph["lin.weight"].status == "ok"
    (finding,) = (one for one in graph.findings() if one.kind == "no_gradient")
    assert "c in Net: GivesNoneForC got a gradient but returned none for it." in finding.text
