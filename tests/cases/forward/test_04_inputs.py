"""Case 4: inputs that are not tensors, keyword inputs, and a list as one argument."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import tb_gradgraph


class Keeps(nn.Module):
    """Notes what reached its forward."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(2, 1)
        self.seen = _Seen()


class _Seen:
    value: Any = None


class Keywords(Keeps):
    def forward(self, x: torch.Tensor, *, mask: Any = None, scale: int = 1) -> torch.Tensor:
        self.seen.value = (x, mask, scale)
        return (self.lin(x) * scale).sum()


class Batch(Keeps):
    def forward(self, batch: Any) -> torch.Tensor:
        self.seen.value = batch
        x = batch["x"] if isinstance(batch, dict) else batch[0]
        return self.lin(x).sum()


def test_keywords_reach_the_model_untouched() -> None:
    model, x = Keywords(), torch.ones(1, 2)
    graph = tb_gradgraph.capture(model, {"x": x, "scale": 3, "mask": None})
    assert model.seen.value[0] is x and model.seen.value[1:] == (None, 3)
    assert [node.name for node in graph.nodes if node.kind == "input"] == ["x"]


def test_a_dict_with_a_string_as_the_one_argument() -> None:
    model = Batch()
    batch = {"x": torch.ones(1, 2), "meta": "str"}
    graph = tb_gradgraph.capture(model, (batch,))
    assert model.seen.value is batch
    assert [node.name for node in graph.nodes if node.kind == "input"] == ["batch['x']"]


def test_a_list_as_one_argument_stays_one() -> None:
    model = Batch()
    given = [torch.ones(1, 2), torch.zeros(1)]
    graph = tb_gradgraph.capture(model, given)
    assert model.seen.value is given
    assert [node.name for node in graph.nodes if node.kind == "input"] == ["batch[0]"]
