"""Pages of a real browser that record console errors and requests to other machines."""

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Browser, Error, Frame, Locator, Page, Request, expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SOFTWARE_WEBGL = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
FLAGS = (*SOFTWARE_WEBGL, "--disable-gpu-compositing")
"""As on a machine without a graphics card: only 3D is drawn by OpenGL, which takes half the time for a page."""
TIMEOUT = 30_000
"""Milliseconds for an element to appear. What takes longer waits for its own state, with its own timeout."""
NAVIGATION_TIMEOUT = 120_000
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
STREAMS = re.compile("/queue/data")
"""Gradio's request that stays open."""
SETTLED = "async () => !window.studioChannel || (await window.studioChannel).isSettled()"
"""Whether the studio acted on all that the page sent, and the page shows what came of it."""
QUIET_WHEN_LEFT = """addEventListener("beforeunload", () => {
    const said = console.error;
    console.error = () => {};
    setTimeout(() => (console.error = said), 500);
})"""
"""Gradio closes its stream when a page is left, and logs an event that was under way as an error."""
expect.set_options(timeout=TIMEOUT)


class PageLog:
    """What a page did wrong, and its requests that are still open."""

    def __init__(self, page: Page):
        self.errors: list[str] = []
        self.open_requests: set[Request] = set()
        page.add_init_script(QUIET_WHEN_LEFT)
        page.on("console", lambda m: self.errors.append(f"{m.text} {m.location['url']}") if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._begin)
        page.on("requestfinished", lambda request: self.open_requests.discard(request))
        page.on("requestfailed", lambda request: self.open_requests.discard(request))
        page.on("framedetached", self._end_requests)

    def take_errors(self) -> list[str]:
        errors, self.errors = self.errors, []
        return errors

    def _end_requests(self, frame: Frame) -> None:
        """Count the requests of a document that is gone as ended: Chromium doesn't report each that it drops."""
        self.open_requests = {request for request in self.open_requests if not _is_asked_by(request, frame)}

    def _begin(self, request: Request) -> None:
        if not request.url.startswith(LOCAL):
            self.errors.append(f"fetched from another machine: {request.url}")
        if not STREAMS.search(request.url):
            self.open_requests.add(request)


def _is_asked_by(request: Request, frame: Frame) -> bool:
    try:
        return request.frame == frame
    except Error:  # a navigation whose frame isn't known yet
        return False


PAGE_LOGS: dict[Page, PageLog] = {}


@contextlib.contextmanager
def open_page(browser: Browser, **screen: Any) -> Iterator[Page]:
    """Open a page; `screen` may hold device_scale_factor, has_touch ... Fails on errors in its console."""
    page = browser.new_page(**{"viewport": {"width": 1280, "height": 800}, **screen})
    page.set_default_timeout(TIMEOUT)
    page.set_default_navigation_timeout(NAVIGATION_TIMEOUT)
    log = PAGE_LOGS[page] = PageLog(page)
    yield page
    page.close()
    assert not log.errors


def wait_until(
    page: Page,
    condition: Callable[[], object],
    seconds: float = TIMEOUT / 1000,
    hindered_by: Callable[[], object] = lambda: "",
) -> None:
    """Wait until something is true in this process, while the page goes on.

    Fails after so many seconds, with what hinders it.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not become true in time: {hindered_by()}"
        page.wait_for_timeout(50)


def expect_texts(root: Page | Locator, texts: dict[str, Any]) -> None:
    """Expect of the elements of each selector their texts, or how many they are."""
    for selector, wanted in texts.items():
        found = expect(root.locator(selector))
        found.to_have_count(wanted) if isinstance(wanted, int) else found.to_have_text(wanted)


def press_buttons(root: Page | Locator, *names: str | re.Pattern[str]) -> None:
    for name in names:
        root.get_by_role("button", name=name, exact=True).click()


def press_keys(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def wait_for_request(page: Page, asked: list[dict[str, Any]], **wanted: Any) -> None:
    """Wait until a request with these values has been asked, whichever others came after it."""
    wait_until(page, lambda: any(all(one.get(key) == value for key, value in wanted.items()) for one in asked))


@contextlib.contextmanager
def leaving(page: Page) -> Iterator[None]:
    """Leave or reload the studio inside, once no request is open or after some seconds. What Gradio reports of it is no
    error."""
    log, deadline = PAGE_LOGS[page], time.monotonic() + 2
    while log.open_requests and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    before, dropped = log.take_errors(), set(log.open_requests)
    yield
    log.errors = before
    log.open_requests -= dropped


def close_app(page: Page) -> None:
    with leaving(page):
        page.goto("about:blank")
    PAGE_LOGS[page].open_requests.clear()
