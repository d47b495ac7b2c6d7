"""Two people on one project, and a visitor by a link. Guards logins, and what a page may do."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser.app_page import LONG, rows
from browser.axe import findings
from browser.studio_process import CheckedStudio, Studio
from browser.watched_page import TIMEOUT, wait_until
from playwright.sync_api import Browser, Locator, Page, expect

from studio.accounts.user_file import UserFile

PASSWORD, SCENE = "correct horse", "blocks"
CAMERA = "[data-sends='frame-view.camera']"
"""A control that changes the project."""


@pytest.fixture(scope="module")
def studio(ready_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio of three people with one project."""
    workspace = tmp_path_factory.mktemp("workspace")
    for name, role in (("ada", "work"), ("bob", "work"), ("lou", "look")):
        UserFile(workspace / ".users.json").add(name, role, PASSWORD)
    shutil.copytree(ready_project, workspace / "table")
    running = CheckedStudio(workspace)
    yield running
    running.close()


@pytest.fixture
def log_in(browser: Browser, studio: Studio) -> Iterator[Callable[[str], Page]]:
    """Opens a browser of a person's own at the project, or of a visitor at an address."""
    opened: list[Page] = []

    def log_in(user: str) -> Page:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        opened.append(page)
        page.set_default_timeout(TIMEOUT)
        page.goto(f"{studio.address}?project=table" if "/" not in user else user)
        if "/" not in user:
            page.get_by_label("username").fill(user)
            page.get_by_label("password").fill(PASSWORD)
            page.get_by_role("button", name="Log in").click()
        expect(rows(page).first).to_be_visible(timeout=LONG)
        return page

    yield log_in
    for page in opened:
        page.close()


def editing(page: Page) -> Locator:
    return page.locator("#top-bar .editing")


def test_a_looker_and_a_visitor_see_the_project_and_only_look(log_in: Callable[[str], Page], studio: Studio):
    lou, ada = log_in("lou"), log_in("ada")
    ada.get_by_role("tab", name="Review").click()
    ada.locator(".share .make-link").click()
    visitor = log_in(ada.locator(".share .made-link").input_value())
    for page in (lou, visitor):
        expect(editing(page)).to_contain_text("View only")
        expect(page.locator(CAMERA)).to_have_attribute("inert", "")
    expect(visitor.locator(".top-bar .log-out")).to_have_count(0)
    lou.get_by_role("tab", name="Scene").click()
    assert not findings(lou)
    ada.locator(".share .revoke").first.click()
    expect(ada.locator(".share .kept-link")).to_have_count(0)
    wait_until(ada, lambda: not visitor.context.request.get(f"{studio.address}thumbnail/project/table").ok)
    visitor.reload()
    expect(visitor.get_by_text("The link by which you came has expired or was revoked.")).to_be_visible()
    lou.locator(".top-bar .log-out").click()
    expect(lou.get_by_label("password")).to_be_visible()
