"""Two people on one project in two browsers, and a visitor by a link."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.app_page import LONG, open_tab, rows, screenshot
from browser.studio_process import Studio
from browser.watched_page import TIMEOUT
from playwright.sync_api import Browser, Locator, Page, expect

from pipeline.decisions import read_log
from pipeline.frame import load
from pipeline.project import Project
from studio.accounts.user_file import UserFile
from tests.ui.test_accessibility import findings

PASSWORD = "correct horse"
CAMERA = "[data-sends='frame-view.camera']"
"""A control that changes the project."""
BLOCKS = Path(__file__).parents[3] / "sample_scenes" / "blocks"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio of three people with one project."""
    workspace = tmp_path_factory.mktemp("workspace")
    for name, role in (("ada", "work"), ("bob", "work"), ("lou", "look")):
        UserFile(workspace / ".users.json").add(name, role, PASSWORD)
    Project.create(workspace / "table", load(BLOCKS), "table").close()
    running = Studio(workspace)
    yield running
    running.close()


def log_in(browser: Browser, studio: Studio, user: str) -> Page:
    """Return a page of a browser of that person's own, at the project."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(TIMEOUT)
    page.goto(f"{studio.address}?project=table")
    page.get_by_label("username").fill(user)
    page.get_by_label("password").fill(PASSWORD)
    page.get_by_role("button", name="Login").click()
    expect(page.locator(".top-bar strong")).to_contain_text("table", timeout=LONG)
    return page


def editing(page: Page) -> Locator:
    """The line that says why controls are disabled."""
    return page.locator("#top-bar .editing")


def test_the_second_person_sees_who_edits_and_takes_over(studio: Studio, browser: Browser):
    ada = log_in(browser, studio, "ada")
    expect(rows(ada).first).to_be_visible(timeout=LONG)
    expect(ada.locator(".top-bar .take-over")).to_have_count(0)
    bob = log_in(browser, studio, "bob")
    expect(editing(bob)).to_contain_text("ada is editing")
    expect(bob.locator(".top-bar button[aria-label=Undo]")).to_be_disabled()
    expect(bob.locator(CAMERA)).to_have_attribute("inert", "")
    bob.locator(".top-bar .take-over").click()
    expect(editing(bob)).to_be_hidden(timeout=LONG)
    expect(bob.locator(CAMERA)).not_to_have_attribute("inert", "")
    expect(ada.locator(CAMERA)).to_have_attribute("inert", "", timeout=LONG)
    expect(editing(ada)).to_contain_text("bob is editing", timeout=LONG)
    ada.locator(".top-bar .take-over").click()
    expect(editing(ada)).to_be_hidden(timeout=LONG)
    expect(editing(bob)).to_contain_text("ada is editing", timeout=LONG)
    for page in (ada, bob):
        page.context.close()
    assert all(decision.by in ("ada", "bob") for decision in read_log(studio.workspace / "table" / "decisions.jsonl"))


def test_a_looker_and_a_visitor_see_the_project_and_that_they_can_only_look(studio: Studio, browser: Browser):
    lou = log_in(browser, studio, "lou")
    expect(editing(lou)).to_contain_text("View only")
    expect(lou.locator(CAMERA)).to_have_attribute("inert", "")
    for step in ("Masks", "Task", "Review"):
        open_tab(lou, step)
        assert findings(lou) == [], step
    open_tab(lou, "Frame")
    screenshot(lou, "looker")
    ada = log_in(browser, studio, "ada")
    ada.get_by_role("tab", name="Review").click()
    ada.locator(".share .make-link").click()
    link = ada.locator(".share .made-link").input_value()
    visitor = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    visitor.goto(link)
    expect(visitor.locator(".top-bar strong")).to_contain_text("table", timeout=LONG)
    expect(editing(visitor)).to_contain_text("View only")
    expect(visitor.locator(CAMERA)).to_have_attribute("inert", "")
    expect(visitor.locator(".top-bar .log-out")).to_have_count(0)
    ada.locator(".share .revoke").first.click()
    expect(ada.locator(".share .kept-link")).to_have_count(0)
    visitor.wait_for_timeout(1000)  # the list of links shows at once what the server then does
    assert not visitor.context.request.get(f"{studio.address}thumbnail/project/table").ok
    visitor.reload()
    expect(visitor.get_by_label("password")).to_be_visible()
    expect(visitor.get_by_text("The link by which you came has expired or was revoked.")).to_be_visible()
    screenshot(visitor, "ended_link")
    lou.locator(".top-bar .log-out").click()
    expect(lou.get_by_label("password")).to_be_visible()
    for page in (lou, ada, visitor):
        page.context.close()
