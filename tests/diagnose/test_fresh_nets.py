"""Usual nets at their initialization have no warning; what cancels in them is what plain torch says."""

from __future__ import annotations

import copy

import pytest
import torch

import tb_gradgraph
from tb_gradgraph.diagnose import cancelled_rows
from tests.diagnose.fresh_nets import FRESH, loss

#: In double precision a gradient that cancels is this much smaller than the greatest one.
ROUNDING = 1e-12


def _sizes(net: torch.nn.Module, x: torch.Tensor) -> dict[str, float]:
    """Return the root mean square of each gradient in double precision, by plain torch."""
    net = copy.deepcopy(net).double()
    loss(net(x.double() if x.is_floating_point() else x)).backward()
    return {
        name: p.grad.square().mean().sqrt().item()
        for name, p in net.named_parameters()
        if p.grad is not None
    }


@pytest.mark.parametrize("level", ["param", "op"])
@pytest.mark.parametrize("name", FRESH)
def test_a_fresh_net_has_notes_only_each_kind_once(name: str, level: str) -> None:
    torch.manual_seed(0)
    make, data = FRESH[name]
    found = tb_gradgraph.capture(make(), data(), loss_fn=loss, level=level).findings()
    assert [one.text for one in found if one.severity != "note"] == []
    kinds = [one.kind for one in found]
    assert len(kinds) == len({*kinds}) <= 2 and {*kinds} <= {"cancelled", "zero_gradient", "frozen"}


@pytest.mark.parametrize("name", FRESH)
def test_what_is_called_cancelled_is_rounding_in_double_precision_too(name: str) -> None:
    torch.manual_seed(0)
    make, data = FRESH[name]
    net, x = make(), data()
    sizes = _sizes(net, x)
    graph = tb_gradgraph.capture(net, x, loss_fn=loss)
    rows = cancelled_rows(graph.graph, graph.backward_passes[-1].table)
    offsets = graph.graph.slot_offsets.tolist()
    called = {n.name for n, at in zip(graph.nodes, offsets) if n.slots and at in rows}
    greatest = max(sizes.values())
    rest = {size for parameter, size in sizes.items() if parameter not in called and size}
    by_eps = {parameter for parameter in called if sizes[parameter] > ROUNDING * greatest}
    # The epsilon of a batch norm lets some of a factor through.
    assert all(parameter.endswith("body.1.weight") for parameter in by_eps)
    assert all(sizes[parameter] < 1e-4 * greatest for parameter in by_eps)
    assert min(rest) > ROUNDING * greatest, "and nothing else is"


@pytest.mark.parametrize(
    "name", ["vit, head of zeros", "gmlp", "lora", "dit", "resnet, zeros", "rezero"]
)
def test_zeros_are_those_of_plain_torch_and_are_gone_after_a_step(name: str) -> None:
    torch.manual_seed(0)
    make, data = FRESH[name]
    net, x = make(), data()
    sizes = _sizes(net, x)
    (found,) = (
        one
        for one in tb_gradgraph.capture(net, x, loss_fn=loss).findings()
        if one.kind == "zero_gradient"
    )
    assert found.severity == "note" and "zero, as after an initialization with zeros" in found.text
    zero = [one for one, size in sizes.items() if size == 0 and one != "head.bias"]
    what = found.text.split(":")[0]
    assert what.startswith(f"{len(zero)} parameters (") or what == ", ".join(zero)
    optimizer = torch.optim.SGD((p for p in net.parameters() if p.requires_grad), lr=0.1)
    loss(net(x)).backward()
    optimizer.step()
    again = tb_gradgraph.capture(net, x, loss_fn=loss).findings()
    assert "zero_gradient" not in {one.kind for one in again}
    assert [one.text for one in again if one.severity != "note"] == []
