"""Fixtures of the browser tests: the running studio, a browser, and a project of its own for each test.

Any test can run alone and in any order. What takes long is done once: the `project` fixture copies
the folder of a project whose stages have run.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from app_page import LONG, OpenProject, open_copy, rows, stop_work, tab, wait_until_idle
from filelock import FileLock
from playwright.sync_api import Browser, Page, expect, sync_playwright
from studio_process import Studio
from watched_page import CHROMIUM, FLAGS, PAGE_LOGS, close_app, open_page


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """The studio in a process of its own, for one file."""
    running = Studio(tmp_path_factory.mktemp("workspace"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, for one file."""
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine; apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser_page(browser: Browser) -> Iterator[Page]:
    """A page at 1280 x 800 that keeps its cache over a file's tests."""
    with open_page(browser) as page:
        yield page


@pytest.fixture
def page(browser_page: Page) -> Iterator[Page]:
    """The file's page, left empty. Fails on errors in its console and on requests to other machines."""
    yield browser_page
    close_app(browser_page)
    errors = PAGE_LOGS[browser_page].take_errors()
    assert not errors


@pytest.fixture(scope="module")
def ready_project(
    request: pytest.FixtureRequest, studio: Studio, browser_page: Page, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The project folder of the file's SCENE after all stages that run by themselves, not to be changed.

    Files whose studio has no settings share it, in all worker processes.
    """
    scene: str = request.module.SCENE
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    ready = (tmp_path_factory.mktemp("ready") if studio.settings else shared / "ready") / scene
    ready.parent.mkdir(exist_ok=True)
    with FileLock(f"{ready}.lock"):
        if not ready.exists():
            run_stages(studio, browser_page, scene)
            shutil.copytree(studio.workspace / scene, ready, ignore=shutil.ignore_patterns("*.part"))  # being written
    return ready


def run_stages(studio: Studio, page: Page, scene: str) -> None:
    """Open a sample scene from the gallery, and wait for all stages that run by themselves."""
    page.goto(studio.address)
    page.locator(f".gallery [data-name={scene}]").first.click()
    expect(rows(page).first).to_be_visible(timeout=LONG)
    expect(tab(page, "Scene")).to_contain_text("Done", timeout=LONG)
    wait_until_idle(page)
    close_app(page)


@pytest.fixture
def project(studio: Studio, ready_project: Path, page: Page) -> Iterator[OpenProject]:
    """A project of the file's SCENE for one test, open in the page, with nothing running."""
    yield open_copy(studio, page, ready_project)
    stop_work(page)
