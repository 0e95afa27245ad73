"""Case 3 and 11: a dict, a dataclass, a named tuple or nested lists as output; gradients by name."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import pytest
import torch
from torch import nn

import tb_gradgraph

Pair = collections.namedtuple("Pair", ["left", "right"])


@dataclasses.dataclass
class Result:
    logits: torch.Tensor
    extra: Any = None


class Returns(nn.Module):
    def __init__(self, form: str) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.form = form

    def forward(self, x: torch.Tensor) -> Any:
        y = self.lin(x)
        z = y * 2
        return {
            "dict": {"y": y, "z": z, "text": "a"},
            "dataclass": Result(y, {"z": z}),
            "namedtuple": Pair(y, z),
            "nested": [y, (z, [None, 3])],
        }[self.form]


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("dict", ["output['y']", "output['z']"]),
        ("dataclass", ["output.logits", "output.extra['z']"]),
        ("namedtuple", ["output.left", "output.right"]),
        ("nested", ["output[0]", "output[1][0]"]),
    ],
)
def test_outputs_are_named_by_key_field_or_index(form: str, names: list[str]) -> None:
    graph = tb_gradgraph.capture(Returns(form), torch.ones(1, 2))
    assert [node.name for node in graph.nodes if node.kind == "root"] == names
    assert graph.objective == "sum of all floating outputs"
    for name in names:
        assert graph[name].gradient.tolist() == [[1.0, 1.0]]
    assert graph["lin/addmm"].gradient.tolist() == [[3.0, 3.0]]
