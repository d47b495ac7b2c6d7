"""The real studio in a process of its own on a free port, and a real browser that watches over what it fetches."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
PLAIN = (*FLAGS, "--disable-gpu-compositing")
"""As a machine without a graphics card draws: far less work where nothing is drawn in 3D."""
PATIENCE = 300_000
"""Milliseconds: nothing here is timed, slow machines may take theirs, for the first look at the library, too."""
expect.set_options(timeout=PATIENCE)


class Studio:
    """The command, running."""

    def __init__(self, workspace: Path, **settings: str):
        """`settings` are variables of its environment."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.workspace, self.address, self.settings = workspace, f"http://127.0.0.1:{self.port}/", settings
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "studio", "--port", str(self.port), "--workspace", str(self.workspace)]
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GRS_") and name != "DISPLAY"}
        self.process = subprocess.Popen(command, cwd=ROOT, env=plain | self.settings, start_new_session=True)
        while True:
            try:
                urllib.request.urlopen(self.address, timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, "the studio ended while starting"
                time.sleep(0.2)

    def kill(self) -> None:
        """As a power cut would: no time to save anything."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    running = Studio(tmp_path_factory.mktemp("workspace"))
    yield running
    running.process.terminate()
    try:
        running.process.wait(60)
    finally:
        running.process.kill()


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    return FLAGS


@pytest.fixture(scope="module")
def browser(flags: tuple[str, ...]) -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine; apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(flags))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One page at 1280 x 800 for a module; any error in its console and any fetch from elsewhere is a failure."""
    with watched(browser) as page:
        yield page


@contextlib.contextmanager
def watched(browser: Browser, **screen: Any) -> Iterator[Page]:
    """The same, with another screen where one is told: device_scale_factor, has_touch ..."""
    wrong: list[str] = []
    page = browser.new_page(**{"viewport": {"width": 1280, "height": 800}, **screen})
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if not request.url.startswith(LOCAL) else None)
    open_requests = OPEN[page] = set[Request]()
    page.on("request", lambda request: None if LASTING in request.url else open_requests.add(request))
    page.on("requestfinished", lambda request: open_requests.discard(request))
    page.on("requestfailed", lambda request: open_requests.discard(request))
    yield page
    page.close()
    assert not wrong


def leave(page: Page) -> None:
    """Away from the studio once nothing is under way: what is cut off in between complains in the console."""
    for _ in range(200):
        if OPEN[page]:
            page.wait_for_timeout(50)
    page.goto("about:blank")


OPEN: dict[Page, set[Request]] = {}
"""What each page asked for and has not been answered yet."""
LASTING = "/heartbeat/"
LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
