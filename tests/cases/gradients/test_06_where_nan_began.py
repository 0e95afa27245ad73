"""Case 6: where NaN and infinity began."""

from __future__ import annotations

import os

import torch

import tb_gradgraph

HERE = __file__.removeprefix(os.getcwd() + os.sep)


def test_the_origin_is_the_sqrt_and_the_first_victim_the_mul() -> None:
    x = torch.zeros(1, requires_grad=True)
    y = torch.sqrt(x * 0.0) * 1.0
    loss = y.sum()
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    found = [(finding.kind, finding.node) for finding in graph.findings()]
    assert found[:2] == [("nonfinite_origin", "sqrt"), ("nan_victim", "mul")]


def test_infinity_alone_is_reported() -> None:
    class Root(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (self.w * x).sqrt().sum()

    graph = tb_gradgraph.capture(Root(), torch.ones(1))
    first = graph.findings()[0]
    assert (first.kind, first.node, first.severity) == ("nonfinite_origin", "sqrt", "error")
    line = Root.forward.__code__.co_firstlineno + 1
    assert f"{HERE}:{line} in forward" in first.text
    assert graph["w"].statistics.posinf == 1 and graph["w"].statistics.mean is None
