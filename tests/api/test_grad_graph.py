"""What a graph gives besides its tensors: an edge's gradient, networkx's graph, a table for notebooks."""

from __future__ import annotations

from html.parser import HTMLParser

import networkx
import pytest
import torch

import tb_gradgraph
from tb_gradgraph import GradGraph


def _of_two_uses() -> tuple[GradGraph, torch.Tensor]:
    """A tensor ``x`` that two operations use, ``2 * x`` and ``x * x``, after its backward."""
    x = torch.tensor([3.0, -1.0], requires_grad=True)
    doubled = 2 * x
    squared = x * x
    loss = (doubled + squared).sum()
    graph = tb_gradgraph.capture(loss)
    loss.backward()
    return graph, x


def _edges_of(graph: GradGraph, name: str) -> list[int]:
    source_of = [graph.nodes[edge.source].slots[edge.source_slot] for edge in graph.edges]
    return [at for at, slot in enumerate(source_of) if slot.name == name]


def test_each_edge_has_its_own_share_of_the_gradient():
    graph, x = _of_two_uses()
    shares = [graph.edge_gradient(edge) for edge in _edges_of(graph, "x")]
    # Of 2 * x the share is 2; x * x has x twice, and each of the two gives x.
    expected = [torch.full_like(x, 2.0), x.detach(), x.detach()]
    found = sorted((share.min, share.max, share.l2_norm) for share in shares if share)
    wanted = sorted((s.min().item(), s.max().item(), s.norm().item()) for s in expected)
    assert found == [pytest.approx(each) for each in wanted]
    assert sum(s.mean for s in shares if s) == pytest.approx(x.grad.mean().item())


def test_an_edge_that_carries_all_has_the_gradient_of_its_slot():
    graph, _ = _of_two_uses()
    (edge,) = _edges_of(graph, "doubled")
    assert graph.edge_gradient(edge) == graph["doubled"].statistics
    assert graph.edge_gradient(edge).l2_norm == pytest.approx(2**0.5), "the sum gives 1 to each"


def test_before_its_backward_an_edge_has_no_gradient():
    x = torch.ones(2, requires_grad=True)
    graph = tb_gradgraph.capture((x * 2).sum())
    assert {graph.edge_gradient(edge) for edge in range(len(graph.edges))} == {None}


def test_networkx_has_the_same_nodes_and_edges():
    graph, _ = _of_two_uses()
    drawn = graph.to_networkx()
    assert isinstance(drawn, networkx.MultiDiGraph)
    assert drawn.graph == {"tag": graph.tag, "hash": graph.hash}
    assert {key: data["operation"] for key, data in drawn.nodes(data=True)} == {
        node.key: node.operation for node in graph.nodes
    }
    pairs = [(graph.nodes[e.source].key, graph.nodes[e.target].key) for e in graph.edges]
    assert sorted(drawn.edges()) == sorted(pairs)
    (x,) = (node.key for node in graph.nodes if node.slots[0].name == "x")
    assert drawn.out_degree(x) == 3, "x * x uses it twice"
    assert networkx.is_directed_acyclic_graph(drawn)
    (root,) = (node.key for node in graph.nodes if node.kind == "root")
    assert networkx.has_path(drawn, x, root)


class _Table(HTMLParser):
    """Rows of cells, and which tags were opened and closed."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def _table_of(graph: GradGraph) -> list[dict[str, str]]:
    table = _Table()
    table.feed(graph._repr_html_())
    assert table.open == []
    head, *rows = table.rows
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_a_notebook_shows_a_row_for_each_tensor():
    graph, x = _of_two_uses()
    rows = {row["name"]: row for row in _table_of(graph)}
    assert len(_table_of(graph)) == len(graph)
    assert rows["x"]["shape"] == "[2]" and rows["x"]["leaf"] == "leaf"
    assert float(rows["x"]["l2_norm"]) == pytest.approx(x.grad.norm().item(), rel=1e-3)


def test_names_are_text_in_a_notebook_and_never_markup():
    model = torch.nn.Sequential()
    model.add_module("<b>&", torch.nn.Linear(2, 1))
    graph = tb_gradgraph.capture(model, torch.ones(1, 2))
    assert "<b>" not in graph._repr_html_()
    assert "<b>&.weight" in {row["name"] for row in _table_of(graph)}
