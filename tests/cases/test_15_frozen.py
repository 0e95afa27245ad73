"""Case 15: freezing in mid-run: marked frozen, not zero and not missing; the tool flips nothing."""

from __future__ import annotations

import torch
from torch import nn

import tb_gradgraph


def test_frozen_and_thawed_again() -> None:
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)), torch.ones(1, 2)
    keys = []
    for frozen in (False, True, False):
        model[0].requires_grad_(not frozen)
        graph = tb_gradgraph.capture(model, x)
        assert model[0].weight.requires_grad == (not frozen)
        view = graph["0.weight"]
        assert view.node.note == ("Frozen: it does not require grad." if frozen else "")
        assert view.node.reason == ("frozen" if frozen else "")
        assert (view.statistics is None) == frozen and view.requires_grad == (not frozen)
        keys.append(view.node.key)
    assert len(set(keys)) == 1, "the series has a gap and resumes"
