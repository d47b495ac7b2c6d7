"""The menu of segmenters on the mask canvas: one is chosen, watched, installed and compared, and finds all masks."""

import re
from typing import Any

import pytest
from browser.bare_page import Mount, Mounted
from browser.masks import action, canvas, hint
from browser.watched_page import expect_texts, wait_until
from playwright.sync_api import Locator, Page, expect


@pytest.fixture
def editor(mount: Mount) -> Mounted:
    editor = mount("blocks", "mask-canvas").keep_twin()
    expect(hint(editor.page)).to_contain_text("Click a mask")
    return editor


def states(chosen: str = "depth", **sam2: Any) -> dict[str, Any]:
    plain = {"state": "ready", "progress": 1.0, "note": ""}
    depth = plain | {"name": "depth", "title": "Depth and colour"}
    return {"chosen": chosen, "segmenters": [depth, plain | {"name": "sam2", "title": "SAM 2"} | sam2]}


def menu(page: Page) -> Locator:
    return page.locator("[data-menu=segmenters]")


def test_the_menu_names_every_segmenter_and_compares_them_on_the_selected_object(editor: Mounted):
    page, sheet = editor.page, menu(editor.page).locator(".sheet")
    wait_until(page, lambda: editor.session.segmenters._views)  # before the first click: the masks are seen
    menu(page).locator("> summary").click()
    expect(sheet.locator("input[value=depth]")).to_be_checked()
    expect(sheet).to_contain_text("SAM 2")
    if sheet.get_by_text("not available").count():
        expect(sheet).to_contain_text("hf download facebook/sam2.1-hiera-tiny")
        expect(sheet.locator("input[value=sam2]")).to_be_disabled()
    action(page, "compare").click()
    expect(page.locator(".mask-canvas .problem")).to_contain_text("Select an object first")
    canvas(page).press("1")
    canvas(page).press("c")
    expect_texts(page, {".mask-canvas .candidate": ["Current", re.compile("Depth and colour")]})
    expect(hint(page)).to_contain_text("Choose a mask")
    canvas(page).press("Escape")
    expect(page.locator(".mask-canvas .candidate")).to_have_count(0)
    assert editor.kinds == []


def test_a_segmenter_is_chosen_watched_stopped_tried_again_and_installed(editor: Mounted):
    page, current = editor.page, states(state="idle", progress=0.0)
    encoding, stopped = [states("sam2", state=state, progress=0.4) for state in ("encoding", "stopped")]
    missing = states(state="missing", note="SAM 2 is not installed.", installable=True)
    follows = {"choose": [encoding, missing], "stop": [stopped], "install": [states(state="installing")]}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal current
        current = follows[request["kind"]].pop(0) if request["kind"] in follows else current
        return current

    asked = editor.answer("mask-canvas", dict.fromkeys(("status", *follows), answer))
    menu(page).locator("> summary").click()
    sam2 = menu(page).locator(".segmenter", has_text="SAM 2")
    expect(sam2).to_contain_text("not started")
    sam2.locator("input").check()
    expect(menu(page).locator("summary").first).to_contain_text("Segmenter: SAM 2 ◐ encoding 40 %")
    expect(sam2.locator("progress")).to_have_js_property("value", 0.4)
    polls = len(asked)
    wait_until(page, lambda: len(asked) > polls + 1)  # until it is ready
    is_click = lambda route: route.request.post_data_json["kind"] == "prompt"  # noqa: E731  (it gets no answer)
    page.route("**/bare/ask/mask-canvas", lambda route: is_click(route) or route.fallback())
    canvas(page).click(position={"x": 640, "y": 500})
    expect(hint(page)).to_contain_text("SAM 2 is encoding this frame (40 %); your click is answered afterwards.")
    canvas(page).press("Escape")
    menu(page).locator("> summary").click()
    sam2.get_by_role("button", name="Stop").click()
    expect(sam2).to_contain_text("stopped")
    sam2.get_by_role("button", name="Retry").click()
    expect(sam2.locator(".note")).to_have_text("SAM 2 is not installed.")
    expect(sam2.locator("input")).to_be_disabled()
    sam2.get_by_role("button", name="Install").click()
    expect(sam2).to_contain_text("installing")
    current = states(state="failed")
    expect(sam2).to_contain_text("failed, using depth")
    kinds = [(one["kind"], one["name"]) for one in asked if one["kind"] in follows]
    assert kinds == [("choose", "sam2"), ("stop", "sam2"), ("choose", "sam2"), ("install", "sam2")]


def test_the_frame_is_segmented_again_with_the_settings_that_are_shown(editor: Mounted):
    page = editor.page
    editor.answer("mask-canvas", {"status": states("sam2"), "choose": states("depth")})
    menu(page).locator("> summary").click()
    menu(page).locator(".settings summary").click()
    expect(menu(page).locator("input[name=points_per_side]")).to_have_value("24")
    menu(page).locator("input[name=points_per_side]").fill("3")
    menu(page).locator("input[name=keep_all]").check()
    action(page, "find").click()
    expect(menu(page).locator(".sheet")).to_be_hidden()
    settings = {"points_per_side": 3, "pred_iou_thresh": 0.7, "stability_score_thresh": 0.9, "box_nms_thresh": 0.7}
    settings |= {"keep_all": True, "use_m2m": False}
    editor.answer("mask-canvas", {"status": states("depth")})
    menu(page).locator("> summary").click()
    expect(menu(page).locator(".settings")).to_be_hidden()
    expect(action(page, "find")).to_have_text("Segment with Depth and colour")
    masks = editor.masks
    action(page, "find").click()
    expect(action(page, "undo")).to_be_enabled()
    editor.wait_until_drawn()
    found = {"name": "sam2", "settings": settings}, {"name": "depth", "settings": {}}
    assert editor.sent == [("find", one) for one in found] and editor.kinds == ["found"]
    assert all((editor.masks[id] == mask).all() for id, mask in masks.items()), "the same objects with the same numbers"
