"""The TensorBoard plugin. It answers in JSON and binary frames; http_api.md is the contract.

Names are imported when they are first used. TensorBoard imports ``serve.loader`` when it starts,
and an error of ours at that time would stop it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_gradgraph.serve.plugin import Route
    from tb_gradgraph.serve.request.parameters import Parameters, RequestError
    from tb_gradgraph.serve.routes.export_route import answer_export
    from tb_gradgraph.serve.routes.findings_route import answer_findings
    from tb_gradgraph.serve.routes.flow_route import answer_flow
    from tb_gradgraph.serve.routes.graph_route import answer_graph
    from tb_gradgraph.serve.routes.node_route import answer_node
    from tb_gradgraph.serve.routes.quantities_route import answer_quantities
    from tb_gradgraph.serve.routes.run_findings_route import answer_run_findings
    from tb_gradgraph.serve.routes.runs_route import answer_runs
    from tb_gradgraph.serve.routes.scalars_route import answer_scalar, answer_scalars
    from tb_gradgraph.serve.routes.series_route import answer_series
    from tb_gradgraph.serve.routes.step_route import answer_step
    from tb_gradgraph.serve.runs.index import Entry, RunView
    from tb_gradgraph.serve.runs.reader import DamagedRecordError, Reader

__all__ = [
    "DamagedRecordError",
    "Entry",
    "Parameters",
    "Reader",
    "RequestError",
    "Route",
    "RunView",
    "answer_export",
    "answer_findings",
    "answer_flow",
    "answer_graph",
    "answer_node",
    "answer_quantities",
    "answer_run_findings",
    "answer_runs",
    "answer_scalar",
    "answer_scalars",
    "answer_series",
    "answer_step",
]

_HOME = {
    "DamagedRecordError": "runs.reader",
    "Entry": "runs.index",
    "Parameters": "request.parameters",
    "Reader": "runs.reader",
    "RequestError": "request.parameters",
    "Route": "plugin",
    "RunView": "runs.index",
    "answer_export": "routes.export_route",
    "answer_findings": "routes.findings_route",
    "answer_flow": "routes.flow_route",
    "answer_graph": "routes.graph_route",
    "answer_node": "routes.node_route",
    "answer_quantities": "routes.quantities_route",
    "answer_run_findings": "routes.run_findings_route",
    "answer_runs": "routes.runs_route",
    "answer_scalar": "routes.scalars_route",
    "answer_scalars": "routes.scalars_route",
    "answer_series": "routes.series_route",
    "answer_step": "routes.step_route",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
