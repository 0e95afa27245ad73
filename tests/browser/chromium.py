"""A real Chromium for tests, benchmarks and screenshots, and what its pages complain about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, sync_playwright

from tests.browser.find_chromium import find_chromium

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Violations of the Content-Security-Policy are events of the document; make them console errors.
_REPORT_VIOLATIONS = """
document.addEventListener('securitypolicyviolation', (event) =>
  console.error(`CSP violation: ${event.violatedDirective} ${event.blockedURI}`));
"""


@contextlib.contextmanager
def launch_chromium() -> Iterator[Browser]:
    """Start a headless Chromium; it ends on leaving."""
    path = find_chromium()
    if path is None:
        raise RuntimeError("No Chromium found. Run .ci/install_chromium, or set CHROMIUM to one.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


# TensorBoard's own style sheet asks for its fonts outside of --path_prefix.
_NOT_OURS = "/font-roboto/"


class Complaints:
    """Console errors, uncaught exceptions and policy violations of all pages of a context."""

    def __init__(self, context: BrowserContext) -> None:
        self.texts: list[str] = []
        context.add_init_script(_REPORT_VIOLATIONS)
        context.on("console", self._add_message)
        context.on("weberror", lambda error: self.texts.append(f"uncaught: {error.error}"))

    def _add_message(self, message: ConsoleMessage) -> None:
        url = message.location.get("url", "")
        if message.type == "error" and _NOT_OURS not in url:
            self.texts.append(f"{message.text} ({url})")
