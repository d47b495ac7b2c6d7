"""The cards of the objects, whose candidates are compared, found and chosen; the bar that chooses a matcher."""

import re
from pathlib import Path
from typing import Any

import pytest
from browser.bare_page import Mount, Mounted
from browser.watched_page import expect_texts, press_buttons, wait_until
from playwright.sync_api import Locator, Page, Route, expect

from tests.evaluation.test_ablation import labelled  # noqa: F401  (a fixture)

PICTURE = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='8' height='6'/>"
TRIANGLE = [[[0.1, 0.1], [0.9, 0.1], [0.5, 0.9]]]
READY = {"state": "ready", "image": PICTURE, "overlap": 0.914, "depth_error": 0.0123, "scale": 1.2, "outline": TRIANGLE}
SCENE = {"photo": PICTURE, "background": PICTURE, "aspect": 1.3, "outline": TRIANGLE}


@pytest.fixture
def cards(mount: Mount, page: Page) -> Mounted:
    """The cards of a stack's objects, whose candidates are drawn at once; the twin stays as it is."""
    page.route("**/bare/ask/object-cards", draw_at_once)
    cards = mount("stack", "object-list", "object-cards").keep_twin()
    expect(page.locator(".object-cards .fit")).to_contain_text("IoU")
    return cards


def draw_at_once(route: Route) -> None:
    request = route.request.post_data_json
    if request["kind"] != "compare":
        return route.fallback()
    renders = {asset: READY for asset in request["assets"]}
    return route.fulfill(json=SCENE | {"seq": request["seq"], "id": request["id"], "renders": renders})


def assets(page: Page) -> Locator:
    return page.locator(".object-cards .asset")


def expect_object(page: Page, id: int) -> None:
    expect(page.locator(".object-list .selected")).to_have_attribute("data-id", str(id))
    expect(page.locator(".object-cards .head .chip")).to_have_text(str(id))


def change(cards: Mounted, id: int, **facts: Any) -> None:
    value = cards.value("object-cards")
    value["objects"] = [one | facts if one["id"] == id else one for one in value["objects"]]
    cards.set_value("object-cards", value)


def test_a_slider_blinking_or_the_outline_compares_a_candidate_with_the_photograph(cards: Mounted):
    page, comparison = cards.page, cards.page.locator(".object-cards .compare")
    box = comparison.bounding_box()
    for at in (0.25, 0.75):
        comparison.click(position={"x": box["width"] * at, "y": box["height"] * 0.5})
        place = comparison.evaluate("one => parseFloat(one.style.getPropertyValue('--at'))")
        assert place == pytest.approx(100 * at, abs=1)
    assets(page).nth(1).click()
    expect(comparison.locator(".label.right")).to_have_text("orange cube")
    assets(page).nth(2).hover()
    expect(comparison.locator(".label.right")).to_have_text("red block")
    assert page.locator(".object-cards .asset.viewed").get_attribute("data-asset") == "orange_cube"
    page.mouse.move(5, 5)
    expect(comparison.locator(".label.right")).to_have_text("orange cube")
    expect(page.locator(".object-cards .fit")).to_have_text("91 % IoU, 1.2 cm depth error, scaled × 1.20")
    page.keyboard.press("b")
    expect(comparison).to_have_class(re.compile("blink-hidden"))
    page.keyboard.press("b")
    expect(comparison).to_have_attribute("data-mode", "slide")
    expect(comparison).not_to_have_class(re.compile("blink-hidden"))
    page.get_by_role("button", name="Outline").click()
    expect(comparison.locator("path.mask")).to_have_attribute("d", "M0.1 0.1L0.9 0.1L0.5 0.9Z")
    expect(comparison.locator("path.shown")).to_have_count(1)
    assert cards.sent == []


