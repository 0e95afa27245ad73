"""The plugin: its routes and their answers. It does nothing when TensorBoard starts."""

from __future__ import annotations

import logging
from collections.abc import Callable

from tensorboard.backend import http_util
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from tb_gradgraph.record import PLUGIN_NAME
from tb_gradgraph.serve.assets import answer_asset
from tb_gradgraph.serve.request.answer import JSON, Answer
from tb_gradgraph.serve.request.frames import to_json
from tb_gradgraph.serve.request.parameters import Parameters, RequestError, not_found
from tb_gradgraph.serve.routes.export_route import answer_export
from tb_gradgraph.serve.routes.findings_route import answer_findings
from tb_gradgraph.serve.routes.flow_route import answer_flow
from tb_gradgraph.serve.routes.graph_route import answer_graph
from tb_gradgraph.serve.routes.node_route import answer_node
from tb_gradgraph.serve.routes.quantities_route import answer_quantities
from tb_gradgraph.serve.routes.run_findings_route import answer_run_findings
from tb_gradgraph.serve.routes.runs_route import answer_facts, answer_pulse, answer_runs
from tb_gradgraph.serve.routes.scalars_route import answer_hparams, answer_scalar, answer_scalars
from tb_gradgraph.serve.routes.series_route import answer_series
from tb_gradgraph.serve.routes.step_route import answer_step
from tb_gradgraph.serve.routes.tensor_route import answer_tensor
from tb_gradgraph.serve.runs.reader import DamagedRecordError, Reader

Route = Callable[[Reader, Parameters], Answer]

#: How many seconds an answer waits for slow runs; a later answer will include them.
PATIENCE = 5.0

#: How many damaged chunks a request may find before it fails.
_ATTEMPTS = 16

_ROUTES: dict[str, Route] = {
    "/runs": answer_runs,
    "/pulse": answer_pulse,
    "/graph": answer_graph,
    "/step": answer_step,
    "/series": answer_series,
    "/flow": answer_flow,
    "/node": answer_node,
    "/tensor": answer_tensor,
    "/findings": answer_findings,
    "/run_findings": answer_run_findings,
    "/export": answer_export,
    "/hparams": answer_hparams,
    "/scalars": answer_scalars,
    "/scalar": answer_scalar,
    "/quantities": answer_quantities,
    "/facts": answer_facts,
}

# TensorBoard's page imports "." + es_module_path, and has <base href="plugin/gradgraph/">. WebKit resolves
# an import() of such a page against the address of the page, /data/plugin_entry.html, and other browsers
# against the base. So the path is the way from the page, and the panel is also where it leads from the base.
_STATIC = f"/plugin/{PLUGIN_NAME}/static/"

_logger = logging.getLogger(__name__)


class GradGraphPlugin(base_plugin.TBPlugin):
    """Serves the panel and its data. Every method may be called by several threads at once."""

    plugin_name = PLUGIN_NAME

    def __init__(self, context: base_plugin.TBContext) -> None:
        self._reader = Reader(context.data_provider, patience=PATIENCE)

    def is_active(self) -> bool:
        """Return False. TensorBoard asks only if it knows of no records, and it waits for the answer."""
        return False

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """Return the name of the tab, and the module that draws it."""
        return base_plugin.FrontendMetadata(
            es_module_path=f"{_STATIC}index.js", tab_name="Grad Graph"
        )

    def get_plugin_apps(self) -> dict[str, Callable]:
        """Return the routes below ``data/plugin/gradgraph``; http_api.md describes them."""
        apps = {path: self._make_app(route) for path, route in _ROUTES.items()}
        return {**apps, "/static/*": _serve_asset, f"{_STATIC}*": _serve_asset}

    def _make_app(self, route: Route) -> Callable:
        @wrappers.Request.application
        def serve(request: wrappers.Request) -> wrappers.Response:
            return _respond(request, lambda: self._ask(route, Parameters(request.args)))

        return serve

    def _ask(self, route: Route, parameters: Parameters) -> Answer:
        for _ in range(_ATTEMPTS):
            try:
                return route(self._reader, parameters)
            except DamagedRecordError as error:
                _logger.warning("tb_gradgraph: a damaged record is skipped: %s", error)
        raise not_found("Expected readable records, got too many damaged ones.")


@wrappers.Request.application
def _serve_asset(request: wrappers.Request) -> wrappers.Response:
    name = request.path.rpartition("/static/")[2]
    return _respond(request, lambda: answer_asset(name))


def _respond(request: wrappers.Request, ask: Callable[[], Answer]) -> wrappers.Response:
    if request.method not in ("GET", "HEAD"):
        return _refuse(request, 405, f"Expected the method GET, got {request.method}.")
    try:
        answer = ask()
    except RequestError as error:
        return _refuse(request, error.status, error.sentence)
    headers = []
    if answer.file_name:
        headers.append(("Content-Disposition", f'attachment; filename="{answer.file_name}"'))
    if not isinstance(answer.content, bytes):
        headers.append(("X-Content-Type-Options", "nosniff"))
        return wrappers.Response(answer.content, 200, headers, content_type=answer.content_type)
    return http_util.Respond(
        request,
        answer.content,
        answer.content_type,
        expires=answer.expires_seconds,
        content_encoding="gzip" if answer.is_gzip else None,
        headers=headers,
    )


def _refuse(request: wrappers.Request, status: int, sentence: str) -> wrappers.Response:
    return http_util.Respond(request, to_json({"error": sentence}), JSON, code=status)
