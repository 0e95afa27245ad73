"""One planted fault of each kind that only a whole run shows, trained and read back."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping

import pytest

from tests.diagnose.battery.case import Case
from tests.diagnose.battery.examine import examine
from tests.diagnose.battery.first_half import CASES

#: The case of the battery that shows a kind.
SHOWN: Mapping[str, str] = {
    "never_stepped": "conv: no step",
    "not_zeroed": "mlp: no zero_grad",
    "scale_collapse": "conv: infinite gradient, each step skipped",
    "unregistered": "mlp: layers in a Python list",
    "stale_optimizer": "vit: head replaced",
    "optimized_twice": "mlp: in two optimizers",
    "equal_weights": "mlp: experts begin equal",
    "input_scale": "mlp: features in their own units",
    "softmax_twice": "mlp: softmax twice",
    "batch_norm": "mlp: batch norm over two",
    "lost_update": "gpt: bfloat16 updates lost",
    "gradient_spike": "mlp: corrupt targets",
    "loss_rising": "mlp: maximizes",
    "weight_drift": "mlp: decay dominates",
    "dead_units": "mlp: two thirds of the units dead",
    "saturated": "mlp: saturated tanh",
    "attention_collapsed": "gpt: attention at one key",
    "loss_imbalance": "mlp: one loss term 1e4 times the other",
    "loss_conflict": "lstm: terms in conflict",
    "clip_before_backward": "gru: clip before backward",
    "unused_rows": "gpt: rows never used",
    "exploding": "mlp: gain of two a layer",
    "vanishing": "rnn: vanishing along 60 calls",
    "nonfinite_weight": "conv: schedule gives NaN",
}


def case_named(name: str) -> Case:
    (case,) = (one for one in CASES if one.name == name)
    return case


@pytest.mark.parametrize("kind", SHOWN)
def test_the_fault_is_the_first_thing_that_is_said(kind: str) -> None:
    case = case_named(SHOWN[kind])
    outcome = examine(case, None)
    assert outcome.complaints == ()
    first = outcome.findings[0]
    assert first.kind == kind and first.advice and first.numbers is not None
    if case.nodes:
        names = (first.node, *first.nodes)
        assert any(fnmatch.fnmatch(name, pattern) for name in names for pattern in case.nodes)
    if case.step is not None:
        assert abs(first.first_step - case.step) <= 1