def test_keys_go_round_the_objects_and_their_candidates_and_choose(cards: Mounted):
    page, source = cards.page, cards.page.locator(".object-cards .source")
    expect_object(page, 1)
    for key, id in (("ArrowDown", 2), ("ArrowUp", 1), ("ArrowUp", 5), ("ArrowDown", 1)):
        page.keyboard.press(key)
        expect_object(page, id)
    page.keyboard.press("ArrowDown")
    expect(page.locator(".object-cards .steps")).to_contain_text("2 of 5")
    order = [one.get_attribute("data-asset") for one in assets(page).all()]
    for key, position in (("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowLeft", -1), ("ArrowRight", 0), ("ArrowRight", 1)):
        page.keyboard.press(key)
        assert page.locator(".object-cards .asset.viewed").get_attribute("data-asset") == order[position]
    expect(source).to_have_text(re.compile("Chosen by the matcher"))
    page.keyboard.press("Enter")
    expect(source).to_have_text(re.compile("Chosen by you The matcher chose blue block."))
    page.keyboard.press("Enter")
    cards.wait_until_drawn()
    assert [one["data"] for one in cards.decisions] == [{"id": 2, "asset_id": order[1]}]
    expect(assets(page).nth(1)).to_have_attribute("aria-pressed", "true")
    expect(assets(page).filter(has_text="Matcher's choice")).to_have_attribute("data-asset", "blue_block")
    cards.session.decisions.undo()
    expect(source).to_have_text(re.compile("Chosen by the matcher"))
    assets(page).nth(2).dblclick()
    cards.wait_until_drawn()
    assert cards.decisions[-1]["data"] == {"id": 2, "asset_id": order[2]}
    page.get_by_role("button", name="Next object").click()
    expect_object(page, 3)


def test_an_asset_is_found_by_words_previewed_and_chosen(cards: Mounted):
    page, summary = cards.page, cards.page.locator(".object-cards .summary")
    asked = cards.answer("object-cards", {"compare": lambda one: SCENE | {"id": one["id"], "renders": {}}})
    count = assets(page).count()
    page.keyboard.press("/")
    page.keyboard.type("zzzz")
    expect(summary).to_contain_text("No asset matches “zzzz”")
    page.keyboard.press("Escape")
    expect(assets(page)).to_have_count(count)
    page.keyboard.press("/")
    page.keyboard.type("green cube")
    expect(summary).to_contain_text("found")
    page.locator(".results .asset[data-asset=green_cube]").click()
    expect(page.locator(".object-cards .side .title")).to_contain_text("green cube")
    wait_until(page, lambda: any(one.get("assets", [""])[0] == "green_cube" for one in asked))
    assert cards.sent == []
    page.locator(".object-cards .choose").click()
    expect(page.locator(".object-cards .asset.on")).to_have_attribute("data-asset", "green_cube")
    expect(page.locator(".object-cards .search input")).to_have_value("")
    cards.answer("object-cards", {"search": {"error": "The library cannot be read."}})
    page.keyboard.press("/")
    page.keyboard.type("cup")
    expect(summary).to_contain_text("The library cannot be read.")
    page.get_by_role("button", name="Show candidates").click()
    expect(summary).to_have_count(0)


def test_identical_objects_share_a_frame_and_a_choice(cards: Mounted):
    page = cards.page
    value = cards.value("object-cards")
    value["objects"] = [one | {"identical": [2, 4] if one["id"] in (2, 4) else []} for one in value["objects"]]
    cards.set_value("object-cards", value)
    expect_texts(page, {".identical .count": "2 identical", ".overview .identical .object": 2})
    page.locator(".overview .object[data-id='4']").click()
    expect_object(page, 4)
    page.locator(".overview .object[data-id='2']").press("Enter")
    expect_object(page, 2)
    expect(page.locator(".overview .object.selected")).to_have_attribute("data-id", "2")
    page.get_by_role("button", name="Next object").focus()  # else Enter would choose what is viewed
    assets(page).nth(1).click()
    page.get_by_role("button", name="Choose for all 2 identical").click()
    cards.wait_until_drawn()
    chosen = [(one["data"]["id"], one["data"]["asset_id"]) for one in cards.decisions]
    assert chosen == [(2, "blue_cylinder"), (4, "blue_cylinder")]
    cards.session.decisions.undo()
    assert cards.kinds[-2:] == ["undo", "undo"]


