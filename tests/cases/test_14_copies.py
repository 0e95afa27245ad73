"""Case 14: pickle and deepcopy while attached; a copy is not logged by accident."""

from __future__ import annotations

import copy
import io

import torch
from torch import nn

import tb_gradgraph


def test_saving_and_copying_a_model_whose_loss_is_observed() -> None:
    net = nn.Linear(2, 1)
    before = {name: dict(vars(module)) for name, module in net.named_modules()}
    loss = net(torch.ones(1, 2)).sum()
    graph = tb_gradgraph.capture(loss)
    buffer = io.BytesIO()
    torch.save(net, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    average = copy.deepcopy(net)
    for twin in (loaded, average):
        twin(torch.ones(1, 2)).sum().backward()
        assert not twin.weight._backward_hooks
    assert not graph.backward_passes, "what the copies did is not ours"
    loss.backward()
    assert len(graph.backward_passes) == 1
    del loss
    assert net.weight._backward_hooks is None, "nothing is left when the graph has gone"
    assert {name: dict(vars(module)) for name, module in net.named_modules()} == before


def test_a_graph_can_be_copied_and_pickled() -> None:
    graph = tb_gradgraph.capture(nn.Linear(2, 1), torch.ones(1, 2))
    twin = copy.deepcopy(graph)
    assert twin.hash == graph.hash
    assert twin["weight"].gradient.tolist() == [[1.0, 1.0]]
