"""The Objects page as a person uses it: candidates beside the photograph, by mouse and by keys; identical objects at
once; lowest confidence first."""

import re

import pytest
from browser.app_page import LONG, OpenProject, open_tab, rows, screenshot, undo_button, wait_until_idle
from playwright.sync_api import Locator, Page, expect

SCENE = "stack"


@pytest.fixture
def objects(project: OpenProject) -> OpenProject:
    """A project of its own with the Objects page open."""
    page = project.page
    expect(rows(page).locator(".tag").first).to_be_visible(timeout=LONG)  # confidences are known
    page.get_by_label("Lowest confidence first").check()
    open_tab(page, "Objects")
    expect(cards(page).locator(".asset").first).to_be_visible()
    return project


def cards(page: Page) -> Locator:
    return page.locator(".object-cards")


def choose_button(page: Page) -> Locator:
    return cards(page).locator("button.choose")


def viewed(page: Page) -> str:
    """The id of the asset that is being viewed."""
    return cards(page).locator(".asset.viewed").get_attribute("data-asset") or ""


def numbers(page: Page) -> list[int]:
    """The objects' numbers, in the order of the list."""
    return [int(chip) for chip in page.locator(".object-list .row:not(.non-object) .chip").all_inner_texts()]


def choose_green_cube(page: Page, id: int) -> None:
    """Search for the green cube and choose it for an object."""
    page.locator(f".object-list .row[data-id='{id}']").click()
    page.keyboard.press("/")
    page.keyboard.type("green cube")
    cards(page).locator(".results .asset[data-asset=green_cube]").click()
    choose_button(page).click()
    expect(cards(page).locator(".asset.on")).to_have_attribute("data-asset", "green_cube")


def test_low_confidence_comes_first_unless_sorted_by_number(objects: OpenProject):
    page, lowest_first = objects.page, objects.page.locator(".object-list .order input")
    expect(cards(page).locator(".current .head .tag")).to_contain_text("confidence")
    expect(page.locator(".inspector .sure")).to_contain_text("confidence")
    by_confidence = numbers(page)
    rank = {"?": 0, "≈": 1, "✓": 2}
    glyphs = [rank[glyph] for glyph in page.locator(".object-list .row:not(.non-object) .tag").all_inner_texts()]
    assert glyphs == sorted(glyphs)
    lowest_first.uncheck()
    assert numbers(page) == sorted(by_confidence)
    lowest_first.check()
    assert numbers(page) == by_confidence


def test_a_candidate_is_compared_with_the_photograph_by_a_slider(objects: OpenProject):
    page, comparison = objects.page, objects.page.locator(".object-cards .compare")
    expect(cards(page).locator(".drawing")).to_have_count(0, timeout=LONG)
    cards(page).locator(".asset").nth(1).click()
    expect(comparison).to_have_class(re.compile("ready"), timeout=LONG)
    expect(cards(page).locator(".fit")).to_contain_text("IoU")
    assert comparison.locator(".candidate").evaluate("image => image.naturalWidth") > 300
    box = comparison.bounding_box()
    assert box
    comparison.click(position={"x": box["width"] * 0.25, "y": box["height"] * 0.5})
    assert comparison.evaluate("one => parseFloat(one.style.getPropertyValue('--at'))") == pytest.approx(25, abs=1)
    screenshot(page, "objects_slider")
    page.get_by_role("button", name="Outline").click()
    expect(comparison.locator("path.shown").first).to_be_attached()
    expect(comparison.locator("path.mask").first).to_be_attached()


def test_keys_go_through_objects_and_candidates_and_choose(objects: OpenProject):
    page, selected = objects.page, objects.page.locator(".object-list .row.selected")
    cards(page).locator(".current .head .name").click()
    first = selected.get_attribute("data-id") or ""
    page.keyboard.press("ArrowDown")
    expect(selected).not_to_have_attribute("data-id", first)
    page.keyboard.press("ArrowUp")
    expect(selected).to_have_attribute("data-id", first)
    cards(page).locator(".asset").first.click()
    before = viewed(page)
    page.keyboard.press("ArrowRight")
    assert viewed(page) != before
    expect(cards(page).locator(".modes button:enabled")).to_have_count(3, timeout=LONG)  # as soon as it is rendered
    page.keyboard.press("b")
    expect(cards(page).locator(".compare")).to_have_attribute("data-mode", "blink")
    page.keyboard.press("b")
    expect(cards(page).locator(".compare")).to_have_attribute("data-mode", "slide")
    wanted = viewed(page)
    open_tab(page, "Objects")  # the tab has the focus and passes the keys on
    page.keyboard.press("Enter")
    expect(cards(page).locator(".asset.viewed")).to_have_attribute("aria-pressed", "true")
    expect(cards(page).locator(".source")).to_contain_text("Chosen by you")
    decision = objects.decisions[-1]
    assert (decision["kind"], decision["data"]["asset_id"]) == ("choose_asset", wanted)
    undo_button(page).click()
    expect(cards(page).locator(".source")).to_contain_text("matcher")
    expect(cards(page).locator(".source")).not_to_contain_text("Chosen by you")


