"""Case 9: torch.compile: eager names and structure, nothing compiled or broken by capturing."""

from __future__ import annotations

import torch
from torch import nn

import tb_gradgraph


def test_a_compiled_model_is_drawn_from_its_eager_source() -> None:
    graphs: list[object] = []

    def backend(graph: torch.fx.GraphModule, _inputs: object) -> object:
        graphs.append(graph)
        return graph.forward

    torch.manual_seed(0)
    eager = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
    model = torch.compile(eager, backend=backend)
    x = torch.ones(3, 2)
    before = model(x)
    captured = tb_gradgraph.capture(model, x)
    after = model(x)
    assert len(graphs) == 1, "neither a recompile nor a graph break"
    assert torch.equal(before, after)
    plain = tb_gradgraph.capture(eager, x)
    assert captured.graph.row_keys == plain.graph.row_keys
    assert not any("_orig_mod" in node.name for node in captured.nodes)
    for name, parameter in eager.named_parameters():
        assert captured[name].statistics == plain[name].statistics
        assert parameter.grad is None


def test_a_loss_of_a_compiled_model_has_one_opaque_node() -> None:
    model = torch.compile(nn.Linear(2, 1), backend="aot_eager")
    loss = model(torch.ones(3, 2)).sum()
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    (region,) = [node for node in graph.nodes if "Compiled" in node.operation]
    assert region.note
    assert graph["model.weight"].gradient.tolist() == [[3.0, 3.0]]
