"""Fixtures of the journeys: the running studio in a process of its own, and a project of its own for each test.

Any test can run alone and in any order. A file whose studio needs settings defines a `studio` of its own.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.app_page import OpenProject, open_copy, stop_work
from browser.studio_process import CheckedStudio, Studio
from browser.watched_page import PAGE_LOGS, close_app, open_page
from playwright.sync_api import Browser, Page
from ready_projects import ready_project as ready


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """The studio in a process of its own, for all files whose studio has no settings."""
    running = CheckedStudio(tmp_path_factory.mktemp("workspace"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def browser_page(browser: Browser) -> Iterator[Page]:
    """A page at 1280 x 800 that keeps its cache over all tests."""
    with open_page(browser) as page:
        yield page


@pytest.fixture
def page(browser_page: Page) -> Iterator[Page]:
    """The page, left empty. Fails on errors in its console and on requests to other machines."""
    yield browser_page
    close_app(browser_page)
    browser_page.context.clear_cookies()
    errors = PAGE_LOGS[browser_page].take_errors()
    assert not errors


@pytest.fixture(scope="module")
def ready_project(request: pytest.FixtureRequest) -> Path:
    """The project folder of the file's SCENE after all stages that run by themselves, not to be changed."""
    return ready(request.module.SCENE)


@pytest.fixture
def project(studio: Studio, ready_project: Path, page: Page) -> Iterator[OpenProject]:
    """A project of the file's SCENE for one test, open in the page, with nothing running."""
    yield open_copy(studio, page, ready_project)
    stop_work(page)
