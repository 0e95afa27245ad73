"""WebKitGTK, driven by its own WebDriver: Debian's package webkit2gtk-driver."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

from tests.patience import patient, wait_until

DRIVER = "WebKitWebDriver"
_BROWSERS = "/usr/lib/*/webkit2gtk-4*/MiniBrowser"
_PANEL_FRAME = 'iframe[src*="name=gradgraph"]'
START_LIMIT_S = 20.0

#: The driver has no word about the console: a list of what a page complains of, from the first look at it on.
_COMPLAINTS = """window.complaints ??= (() => {
  const told = [];
  const { error } = console;
  console.error = (...all) => { told.push(all.map(String).join(' ')); error(...all); };
  window.addEventListener('error', (event) => told.push(String(event.message)));
  window.addEventListener('unhandledrejection', (event) => told.push(String(event.reason)));
  return told;
})();"""

#: A locale without a language, with which WebKitGTK says "C" to pages; and no GPU is asked for.
_ENVIRONMENT = {"LC_ALL": "C", "WEBKIT_DISABLE_COMPOSITING_MODE": "1", "GDK_BACKEND": "x11"}


def find_webkit() -> str | None:
    """Return the path of the browser that the driver starts, or None if a part of what is needed lacks."""
    found = sorted(pathlib.Path("/").glob(_BROWSERS.removeprefix("/")))
    has_all = shutil.which(DRIVER) and shutil.which("xvfb-run") and found
    return str(found[-1]) if has_all else None


class WebKit:
    """One window of WebKitGTK."""

    name = "WebKitGTK"

    def __init__(self, session: str) -> None:
        self._session = session

    def open(self, address: str) -> None:
        """Go to ``address`` and wait until its page is loaded."""
        _ask(f"{self._session}/url", {"url": address})

    def evaluate(self, expression: str) -> Any:
        """Return what an expression is in the panel's frame, or in the page if that is the panel."""
        self._enter()
        script = f"{_COMPLAINTS} return {expression}"
        return _ask(f"{self._session}/execute/sync", {"script": script, "args": []})

    def press(self, key: str) -> None:
        """Press and release a key where the focus of the panel is."""
        self._enter()
        actions = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        source = {"type": "key", "id": "keyboard", "actions": actions}
        _ask(f"{self._session}/actions", {"actions": [source]})

    def screenshot(self) -> bytes:
        """Return the window as PNG."""
        _ask(f"{self._session}/frame", {"id": None})
        return base64.b64decode(_ask(f"{self._session}/screenshot"))

    def complaints(self) -> list[str]:
        """List the errors that the page now open has told since it was first looked at."""
        return list(self.evaluate("window.complaints"))

    def _enter(self) -> None:
        _ask(f"{self._session}/frame", {"id": None})
        by = {"using": "css selector", "value": _PANEL_FRAME}
        for frame in _ask(f"{self._session}/elements", by):
            _ask(f"{self._session}/frame", {"id": frame})


@contextlib.contextmanager
def launch_webkit() -> Iterator[WebKit]:
    """Start WebKitGTK on a screen of its own; both end on leaving."""
    port = _free_port()
    screen = ("xvfb-run", "--auto-servernum", "--server-args=-screen 0 1400x1000x24")
    process = subprocess.Popen(
        [*screen, DRIVER, f"--port={port}"],
        env=os.environ | _ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        session = _start_session(f"http://127.0.0.1:{port}")
        yield WebKit(session)
        _ask(session, method="DELETE")
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(patient(10))


def _start_session(driver: str) -> str:
    assert wait_until(lambda: _is_ready(driver), START_LIMIT_S), f"{DRIVER} did not start"
    browser = {"binary": find_webkit(), "args": ["--automation"]}
    asked = {"alwaysMatch": {"webkitgtk:browserOptions": browser}}
    session = f"{driver}/session/{_ask(f'{driver}/session', {'capabilities': asked})['sessionId']}"
    _ask(f"{session}/window/rect", {"width": 1280, "height": 900})
    return session


def _is_ready(driver: str) -> bool:
    try:
        return bool(_ask(f"{driver}/status")["ready"])
    except (urllib.error.URLError, ConnectionError):
        return False


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def _ask(address: str, body: object = None, method: str | None = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, content, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=patient(60)) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        with error:
            raise RuntimeError(f"{address}: {error.read().decode()}") from None
