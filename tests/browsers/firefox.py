"""Firefox, driven through WebDriver BiDi, which it speaks itself: Debian's package firefox-esr."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from typing import Any

import websocket

from tests.patience import patient, wait_until

_PANEL_FRAME = "name=gradgraph"
#: TensorBoard's own style sheet asks for its fonts outside of --path_prefix.
_NOT_OURS = "/font-roboto/"
_LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
START_LIMIT_S = 60.0


def find_firefox() -> str | None:
    """Return the path of the system's Firefox, or None."""
    return shutil.which("firefox-esr") or shutil.which("firefox")


class Firefox:
    """One tab of Firefox."""

    name = "Firefox"

    def __init__(self, connection: websocket.WebSocket) -> None:
        self._connection = connection
        self._numbers = itertools.count()
        self._complaints: list[str] = []
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        self._tab = self._ask("browsingContext.getTree")["contexts"][0]["context"]
        viewport = {"width": 1280, "height": 900}
        self._ask("browsingContext.setViewport", context=self._tab, viewport=viewport)

    def open(self, address: str) -> None:
        """Go to ``address`` and wait until its page is loaded."""
        self._ask("browsingContext.navigate", context=self._tab, url=address, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """Return what an expression is in the panel's frame, or in the page if that is the panel."""
        asked = {
            "expression": f"JSON.stringify({expression})",
            "target": {"context": self._panel()},
            "awaitPromise": True,
        }
        result = self._ask("script.evaluate", **asked)
        assert result["type"] == "success", result
        return json.loads(result["result"].get("value", "null"))

    def press(self, key: str) -> None:
        """Press and release a key where the focus of the panel is."""
        actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        self._ask("input.performActions", context=self._panel(), actions=[source])

    def screenshot(self) -> bytes:
        """Return the window as PNG."""
        asked = self._ask("browsingContext.captureScreenshot", context=self._tab)
        return base64.b64decode(asked["data"])

    def complaints(self) -> list[str]:
        """List the errors that the console has got."""
        return list(self._complaints)

    def _panel(self) -> str:
        (tree,) = self._ask("browsingContext.getTree", root=self._tab)["contexts"]
        frames = [one["context"] for one in tree["children"] if _PANEL_FRAME in one["url"]]
        return frames[0] if frames else self._tab

    def _ask(self, method: str, **parameters: object) -> Any:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv())
            if message.get("method") == "log.entryAdded":
                self._note(message["params"])
            if message.get("id") == number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['message']}")
                return message["result"]

    def _note(self, entry: dict[str, Any]) -> None:
        if entry["level"] == "error" and _NOT_OURS not in entry["text"]:
            self._complaints.append(f"{entry['text']} {entry.get('stackTrace', '')}")


@contextlib.contextmanager
def launch_firefox() -> Iterator[Firefox]:
    """Start a headless Firefox with a new profile; both end on leaving."""
    browser = find_firefox()
    assert browser is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        output = pathlib.Path(profile) / "output"
        arguments = ("--headless", "--no-remote", "--profile", profile)
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [browser, *arguments, "--remote-debugging-port=0", "about:blank"],
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        try:
            with contextlib.closing(_connect(output)) as connection:
                yield Firefox(connection)
        finally:
            process.terminate()
            process.wait(patient(20))


def _connect(output: pathlib.Path) -> websocket.WebSocket:
    def find() -> re.Match[str] | None:
        return _LISTENS.search(output.read_text(errors="replace"))

    assert wait_until(lambda: find() is not None, START_LIMIT_S), output.read_text(errors="replace")
    address = find().group(1)
    return websocket.create_connection(
        f"{address}/session", suppress_origin=True, timeout=patient(60)
    )