def test_a_reconstruction_is_previewed_by_a_method_before_it_is_chosen(cards: Mounted):
    page, menu = cards.page, cards.page.locator(".object-cards .method-menu details")
    for leave in (lambda: page.keyboard.press("Escape"), page.locator(".object-cards .head .name").click):
        page.get_by_text("Reconstruct from view").click()
        leave()
        expect(menu).not_to_have_attribute("open", "")
    page.get_by_text("Reconstruct from view").click()
    menu.locator(".choice").nth(1).click()
    expect(page.locator(".object-cards .asset.viewed")).to_have_attribute("data-asset", "method:box")
    expect(page.locator(".object-cards .side .title")).to_contain_text("From the view: box")
    assert cards.sent == []
    page.locator(".object-cards .choose").click()
    cards.wait_until_drawn()
    assert cards.decisions[-1]["data"] == {"id": 1, "way": "box"}
    placed = {"asset_id": None, "changed": False, "reconstruction": {"shape": "a plain box", "note": "by its outline"}}
    match = {"asset_id": None, "asset": None, "source": "human"}
    one = cards.value("object-cards")["objects"][0]
    change(cards, 1, method="box", placed=one["placed"] | placed, match=one["match"] | match)
    expect(page.locator(".object-cards .asset.on")).to_contain_text("From the viewa plain box")
    expect(page.locator(".overview .object").first).to_contain_text("Reconstructed: a plain box")


def test_the_card_tells_of_doubt_fragments_recolouring_and_rejected_candidates(cards: Mounted):
    page, panel, tags = cards.page, cards.page.locator(".object-cards .current"), cards.page.locator(".side .tags")
    one = cards.value("object-cards")["objects"][0]
    expect(panel.locator(".match-confidence")).to_have_text("✓ red cube or its kind: 99 %")
    expect(tags).to_have_text("✓ Chosen")
    expect(panel.locator(".bar").first).to_have_attribute("title", re.compile(r"size: \d+ of 100"))
    count = assets(page).count()
    for button, more in (("Show 4 more", 4), ("Show fewer", 0)):
        press_buttons(page, button)
        expect(assets(page)).to_have_count(count + more)
    parent = {"id": 2, "name": "box", "note": "?"}
    change(cards, 1, placed=one["placed"] | {"recolour": [9, 99, 9]}, probably_part_of=parent)
    expect(panel.locator(".asset.on .recoloured")).to_have_text("Recoloured")
    change(cards, 1, placed=one["placed"] | {"printed": True}, probably_part_of=parent)
    expect(panel.locator(".asset.on .recoloured")).to_have_text("Photograph's print")
    page.get_by_role("button", name="Merge into box").click()
    expect_object(page, 2)
    assert cards.sent[0] == ("decide", {"kind": "merge_segments", "ids": [2, 1], "into": 2})
    cards.wait_until_drawn()
    cards.session.decisions.undo()
    cards.wait_until_drawn()
    page.locator(".object-list .row").first.click()
    expect(page.locator(".merge-hint")).to_be_hidden()
    rejected = one["match"] | {"asset_id": None, "asset": None, "reason": "too small", "confidence": None}
    change(cards, 1, match=rejected | {"machine": rejected["machine"] | {"asset_id": None}})
    assets(page).first.click()
    expect(tags).to_have_text("Closest, no match")
    expect(panel.locator(".source")).to_have_text("No match Too small.")
    page.get_by_role("button", name="Mark as not an object").click()
    expect(page.locator(".overview h3").nth(1)).to_have_text("Not objects")
    cards.wait_until_drawn()
    assert cards.decisions[-1]["data"] == {"id": 1, "value": True}
    cards.set_value("object-cards", {"token": "t", "objects": [], "methods": [], "waiting": "No objects yet."})
    expect(page.locator(".object-cards .empty")).to_have_text("No objects yet.")
    expect(panel).to_be_hidden()


SCORE = {"f1": 0.8, "low": 0.6, "high": 0.9, "first": 0.7, "five": 1.0}
MEASURED = {"unavailable": "", "exact": SCORE, "category": SCORE, "no_match_kept": None, "seconds": 0.5, "model": ""}
LINES = [
    MEASURED | {"matcher": "all", "title": "All evidence"},
    MEASURED | {"matcher": "embedding", "title": "Image embedding", "exact": SCORE | {"f1": 0.5}},
    {"matcher": "text", "title": "Text", "unavailable": "needs a language model"},
]


@pytest.fixture
def bar(mount: Mount) -> Mounted:
    return mount("blocks", "matcher-bar").keep_twin()


def open_dialog(bar: Mounted) -> Locator:
    bar.page.get_by_role("button", name="Evaluate matchers").click()
    return bar.page.get_by_role("dialog", name="Evaluate matchers")


