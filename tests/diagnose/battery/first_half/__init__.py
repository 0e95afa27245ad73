"""The half of the battery on which rules are tuned."""

from __future__ import annotations

import importlib

from tests.diagnose.battery.case import Case

FAULTS = (
    *("nonfinite_faults", "backward_faults", "loop_faults", "optimizer_faults"),
    *("untrained_faults", "signal_faults", "cut_faults", "progress_faults", "data_faults"),
)
HEALTHY = (
    *("healthy_mlp", "healthy_conv", "healthy_attention", "healthy_loops"),
    "healthy_generative",
)

CASES: list[Case] = [
    case
    for name in (*FAULTS, *HEALTHY)
    for case in importlib.import_module(f"{__name__}.{name}").CASES
]
