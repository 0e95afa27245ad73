"""A real Chromium for tests, benchmarks and screenshots, and what its pages complain about."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.browser.find_chromium import find_chromium
from tests.patience import patient_ms

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

#: What a page may take for one thing, on an idle machine.
PAGE_LIMIT_S = 20.0
VIEWPORT = {"width": 1280, "height": 900}

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


class SharedPage:
    """One page for all tests, as new for each.

    A page that has compiled TensorBoard's code opens it again in 1.5 s of a
    processor; a new one takes 4 to 5.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: Page | None = None

    @contextlib.contextmanager
    def lend(self) -> Iterator[Page]:
        """Return the page, blank; what it complains of while it is lent fails the test."""
        page = self._page or self._open()
        limit_ms = patient_ms(PAGE_LIMIT_S)
        page.context.set_default_timeout(limit_ms)
        page.set_default_timeout(limit_ms)
        self._complaints.texts.clear()
        self._page = None  # after a failure there is a new one
        try:
            yield page
            assert self._complaints.texts == []
            self._clear(page)
            self._page = page
        finally:
            if self._page is None:
                page.context.close()

    def _open(self) -> Page:
        context = self._browser.new_context(viewport=VIEWPORT)
        self._complaints = Complaints(context)
        return context.new_page()

    def _clear(self, page: Page) -> None:
        """Take away what a test has left: storage, other pages, routes, the color scheme."""
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.goto("about:blank")
        page.unroute_all()
        page.emulate_media(color_scheme="null")
        page.set_viewport_size(VIEWPORT)
        page.mouse.move(0, 0)
        session = page.context.new_cdp_session(page)
        types = {"origin": "*", "storageTypes": "local_storage,cookies,indexeddb"}
        session.send("Storage.clearDataForOrigin", types)
        session.detach()


# TensorBoard's own style sheet asks for its fonts outside of --path_prefix, and the browser for a picture of
# the site that TensorBoard's page has and the frame in it, opened alone, has not.
_NOT_OURS = ("/font-roboto/", "/favicon.ico")


class Complaints:
    """Console errors, uncaught exceptions and policy violations of all pages of a context."""

    def __init__(self, context: BrowserContext) -> None:
        self.texts: list[str] = []
        context.add_init_script(_REPORT_VIOLATIONS)
        context.on("console", self._add_message)
        context.on("weberror", lambda error: self.texts.append(f"uncaught: {error.error}"))

    def _add_message(self, message: ConsoleMessage) -> None:
        url = message.location.get("url", "")
        if message.type == "error" and not any(part in url for part in _NOT_OURS):
            self.texts.append(f"{message.text} ({url})")
