"""Above the objects: a person chooses the matcher, and a dialog evaluates every matcher on labelled frames."""

import re
from pathlib import Path

import pytest
from browser.app_page import LONG, OpenProject, open_tab, undo_button
from playwright.sync_api import Locator, expect

from tests.evaluation.test_matcher_evaluation import labelled  # noqa: F401  (a fixture)

SCENE = "blocks"


@pytest.fixture
def bar(project: OpenProject) -> Locator:
    """The bar with the matcher, on the Objects page."""
    open_tab(project.page, "Objects")
    bar = project.page.locator(".matcher-bar")
    expect(bar.locator("select")).to_be_visible()
    return bar


def test_matchers_that_need_a_model_say_so_and_cannot_be_chosen(bar: Locator):
    options = bar.locator("option")
    expect(options).to_have_count(6)
    assert [option.is_disabled() for option in options.all()] == [False, False, True, True, True, True]
    expect(options.nth(2)).to_have_text("Text (needs a language model)")


def test_choosing_a_matcher_is_a_decision_that_can_be_undone(project: OpenProject, bar: Locator):
    bar.locator("select").select_option("embedding")
    expect(bar.locator(".about")).to_contain_text("Cosine similarity")
    expect(undo_button(project.page)).to_be_enabled()
    undo_button(project.page).click()
    expect(bar.locator("select")).to_have_value("all")


def test_matchers_are_evaluated_and_the_table_is_downloaded(project: OpenProject, bar: Locator, labelled: Path):  # noqa: F811
    page = project.page
    bar.get_by_role("button", name="Evaluate matchers").click()
    drawer = page.get_by_role("dialog", name="Evaluate matchers")
    drawer.locator("#score-frames").fill("/nowhere/at/all")
    expect(drawer.get_by_role("alert")).to_have_text(
        "/nowhere/at/all is not a folder on the machine that the studio runs on."
    )
    drawer.locator("#score-frames").fill(str(labelled))
    expect(drawer).to_contain_text("1 labelled frame, 7 objects.")
    drawer.get_by_role("checkbox", name=re.compile("^Image embedding")).uncheck()
    drawer.get_by_role("button", name="Evaluate", exact=True).click()
    expect(drawer.locator("tbody tr")).to_have_count(1, timeout=LONG)
    expect(drawer.locator(".whisker")).to_have_count(2)
    expect(drawer.get_by_role("button", name="Evaluate again")).to_be_visible(timeout=LONG)
    with page.expect_download() as download:
        drawer.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "matchers.csv"
    assert Path(download.value.path()).read_text().startswith("matcher,counted,f1,low,high")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
