"""See the autograd graph of a PyTorch training, with its gradients, in TensorBoard.

torch is imported when a name that needs it is first used: the TensorBoard
plugin lives in this package and runs without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tb_gradgraph.errors import CaptureError, FindingError, GradGraphError, WriterError
from tb_gradgraph.version import __version__

if TYPE_CHECKING:
    from tb_gradgraph.api import GradGraph, SummaryWriter, add_grad_graph, capture, watch
    from tb_gradgraph.diagnose import RunFinding
    from tb_gradgraph.health import UnhealthyError, assert_healthy, findings
    from tb_gradgraph.training import Watch, statistic

__all__ = [
    "CaptureError",
    "FindingError",
    "GradGraph",
    "GradGraphError",
    "RunFinding",
    "SummaryWriter",
    "UnhealthyError",
    "Watch",
    "WriterError",
    "__version__",
    "add_grad_graph",
    "assert_healthy",
    "capture",
    "findings",
    "statistic",
    "watch",
]

_HOME = {
    "GradGraph": "tb_gradgraph.api",
    "SummaryWriter": "tb_gradgraph.api",
    "Watch": "tb_gradgraph.training",
    "RunFinding": "tb_gradgraph.diagnose",
    "UnhealthyError": "tb_gradgraph.health",
    "assert_healthy": "tb_gradgraph.health",
    "findings": "tb_gradgraph.health",
    "add_grad_graph": "tb_gradgraph.api",
    "capture": "tb_gradgraph.api",
    "statistic": "tb_gradgraph.training",
    "watch": "tb_gradgraph.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
