"""Case 5: which parameters got no gradient, and why. "None" and "0" are never one word."""

from __future__ import annotations

import os

import pytest
import torch
from torch import nn

import tb_gradgraph

HERE = __file__.removeprefix(os.getcwd() + os.sep)


class Six(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.never, self.cut, self.zero, self.spare, self.frozen = (
            nn.Linear(2, 2) for _ in range(6)
        )
        self.frozen.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.used(self.frozen(x))
        y = y + self.cut(x).detach()
        y = y + self.zero(x) * 0
        self.spare(x)
        return y.sum()


@pytest.fixture(scope="module")
def graph() -> tb_gradgraph.GradGraph:
    torch.manual_seed(0)
    return tb_gradgraph.capture(Six(), torch.ones(1, 2))


def test_six_parameters_six_reasons(graph: tb_gradgraph.GradGraph) -> None:
    line = Six.forward.__code__.co_firstlineno + 2
    notes = {name: graph[f"{name}.weight"].node.note for name in ("used", "never", "cut", "zero")}
    assert notes == {
        "used": "",
        "never": "Unused: no operation of this forward used it.",
        "cut": f"Cut off from the loss by detach ({HERE}:{line} in forward).",
        "zero": "",
    }
    reasons = {name: graph[f"{name}.weight"].node.reason for name in (*notes, "spare", "frozen")}
    assert reasons == {
        "used": "",
        "never": "unused",
        "cut": "cut",
        "zero": "",
        "spare": "not_in_loss",
        "frozen": "frozen",
    }
    place = f"({HERE}:{line + 2} in forward)"
    spare = f"What was computed from it {place} is not part of what is differentiated."
    assert graph["spare.weight"].node.note == spare
    assert graph["frozen.weight"].node.note == "Frozen: it does not require grad."
    assert graph["used.weight"].status == "ok" and graph["zero.weight"].status == "zero"
    for name in ("never", "cut", "spare", "frozen"):
        assert graph[f"{name}.weight"].statistics is None


def test_findings_give_the_reasons(graph: tb_gradgraph.GradGraph) -> None:
    kinds = {finding.node: finding.kind for finding in graph.findings()}
    assert kinds["never.weight"] == kinds["cut.weight"] == kinds["spare.weight"] == "no_gradient"
    assert kinds["mul"] == "zero_origin" and kinds["frozen.weight"] == "frozen"
    assert "used.weight" not in kinds
    texts = {finding.node: finding.text for finding in graph.findings()}
    assert "Cut off from the loss by detach" in texts["cut.bias"]
    zero = "arrives, 0 leaves. Because of it 2 parameters get only zero: zero.weight, zero.bias."
    assert texts["mul"].endswith(zero)


def test_the_cut_is_drawn(graph: tb_gradgraph.GradGraph) -> None:
    edges = {(graph.nodes[e.source].name, graph.nodes[e.target].name) for e in graph.edges}
    assert ("cut/addmm", "detach") in edges and ("detach", "add") in edges
    assert ("cut.weight", "cut/t") in edges
    assert not any("spare" in source or "never" in source for source, _ in edges)


def test_a_cut_behind_a_cut_and_under_no_grad() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = (nn.Linear(2, 2) for _ in range(3))
            self.d = nn.Parameter(torch.ones(2))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first = self.a(x)
            second = self.b(first.detach())
            with torch.no_grad():
                scale = second.abs()
                scale = scale + self.d
            return (self.c(x) * scale).sum()

    graph = tb_gradgraph.capture(Twice(), torch.ones(1, 2))
    assert "by abs" in graph["b.weight"].node.note and "by detach" in graph["a.weight"].node.note
    assert "Used without gradient by add" in graph["d"].node.note
    assert graph["d"].node.reason == "no_grad"
    assert graph["c.weight"].status == "ok"
    edges = {(graph.nodes[e.source].name, graph.nodes[e.target].name) for e in graph.edges}
    assert {("d", "add"), ("abs", "add"), ("b/addmm", "abs"), ("a/addmm", "detach")} <= edges


def test_two_networks_of_which_one_trains_on_the_others_output() -> None:
    a, b = nn.Linear(2, 2), nn.Linear(2, 1)
    model = nn.ModuleDict({"a": a, "b": b})
    model.forward = lambda x: b(a(x).detach()).sum()
    graph = tb_gradgraph.capture(model, (torch.ones(1, 2),))
    assert graph["b.weight"].status == "ok"
    assert "Cut off from the loss by detach" in graph["a.weight"].node.note


def test_a_cut_by_numpy_names_where_each_parameter_was_used() -> None:
    class ByNumpy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c = (nn.Linear(2, 2) for _ in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = self.b(self.a(x))
            h = torch.tensor(h.tolist())
            return self.c(x + h).sum()

    graph = tb_gradgraph.capture(ByNumpy(), torch.ones(1, 2))
    line = ByNumpy.forward.__code__.co_firstlineno + 1
    for name in ("a.weight", "a.bias", "b.weight", "b.bias"):
        note = graph[name].node.note
        assert note.startswith(f"What was computed from it ({HERE}:{line} in forward) is not")