def test_the_card_says_how_certain_the_kind_is_and_that_an_asset_is_recoloured(objects: OpenProject):
    page, recolour = objects.page, objects.page.locator(".inspector button.recolour")
    expect(cards(page).locator(".match-confidence")).to_contain_text(re.compile(r"or its kind: \d+ %"))
    for id in numbers(page):
        page.locator(f".object-list .row[data-id='{id}']").click()
        expect(page.locator(".inspector .title .chip")).to_have_text(str(id))
        if recolour.count():
            break
    expect(cards(page).locator(".recoloured")).to_have_count(0)
    recolour.click()
    expect(cards(page).locator(".asset.on .recoloured")).to_have_text("Recoloured", timeout=LONG)
    expect(page.locator(".inspector")).to_contain_text("recoloured to the photograph")
    screenshot(page, "objects_recoloured")
    undo_button(page).click()
    expect(cards(page).locator(".recoloured")).to_have_count(0, timeout=LONG)


def test_keys_in_the_library_do_not_reach_the_page_below(objects: OpenProject):
    page, selected, library = objects.page, objects.page.locator(".object-list .row.selected"), page_library(objects)
    before = selected.get_attribute("data-id") or ""
    page.locator(".top-bar .library-button").click()
    expect(library.locator(".tile").first).to_be_visible()
    library.locator(".count").click()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(library).to_be_hidden()
    expect(selected).to_have_attribute("data-id", before)
    assert objects.decisions == []


def page_library(project: OpenProject) -> Locator:
    return project.page.locator(".library")


def test_an_asset_found_by_words_is_chosen_for_identical_objects(objects: OpenProject):
    page = objects.page
    ids = numbers(page)[:2]
    for id in ids:
        choose_green_cube(page, id)
    expect(cards(page).locator(".identical .count")).to_contain_text("2 identical", timeout=LONG)
    wait_until_idle(page)
    screenshot(page, "objects_identical")
    other = cards(page).locator(".asset:not(.on)").first
    asset = other.get_attribute("data-asset") or ""
    other.click()
    cards(page).get_by_role("button", name="Choose for all 2 identical").click()
    expect(cards(page).locator(".asset.on")).to_have_attribute("data-asset", asset)
    wait_until_idle(page)
    decisions = objects.decisions[-2:]
    assert [(each["kind"], each["data"]["id"], each["data"]["asset_id"]) for each in decisions] == [
        ("choose_asset", id, asset) for id in sorted(ids)
    ]
    undo_button(page).click()
    expect(cards(page).locator(".asset.on")).to_have_attribute("data-asset", "green_cube")
    assert objects.kinds[-2:] == ["undo", "undo"]


def test_an_object_is_reconstructed_by_the_chosen_method(objects: OpenProject):
    page = objects.page
    cards(page).get_by_text("Reconstruct from view").click()
    screenshot(page, "objects_methods")
    cards(page).locator(".sheet .choice").nth(1).click()
    expect(cards(page).locator(".asset.viewed")).to_have_attribute("data-asset", "method:box")
    expect(cards(page).locator(".fit")).to_contain_text("IoU", timeout=LONG)
    assert objects.decisions == [], "a method is previewed first"
    choose_button(page).click()
    chosen = cards(page).locator(".asset.on")
    expect(chosen).to_have_attribute("data-asset", re.compile("^(method:box)?$"))
    assert (objects.decisions[-1]["kind"], objects.decisions[-1]["data"]["way"]) == ("make", "box")
    wait_until_idle(page)
    expect(chosen).to_have_attribute("data-asset", "", timeout=LONG)
    expect(chosen).to_contain_text("box")
    expect(chosen.locator("img.candidate")).to_be_visible(timeout=LONG)
    screenshot(page, "objects_reconstructed")
