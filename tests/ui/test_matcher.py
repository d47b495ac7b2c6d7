"""Above the objects: the matcher chosen by a person, and a drawer that scores every matcher on labelled frames."""

from pathlib import Path

import pytest
from conftest import PLAIN, Studio
from playwright.sync_api import Page, expect

from tests.matching.test_scores import labelled  # noqa: F401  (a fixture)

SCENE = "blocks"


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    return PLAIN


@pytest.fixture(scope="module")
def bar(studio: Studio, page: Page):
    page.goto(studio.address)
    page.locator(f".gallery [data-name={SCENE}]").click()
    page.get_by_role("tab", name="Objects").first.click()
    found = page.locator(".matcher-bar")
    expect(found.locator("select")).to_be_visible()
    return found


def test_matchers_that_need_a_model_say_so_and_cannot_be_chosen(bar):
    options = bar.locator("option")
    expect(options).to_have_count(5)
    assert [one.is_disabled() for one in options.all()] == [False, False, True, True, True]
    expect(options.nth(2)).to_have_text("Text (needs a language model)")


def test_choosing_a_matcher_is_a_decision_that_is_undone(bar, page):
    bar.locator("select").select_option("embedding")
    expect(bar.locator(".about")).to_contain_text("encoder")
    expect(page.locator(".top-bar")).to_contain_text("Undo")
    page.get_by_role("button", name="↶ Undo").click()
    expect(bar.locator("select")).to_have_value("all")


def test_matchers_are_scored_on_labelled_frames_and_the_table_is_downloaded(bar, page, labelled: Path):  # noqa: F811
    bar.get_by_role("button", name="Score the matchers").click()
    drawer = page.get_by_role("dialog", name="Score the matchers")
    drawer.locator("#score-frames").fill("/nowhere/at/all")
    expect(drawer.get_by_role("alert")).to_have_text(
        "/nowhere/at/all is no folder on the machine that the studio runs on."
    )
    drawer.locator("#score-frames").fill(str(labelled))
    expect(drawer).to_contain_text("1 labelled frame, 7 objects.")
    drawer.get_by_label("Image embedding").uncheck()
    drawer.get_by_role("button", name="Score them").click()
    expect(drawer.locator("tbody tr")).to_have_count(1)
    expect(drawer.locator(".whisker")).to_have_count(2)
    expect(drawer.get_by_role("button", name="Score again")).to_be_visible()
    with page.expect_download() as download:
        drawer.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "matchers.csv"
    assert Path(download.value.path()).read_text().startswith("matcher,counted,f1,low,high")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