def test_a_matcher_is_chosen_which_undo_takes_back_and_those_without_a_model_cannot_be(bar: Mounted):
    options, chosen = bar.page.locator(".matcher-bar option"), bar.page.locator(".matcher-bar select")
    assert [option.is_disabled() for option in options.all()] == [False, False, True, True, True, True]
    expect(options.nth(2)).to_have_text("Text (needs a language model)")
    expect(chosen).to_have_value("all")
    chosen.select_option("embedding")
    expect(bar.page.locator(".matcher-bar .about")).to_contain_text("Cosine similarity")
    bar.wait_until_drawn()
    assert bar.kinds == ["matcher"]
    bar.session.decisions.undo()
    expect(chosen).to_have_value("all")
    bar.set_value("matcher-bar", bar.value("matcher-bar") | {"note": "The chosen matcher needs a model."})
    expect(bar.page.get_by_role("status")).to_have_text("The chosen matcher needs a model.")


def test_matchers_are_evaluated_on_labelled_frames_and_the_table_is_downloaded(bar: Mounted, labelled: Path):  # noqa: F811
    drawer = open_dialog(bar)
    evaluate = drawer.get_by_role("button", name="Evaluate", exact=True)
    expect(evaluate).to_be_disabled()
    drawer.locator("#score-frames").fill("/nowhere/at/all")
    refused = "/nowhere/at/all is not a folder on the machine that the studio runs on."
    expect(drawer.get_by_role("alert")).to_have_text(refused)
    drawer.locator("#score-frames").fill(str(labelled))
    expect(drawer).to_contain_text("1 labelled frame, 7 objects.")
    expect(drawer.get_by_role("alert")).to_have_count(0)
    drawer.get_by_role("checkbox", name=re.compile("^Image embedding")).uncheck()
    evaluate.click()
    expect(drawer.locator("tbody tr")).to_have_count(1, timeout=60_000)
    expect(drawer.locator(".whisker")).to_have_count(2)
    with bar.page.expect_download() as download:
        drawer.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "matchers.csv"
    assert Path(download.value.path()).read_text().startswith("matcher,counted,f1,low,high")
    bar.page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_an_evaluation_is_started_as_filled_in_watched_and_stopped_and_the_best_matcher_stands_out(bar: Mounted):
    states: dict[str, Any] = {"state": {"running": False, "table": None}}
    states["start"] = {"running": True, "done": 1, "of": 4, "message": "frame one", "table": None, "job": "7"}
    stopped = states["start"] | {"running": False, "message": "stopped after 2"}
    stopped |= {"table": {"head": "1 frame", "lines": LINES}}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        states["state"] = states[request["kind"]]
        return states["state"]

    asked = bar.answer("matcher-bar", dict.fromkeys(states, answer))
    drawer = open_dialog(bar)
    for name, text in (("frames", "/data"), ("truth", "/truth.json"), ("libraries", "/one")):
        drawer.locator(f"#score-{name}").fill(text)
    drawer.get_by_label("Ground truth").check()
    drawer.get_by_role("checkbox", name=re.compile("^Image embedding")).uncheck()
    press_buttons(drawer, "Evaluate")
    expect(drawer.get_by_role("status")).to_have_text("1 of 4: frame one")
    assert drawer.locator(".progress .fill").get_attribute("style") == "width: 25%;"
    states["state"] = states["start"] | {"done": 3, "message": "frame three"}
    bar.tell_job("scoring")
    expect(drawer.get_by_role("status")).to_have_text("3 of 4: frame three")
    drawer.get_by_role("button", name="Stop").click()
    states["state"] = stopped
    bar.tell_job("scoring", "stopped")
    expect(drawer.get_by_role("status")).to_have_text("Stopped after 2")
    filled = next(one for one in asked if one["kind"] == "start")
    fields = {"frames": "/data", "truth": "/truth.json", "libraries": "/one", "masks": "true", "matchers": ["all"]}
    assert {name: filled[name] for name in fields} == fields
    rows = drawer.locator("tbody tr")
    expect(rows).to_have_class(["best", "", re.compile("^(?!.*best)")])
    expect(rows.nth(0).locator("td.number")).to_have_text(["0.70 / 1.00", "0.70 / 1.00", "–", "0.50 s"])
    expect(rows.nth(2)).to_have_text("TextNot measured: needs a language model")
    axis = [rows.nth(0).locator(f".{name}").first.get_attribute("style") for name in ("span", "dot")]
    assert [re.findall(r"\d+", style or "") for style in axis] == [["60", "30"], ["80"]]
    expect(drawer.get_by_role("button", name="Evaluate again")).to_be_enabled()
