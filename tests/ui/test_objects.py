"""The Objects page as a person uses it: candidates beside the photograph, by mouse and by keys; equal objects at once;
the least sure first."""

import json
import re

import pytest
from conftest import PLAIN, Studio
from playwright.sync_api import Page, expect
from test_studio import settled, shot, tab

SCENE = "stack"


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    return PLAIN


@pytest.fixture(scope="module", autouse=True)
def opened(studio: Studio, page: Page) -> None:
    page.goto(studio.address)
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    expect(page.locator(".object-list .row .tag").first).to_be_visible(timeout=300_000)  # the twin stands
    settled(page)
    tab(page, "Objects").click()
    expect(page.locator(".object-cards .asset").first).to_be_visible()


def decided(studio: Studio) -> list[dict]:
    log = studio.workspace / SCENE / "decisions.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def looked(page: Page) -> str:
    return page.locator(".object-cards .asset.looked").get_attribute("data-asset") or ""


def numbers(page: Page) -> list[int]:
    return [int(chip) for chip in page.locator(".object-list .row:not(.other) .chip").all_inner_texts()]


def test_the_least_sure_object_comes_first_until_a_person_wants_them_by_number(page: Page):
    cards, least = page.locator(".object-cards"), page.locator(".object-list .order input")
    expect(least).to_be_checked()
    expect(cards.locator(".one .head .tag")).to_contain_text(re.compile("sure"))
    expect(page.locator(".inspector .sure")).to_contain_text(re.compile("sure"))
    by_sureness = numbers(page)
    assert cards.locator(".one .head .chip").inner_text() == str(by_sureness[0])
    rank = {"?": 0, "≈": 1, "✓": 2}
    glyphs = [rank[glyph] for glyph in page.locator(".object-list .row:not(.other) .tag").all_inner_texts()]
    assert glyphs == sorted(glyphs)
    least.uncheck()
    assert numbers(page) == sorted(by_sureness)
    least.check()
    assert numbers(page) == by_sureness


def test_a_candidate_is_seen_in_the_photograph_s_own_view_beside_a_slider(page: Page):
    stage = page.locator(".object-cards .compare")
    expect(page.locator(".object-cards .drawing")).to_have_count(0)
    page.locator(".object-cards .asset").nth(1).click()
    expect(stage).to_have_class(re.compile("ready"))
    expect(page.locator(".object-cards .fit")).to_contain_text("of the outline")
    assert stage.locator(".candidate").evaluate("image => image.naturalWidth") > 300
    box = stage.bounding_box()
    assert box
    stage.click(position={"x": box["width"] * 0.25, "y": box["height"] * 0.5})
    assert stage.evaluate("one => parseFloat(one.style.getPropertyValue('--at'))") == pytest.approx(25, abs=1)
    shot(page, "objects_slider")
    page.get_by_role("button", name="Outline").click()
    expect(stage.locator("path.shown").first).to_be_attached()
    expect(stage.locator("path.mask").first).to_be_attached()


def test_keys_go_through_objects_and_candidates_and_choose(studio: Studio, page: Page):
    page.locator(".object-cards .one .head strong").click()
    first = page.locator(".object-list .row.selected").get_attribute("data-id")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".object-list .row.selected")).not_to_have_attribute("data-id", first or "")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".object-list .row.selected")).to_have_attribute("data-id", first or "")
    page.locator(".object-cards .asset").first.click()
    before = looked(page)
    page.keyboard.press("ArrowRight")
    assert looked(page) != before
    expect(page.locator(".object-cards .modes button:enabled")).to_have_count(3)  # as soon as it is drawn
    page.keyboard.press("b")
    expect(page.locator(".object-cards .compare")).to_have_attribute("data-mode", "blink")
    page.keyboard.press("b")
    expect(page.locator(".object-cards .compare")).to_have_attribute("data-mode", "slide")
    wanted = looked(page)
    tab(page, "Objects").click()  # which takes the keys, and hands them on
    page.keyboard.press("Enter")
    expect(page.locator(".object-cards .asset.looked")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".object-cards .machine")).to_contain_text("chosen by a person")
    last = decided(studio)[-1]
    assert (last["kind"], last["data"]["asset_id"]) == ("choose_asset", wanted)
    page.get_by_role("button", name=re.compile("Undo")).first.click()
    expect(page.locator(".object-cards .machine")).to_contain_text(
        re.compile("chosen by the matcher|the matcher chose none")
    )
    settled(page)


def test_keys_in_the_library_do_nothing_to_what_lies_below(studio: Studio, page: Page):
    chosen, library = page.locator(".object-list .row.selected"), page.locator(".library")
    before, made = chosen.get_attribute("data-id") or "", len(decided(studio))
    page.locator(".top-bar .shelf").click()
    expect(library.locator(".card").first).to_be_visible()
    library.locator(".count").click()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(library).to_be_hidden()
    expect(chosen).to_have_attribute("data-id", before)
    assert len(decided(studio)) == made


def test_what_is_found_by_words_stands_for_two_objects_and_then_for_all_alike_at_once(studio: Studio, page: Page):
    cards = page.locator(".object-cards")
    ids = numbers(page)[:2]
    for id in ids:
        page.locator(f".object-list .row[data-id='{id}']").click()
        page.keyboard.press("/")
        page.keyboard.type("green cube")
        cards.locator(".hits .asset[data-asset=green_cube]").click()
        cards.get_by_role("button", name="Choose this").click()
        expect(cards.locator(".asset.on")).to_have_attribute("data-asset", "green_cube")
    expect(cards.locator(".equal .count")).to_contain_text("2 alike")
    settled(page)
    shot(page, "objects_alike")
    other = cards.locator(".asset:not(.on)").first
    asset = other.get_attribute("data-asset")
    other.click()
    cards.get_by_role("button", name="For all 2 alike").click()
    expect(cards.locator(".asset.on")).to_have_attribute("data-asset", asset or "")
    settled(page)
    made = decided(studio)[-2:]
    assert [(one["kind"], one["data"]["id"], one["data"]["asset_id"]) for one in made] == [
        ("choose_asset", id, asset) for id in sorted(ids)
    ]
    page.get_by_role("button", name=re.compile("Undo")).first.click()
    expect(cards.locator(".asset.on")).to_have_attribute("data-asset", "green_cube")
    assert [one["kind"] for one in decided(studio)[-2:]] == ["undo", "undo"]
    settled(page)


def test_an_object_is_made_from_the_view_in_the_way_a_person_wants(studio: Studio, page: Page):
    cards = page.locator(".object-cards")
    cards.get_by_text("Make it from this view").click()
    shot(page, "objects_ways")
    before = len(decided(studio))
    cards.locator(".sheet .choice").nth(1).click()
    expect(cards.locator(".asset.looked")).to_have_attribute("data-asset", "way:box")
    expect(cards.locator(".fit")).to_contain_text("of the outline")
    assert len(decided(studio)) == before, "it is looked at first"
    cards.get_by_role("button", name="Choose this").click()
    expect(cards.locator(".asset.on")).to_have_attribute("data-asset", re.compile("^(way:box)?$"))
    assert (decided(studio)[-1]["kind"], decided(studio)[-1]["data"]["way"]) == ("make", "box")
    settled(page)
    expect(cards.locator(".asset.on")).to_have_attribute("data-asset", "")
    expect(cards.locator(".asset.on")).to_contain_text("box")
    expect(cards.locator(".asset.on img.candidate")).to_be_visible()
    shot(page, "objects_made")
