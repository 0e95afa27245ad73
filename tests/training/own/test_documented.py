"""The examples of docs/statistics.md give the numbers that they should, by plain torch."""

from __future__ import annotations

import pathlib
import re
import warnings
from typing import Any

import pytest
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

import tb_gradgraph
from tests.logged import read_one_run
from tests.training.own.added import Add

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "statistics.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def run_program(number: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run an example; return its variables, what was recorded, and what a hook saw of a module."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    found: dict[str, Any] = {}
    exec(compile(PROGRAMS[number], str(PAGE), "exec"), found)
    return found, read_one_run(tmp_path / "runs")


def numbers(run: Any, name: str) -> list[dict[str, float]]:
    found = []
    for record in run.forwards:
        graph = run.graphs[record.graph_hash]
        names = [node.name for node in graph.nodes for _ in node.slots]
        found.append({names[row]: number for row, number in record.own[name].items()})
    return found


@pytest.mark.parametrize("text", [PAGE, PAGE.parents[1] / "README.md"])
def test_stable_rank_is_only_that_of_matrices(text: pathlib.Path, add: Add) -> None:
    """Biases and the weights of normalizations have one dimension."""
    (program,) = re.findall(
        r"(^@tb_\S+\(\"stable_rank.*?)(?:\n\n|```)", text.read_text("utf-8"), re.M | re.S
    )
    found: dict[str, Any] = {"torch": torch, "tb_gradgraph": tb_gradgraph}
    exec(program, found)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 2), torch.nn.BatchNorm2d(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = tb_gradgraph.capture(net, torch.randn(2, 1, 4, 4), loss_fn=torch.max)
    squares = torch.linalg.svdvals(net[0].weight.detach().double().flatten(1)) ** 2
    expected = float(squares.sum() / squares.max())
    assert graph["0.weight"].own["stable_rank"] == pytest.approx(expected)
    assert "stable_rank" not in graph["1.weight"].own


def test_all_examples_are_tested() -> None:
    assert len(PROGRAMS) == 3


def test_stable_rank(add: Add, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = []

    def keep(optimizer: Any, *_: Any) -> None:
        group = optimizer.param_groups[0]["params"]
        weights.append([p.detach().clone() for p in group if p.ndim == 2])

    handle = register_optimizer_step_pre_hook(keep)  # a step that is replaced is hooked twice
    try:
        _, run = run_program(0, tmp_path, monkeypatch)
    finally:
        handle.remove()
    found = numbers(run, "stable_rank")
    assert len(found) == 3
    for at, of_names in enumerate(found):
        expected = [(torch.linalg.svdvals(w.double()) ** 2) for w in weights[10 * at]]
        assert list(of_names) == ["0.weight", "2.weight"]
        assert list(of_names.values()) == pytest.approx(
            [float(s.sum() / s.max()) for s in expected]
        )


def test_attention_entropy(
    add: Add, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = []
    forward = torch.nn.Softmax.forward

    def kept(self: Any, x: torch.Tensor) -> torch.Tensor:
        found = forward(self, x)
        outputs.append(found.detach().double())
        return found

    monkeypatch.setattr(torch.nn.Softmax, "forward", kept)
    _, run = run_program(1, tmp_path, monkeypatch)
    found = numbers(run, "attention_entropy")
    assert len(found) == 3
    for of_names, p in zip(found, outputs[1::3], strict=True):
        ((name, number),) = of_names.items()
        assert name.startswith("layers.1.softmax/")
        entropy = -(p * p.log()).sum(-1).mean() / torch.tensor(6.0).log()
        assert number == pytest.approx(float(entropy), rel=1e-5)


def test_token_share(add: Add, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []
    forward = torch.nn.Linear.forward

    def kept(self: Any, x: torch.Tensor) -> torch.Tensor:
        found = forward(self, x)
        if self.out_features == 4:
            chosen.append(found.detach().argmax(-1).flatten().tolist())
        return found

    monkeypatch.setattr(torch.nn.Linear, "forward", kept)
    _, run = run_program(2, tmp_path, monkeypatch)
    for expert in range(4):
        found = numbers(run, f"token_share/expert {expert}")
        shares = [number for of_names in found for number in of_names.values()]
        assert shares == pytest.approx([of.count(expert) / len(of) for of in chosen])


def test_the_example_of_the_docstring(add: Add) -> None:
    assert tb_gradgraph.statistic.__doc__ is not None
    found: dict[str, Any] = {}
    lines = re.findall(r"(?:>>>|\.\.\.) ?(.*)", tb_gradgraph.statistic.__doc__)
    exec("\n".join(lines), found)
    assert float(found["largest_row"](torch.tensor([[3.0, 4.0], [1.0, 0.0]]))) == 5
