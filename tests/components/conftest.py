"""Fixtures of the component tests: components mounted alone in a blank page, each test on a project of its own."""

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.bare_page import BareStudio, Mount, Mounted, bare_studio
from browser.watched_page import PAGE_LOGS, open_page
from playwright.sync_api import Browser, Page
from ready_projects import ready_project

COPIES = itertools.count(1)


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareStudio]:
    """The studio in a thread of this process, for all component tests."""
    with bare_studio(tmp_path_factory.mktemp("bare")) as running:
        yield running


@pytest.fixture(scope="session")
def bare_page(browser: Browser) -> Iterator[Page]:
    """A page at 1280 x 800 that keeps its cache over all tests."""
    with open_page(browser) as page:
        yield page


@pytest.fixture(scope="module")
def timed_page(browser: Browser) -> Iterator[Page]:
    """A page whose time passes when a test says so."""
    with open_page(browser) as page:
        page.clock.install(time=0)
        page.clock.pause_at(1000)
        yield page


@pytest.fixture
def page(bare_page: Page) -> Iterator[Page]:
    """The page, left empty. Fails on errors in its console and on requests to other machines."""
    yield bare_page
    bare_page.goto("about:blank")
    bare_page.context.clear_cookies()
    errors = PAGE_LOGS[bare_page].take_errors()
    assert not errors


@pytest.fixture
def mount(studio: BareStudio, page: Page) -> Iterator[Mount]:
    """Mounts components by their ids in the page, on a copy of a sample scene's project ("" is the gallery).

    `until` and `task` are those of `ready_projects.ready_project`. The scene may be a project's folder instead.
    """
    opened: list[Mounted] = []

    def mount(scene: str | Path, *ids: str, until: str = "task", task: str = "", page: Page = page) -> Mounted:
        name = ""
        if scene:
            made = scene if isinstance(scene, Path) else ready_project(scene, until, task)
            name = f"{made.name}_{next(COPIES)}"
            shutil.copytree(made, studio.workspace / name)
        opened.append(studio.mount(page, name, *ids))
        return opened[-1]

    yield mount
    for one in opened:
        one.close()
