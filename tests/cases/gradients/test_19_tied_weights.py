"""Case 19: tied weights: one parameter with both names; each use its share, the total their sum."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import tb_gradgraph


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(3, 2)
        self.out = nn.Linear(2, 3, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.emb(tokens)).square().sum()


def test_shares_and_their_sum() -> None:
    model = Tied()
    graph = tb_gradgraph.capture(model, torch.tensor([0, 2]))
    (index,) = [i for i, node in enumerate(graph.nodes) if node.kind == "parameter"]
    node = graph.nodes[index]
    assert (node.name, node.aliases) == ("emb.weight", ("out.weight",))
    rows = [
        int(row) for edge, row in zip(graph.edges, graph.graph.edge_rows) if edge.source == index
    ]
    shares = [graph.backward_passes[0].gradients[row] for row in rows]
    assert len(shares) == 2 and all(share.any() for share in shares)
    model(torch.tensor([0, 2])).backward()
    np.testing.assert_allclose(sum(shares), model.emb.weight.grad, rtol=1e-6)
    np.testing.assert_array_equal(graph["out.weight"].gradient, model.emb.weight.grad)
