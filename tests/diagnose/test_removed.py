"""What a normalization or a softmax removes is found by the graph; plain torch agrees."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - as everybody calls it

import tb_gradgraph
from tb_gradgraph.diagnose import cancelled_rows
from tb_gradgraph.diagnose.structure.axes import drops, permutations, swaps, view

Forward = Callable[["Net", torch.Tensor], torch.Tensor]
SHAPE = (4, 5, 6)  # samples, positions, channels


class Net(nn.Module):
    """A scalar, and a vector for each axis, which a forward adds to something."""

    def __init__(self, forward: Forward) -> None:
        super().__init__()
        self.lin, self.mix, self.conv = nn.Linear(6, 6), nn.Linear(5, 5), nn.Conv1d(6, 6, 3)
        self.same = nn.Conv1d(6, 6, 3, padding=1)
        self.one = nn.Parameter(torch.randn(1))
        self.of = nn.ParameterList(nn.Parameter(torch.randn(size)) for size in SHAPE)
        self.norm, self.last, self.group = nn.BatchNorm1d(6), nn.LayerNorm(6), nn.GroupNorm(6, 6)
        self.how = forward

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.how(self, x)


def _by_hand(y: torch.Tensor) -> torch.Tensor:
    y = y - y.mean(-1, keepdim=True)
    return y / (y.square().mean(-1, keepdim=True) + 1e-5).sqrt()


def _scores(net: Net, x: torch.Tensor) -> torch.Tensor:
    return net.lin(x) @ (x + net.of[2]).transpose(1, 2)


#: A forward, and the parameters of ``Net`` that have no effect in it.
REMOVED: dict[str, tuple[Forward, set[str]]] = {
    "layer norm, of positions": (
        lambda n, x: n.last(n.mix(x.transpose(1, 2)).transpose(1, 2)),
        {"mix.bias"},
    ),
    "layer norm, of channels": (lambda n, x: n.last(n.lin(x)), set()),
    "layer norm, of a scalar": (lambda n, x: n.last(n.lin(x) + n.one), {"one"}),
    "by hand, of a scalar": (lambda n, x: _by_hand(n.lin(x) + n.one), {"one"}),
    "key": (lambda n, x: _scores(n, x).softmax(-1) @ x, {"of.2"}),
    "key, other axis": (lambda n, x: _scores(n, x).softmax(1) @ x, {"lin.bias"}),
    "key, masked": (
        lambda n, x: _scores(n, x).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1) @ x,
        {"of.2"},
    ),
    "key, fused": (
        lambda n, x: F.scaled_dot_product_attention(n.lin(x), x + n.of[2], x),
        {"of.2"},
    ),
    "value, fused": (lambda n, x: F.scaled_dot_product_attention(x, x, n.lin(x) + n.of[2]), set()),
    "logits": (lambda n, x: (n.lin(x) + n.one).log_softmax(-1), {"one"}),
    "convolution": (
        lambda n, x: n.norm(n.conv((x + n.of[2]).transpose(1, 2))),
        {"of.2", "conv.bias"},
    ),
    "convolution with padding": (
        lambda n, x: n.norm(n.same((x + n.of[2]).transpose(1, 2))),
        {"same.bias"},
    ),
    "group of one channel": (lambda n, x: n.group(n.conv(x.transpose(1, 2))), {"conv.bias"}),
    "past the norm": (lambda n, x: n.last(y := n.lin(x) + n.one) + y, set()),
    "through a relu": (lambda n, x: n.last(F.relu(n.lin(x) + n.one)), set()),
}  # fmt: skip


@pytest.mark.parametrize("name", REMOVED)
def test_it_is_what_has_no_gradient_in_double_precision(name: str) -> None:
    torch.manual_seed(0)
    forward, expected = REMOVED[name]
    net, x = Net(forward), torch.randn(SHAPE)
    weights = torch.randn(1000)

    def loss(y: torch.Tensor) -> torch.Tensor:
        return (y.flatten() * weights[: y.numel()].to(y)).mean()

    graph = tb_gradgraph.capture(net, x, loss_fn=loss)
    rows = cancelled_rows(graph.graph, graph.backward_passes[-1].table)
    offsets = graph.graph.slot_offsets.tolist()
    assert {n.name for n, at in zip(graph.nodes, offsets) if n.slots and at in rows} == expected
    loss(net.double()(x.double())).backward()
    sizes = {n: p.grad.norm().item() for n, p in net.named_parameters() if p.grad is not None}
    assert {n for n, size in sizes.items() if size < 1e-12 * max(sizes.values())} == expected


def test_patterns_follow_views() -> None:
    shape, pattern = (2, 6, 5), (True, False, True)
    assert view(pattern, shape, (2, 3, 2, 5)) == (True, False, False, True)
    assert view(pattern, shape, (12, 5)) == (False, True)
    assert view(pattern, shape, (1, 2, 6, 5, 1)) == (True, True, False, True, True)
    assert view(pattern, shape, (7, 5)) is None
    assert swaps(pattern, shape, (2, 5, 6)) == {(True, True, False)}
    assert permutations((False, True), (3, 3), (3, 3)) == {(False, True), (True, False)}
    assert drops(pattern, shape, (2, 5)) == {(True, True)}
