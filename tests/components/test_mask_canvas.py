"""The mask canvas and the object list alone in a page: clicks, strokes, keys and their records."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.app_page import NEXT_DRAWN_FRAME, rows
from browser.bare_page import Mount, Mounted
from browser.masks import action, canvas, click, deepest_pixel, drag, expect_answered, hint, largest, near_lower_edge
from browser.watched_page import press_keys, wait_until
from PIL import Image
from playwright.sync_api import Locator, Page, Route, expect

from pipeline.segmentation import decode_rle, encode_rle


@pytest.fixture
def editor(mount: Mount) -> Mounted:
    """The masks of a project, with the list of its objects; the twin stays as it is."""
    editor = mount("blocks", "mask-canvas", "object-list").keep_twin()
    expect(hint(editor.page)).to_contain_text("Click a mask")
    return editor


def row(page: Page, id: int) -> Locator:
    return page.locator(f".object-list [data-id='{id}']")


def expect_selected(page: Page, *ids: int) -> None:
    expect(page.locator(".object-list .selected")).to_have_count(len(ids))
    for id in ids:
        expect(row(page, id)).to_have_class(re.compile("selected"))


def last_decision(editor: Mounted) -> tuple[str, dict[str, Any]]:
    """Wait until what the page sent is recorded; return the last decision's kind and data."""
    editor.wait_until_drawn()
    return editor.kinds[-1], editor.decisions[-1]["data"]


def sent_clicks(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests that clicks and boxes sent, without those of the preview."""
    return [one for one in asked if "box" in one]


def empty_pixel(editor: Mounted) -> tuple[float, float]:
    return deepest_pixel(~np.logical_or.reduce(list(editor.masks.values())))


def test_clicks_select_shift_adds_and_the_merge_of_two_is_undone_by_a_button(editor: Mounted):
    page, masks = editor.page, editor.masks
    first, second = list(masks)[:2]
    shape = masks[first].shape
    expect(rows(page)).to_have_count(len(masks))
    click(page, deepest_pixel(masks[first]), shape)
    expect_selected(page, first)
    expect(action(page, "merge")).to_be_disabled()
    expect(action(page, "split")).to_be_enabled()
    row(page, second).click(modifiers=["Shift"])
    expect(hint(page)).to_contain_text("2 selected")
    click(page, deepest_pixel(masks[second]), shape, modifiers=["Shift"])
    expect_selected(page, first)
    click(page, deepest_pixel(masks[second]), shape, modifiers=["Shift"])
    expect_selected(page, first, second)
    expect(action(page, "split")).to_be_disabled()
    action(page, "merge").click()
    expect(rows(page)).to_have_count(len(masks) - 1)
    assert last_decision(editor) == ("merge_segments", {"ids": [first, second], "into": first})
    assert (editor.masks[first] == (masks[first] | masks[second])).all()
    action(page, "undo").click()
    expect(rows(page)).to_have_count(len(masks))
    canvas(page).click(position={"x": 20, "y": 20})  # beside the photograph
    expect_selected(page)
    expect(action(page, "delete")).to_be_disabled()


def test_corrections_by_right_and_alt_click_are_undone_redone_and_accepted(editor: Mounted):
    page, asked = editor.page, editor.answer("mask-canvas", {})
    id, mask = largest(editor.masks)
    edge = near_lower_edge(mask)
    click(page, empty_pixel(editor), mask.shape, button="right")
    expect(hint(page)).to_contain_text("Click a mask")  # nothing is selected that it could remove from
    click(page, deepest_pixel(mask), mask.shape, button="right")
    expect_selected(page, id)
    click(page, edge, mask.shape, button="right")
    expect(hint(page)).to_contain_text("edited")
    expect_answered(page)
    click(page, (edge[0], edge[1] - 3), mask.shape, modifiers=["Alt"])
    wait_until(page, lambda: len(sent_clicks(asked)) == 2)
    expect_answered(page)
    first, both = sent_clicks(asked)
    assert (first["labels"], both["labels"]) == ([0], [0, 0])
    assert (decode_rle(first["rle"]) == mask).all()
    np.testing.assert_allclose(first["points"], [np.add(edge, 0.5)], atol=0.6)
    expect(action(page, "accept")).to_be_enabled()
    press_keys(page, "Control+z", "z")
    expect(hint(page)).to_contain_text("segmented by depth")
    page.keyboard.press("Shift+Z")
    expect(hint(page)).to_contain_text("edited")
    page.keyboard.press("Enter")
    expect(hint(page)).to_contain_text("accepted by you")
    kind, data = last_decision(editor)
    assert (kind, data["id"], [sign for _, _, sign in data["clicks"]]) == ("mask", id, [0])
    assert 0 < editor.masks[id].sum() < mask.sum()


def test_a_box_drawn_either_way_outlines_an_object_which_is_discarded_or_accepted_as_a_new_one(editor: Mounted):
    page, asked = editor.page, editor.answer("mask-canvas", {})
    id, mask = largest(editor.masks)
    ys, xs = np.nonzero(mask)
    corners = [(xs.min() - 3.0, ys.min() - 3.0), (xs.max() + 3.0, ys.max() + 3.0)]
    for ends in (corners, corners[::-1]):
        drag(page, ends, mask.shape)
        expect(hint(page)).to_contain_text("Press Enter to accept")
        expect_answered(page)
        np.testing.assert_allclose(sent_clicks(asked)[-1]["box"], np.add(corners, 0.5).ravel(), atol=0.6)
        canvas(page).press("Escape")
        expect(hint(page)).to_contain_text("Click a mask")
    assert editor.kinds == []
    new = max(editor.masks) + 1
    drag(page, corners, mask.shape)
    action(page, "accept").click()
    expect_selected(page, new)
    assert last_decision(editor)[0] == "mask" and editor.masks[new].sum() > 0.9 * mask.sum()
    assert id not in editor.masks, "each pixel belongs to one object"


def test_brush_and_eraser_change_pixels_stroke_by_stroke_in_the_size_that_is_shown(editor: Mounted):
    page = editor.page
    id, mask = largest(editor.masks)
    x, y = deepest_pixel(mask)
    left = float(np.nonzero(mask)[1].min())
    canvas(page).press(str(id))
    size = page.locator(".mask-canvas .brush-size output")
    expect(size).to_be_hidden()
    action(page, "tool:erase").click()
    drag(page, [(x - 4, y), (x + 4, y)], mask.shape)
    expect(hint(page)).to_contain_text("edited")
    action(page, "tool:brush").click()
    drag(page, [(left - 2, y), (left - 9, y)], mask.shape)
    drag(page, [(left - 9, y), (left - 9, y - 9)], mask.shape)
    canvas(page).press("z")
    expect(action(page, "redo")).to_be_enabled()
    drag(page, [(left - 9, y), (left - 9, y)], mask.shape)
    expect(action(page, "redo")).to_be_disabled()  # what was undone does not come back over the new stroke
    canvas(page).press("z")
    action(page, "accept").click()
    expect(hint(page)).to_contain_text("accepted by you")
    last_decision(editor)
    painted = editor.masks[id]
    assert not painted[round(y), round(x)] and painted[round(y), round(left - 6)]
    assert not painted[round(y - 9), round(left - 9)]
    canvas(page).press("z")
    expect(action(page, "redo")).to_be_enabled()
    assert last_decision(editor)[0] == "undo" and (editor.masks[id] == mask).all()

    press_keys(page, "n", "b")
    expect(size).to_be_visible()
    before = int(size.inner_text().removesuffix(" px"))
    press_keys(page, "]", "]", "[")
    page.evaluate(NEXT_DRAWN_FRAME)
    wide = int(size.inner_text().removesuffix(" px"))
    spot = empty_pixel(editor)
    click(page, spot, mask.shape)
    canvas(page).press("Enter")
    dab = decode_rle(last_decision(editor)[1]["mask"])
    assert wide > before and dab[round(spot[1]), round(spot[0])]
    assert np.ptp(np.nonzero(dab)[1]) + 1 == pytest.approx(wide, abs=1.5)
    canvas(page).press("e")
    drag(page, [(spot[0] - wide, spot[1]), (spot[0] + wide, spot[1])], mask.shape)
    drag(page, [(spot[0] - wide, spot[1] - 4), (spot[0] + wide, spot[1] + 4)], mask.shape)
    canvas(page).press("Enter")
    expect(page.locator(".mask-canvas .problem")).to_contain_text("The mask is empty")


def test_an_edit_is_kept_when_another_object_is_selected_and_says_whose_pixels_it_takes(editor: Mounted):
    page = editor.page
    masks = dict(sorted(editor.masks.items(), key=lambda item: -item[1].sum())[:3])
    (id, mask), (other, theirs), (third, _) = masks.items()
    canvas(page).press(str(id))
    action(page, "tool:brush").click()
    click(page, deepest_pixel(theirs), mask.shape)
    expect(hint(page)).to_contain_text(re.compile(r"! Takes \d+ pixels from: "))
    row(page, third).click()
    expect_selected(page, third)
    expect(hint(page)).to_contain_text(re.compile(r"pixels taken from: .*Undo gives them back"))
    assert last_decision(editor)[0] == "mask"
    taken = editor.masks[id] & theirs
    assert taken.any() and not (editor.masks[other] & taken).any()
    canvas(page).press("z")
    expect(action(page, "redo")).to_be_enabled()
    assert last_decision(editor)[0] == "undo" and (editor.masks[other] == theirs).all()
    action(page, "tool:add").click()
    held = list[Route]()
    page.route("**/bare/ask/mask-canvas", lambda route: held.append(route))
    canvas(page).press(str(id))
    click(page, near_lower_edge(mask), mask.shape, button="right")
    wait_until(page, lambda: held)
    canvas(page).press(str(other))  # before the answer is there
    expect_selected(page, id)
    held.pop().continue_()
    expect_selected(page, other)
    assert last_decision(editor)[1]["id"] == id and (editor.masks[id] != mask).any()


def test_a_line_across_an_object_splits_it_and_one_undo_merges_it(editor: Mounted):
    page, before = editor.page, editor.masks
    id, mask = largest(before)
    x, y = deepest_pixel(mask)
    action(page, "new").click()
    canvas(page).press("s")
    expect(page.locator(".mask-canvas .problem")).to_contain_text("Select one object")
    press_keys(page, str(id), "s")
    expect(hint(page)).to_contain_text("drag a line")
    drag(page, [(x - 60, y + 100), (x + 60, y + 100)], mask.shape)
    expect(page.locator(".mask-canvas .problem")).to_contain_text("does not cross")
    drag(page, [(x - 60, y + 5), (x + 60, y + 5)], mask.shape)
    expect(rows(page)).to_have_count(len(before) + 1)
    expect_selected(page, id)
    last_decision(editor)
    parts, new = editor.masks, max(before) + 1
    assert (parts[id] ^ parts[new] == mask).all() and parts[id].sum() >= parts[new].sum()
    assert {np.nonzero(part)[0].mean() > y + 5 for part in (parts[id], parts[new])} == {True, False}
    canvas(page).press("z")
    expect(rows(page)).to_have_count(len(before))
    assert last_decision(editor)[0] == "undo" and (editor.masks[id] == mask).all()
    canvas(page).press("s")
    action(page, "split_auto").click()
    editor.wait_until_drawn()
    assert ("decide", {"kind": "split", "id": id}) in editor.sent


def test_non_objects_are_marked_and_deleting_several_is_one_step(editor: Mounted):
    page, masks = editor.page, editor.masks
    ids = list(masks)
    canvas(page).press(str(ids[0]))
    action(page, "toggle_object").click()
    expect(row(page, ids[0])).to_have_class(re.compile("non-object"))
    expect(action(page, "toggle_object")).to_have_text("Object")
    canvas(page).press("o")
    expect(row(page, ids[0])).not_to_have_class(re.compile("non-object"))
    canvas(page).press("Escape")
    action(page, "tool:several").click()
    for id in ids[:2]:
        click(page, deepest_pixel(masks[id]), masks[id].shape)
    click(page, empty_pixel(editor), masks[ids[0]].shape)
    expect(hint(page)).to_contain_text("2 selected")
    canvas(page).press("Delete")
    expect(rows(page)).to_have_count(len(masks) - 2)
    last_decision(editor)
    assert editor.kinds[-2:] == ["delete_segment"] * 2
    canvas(page).press("z")
    expect(rows(page)).to_have_count(len(masks))
    row(page, ids[1]).click()
    editor.session.decisions.record("delete_segment", id=ids[1])  # on another page
    expect(rows(page)).to_have_count(len(masks) - 1)
    expect(action(page, "delete")).to_be_disabled()


def test_clicks_made_faster_than_the_answers_all_count_and_enter_waits_for_the_last(editor: Mounted):
    page, masks, held = editor.page, editor.masks, list[Route]()
    page.route("**/bare/ask/mask-canvas", lambda route: held.append(route))
    (x, y), shape = empty_pixel(editor), masks[1].shape
    canvas(page).press("n")
    for i in range(5):
        click(page, (x + 3 * i, y), shape)
    page.keyboard.press("Enter")
    wait_until(page, lambda: held)
    assert editor.kinds == []
    held.pop().continue_()
    wait_until(page, lambda: held)
    assert len(held[0].request.post_data_json["points"]) == 5, "the newest of those that waited"
    held.pop().continue_()
    expect(rows(page)).to_have_count(len(masks) + 1)
    kind, data = last_decision(editor)
    assert (kind, data["id"], len(data["clicks"])) == ("mask", max(masks) + 1, 5) and not held
    accepted = decode_rle(data["mask"])
    assert all(accepted[int(cy), int(cx)] for cx, cy, _ in data["clicks"])
    expect(canvas(page)).to_have_attribute("data-ms", re.compile(r"\d"))


def test_a_click_that_cannot_be_answered_says_why_and_is_forgotten(editor: Mounted):
    page, shape = editor.page, editor.masks[1].shape
    (x, y), asked = empty_pixel(editor), editor.answer("mask-canvas", {"prompt": {"error": "There is no depth here."}})
    click(page, (x, y), shape)
    expect(page.locator(".mask-canvas .problem")).to_have_text("There is no depth here.")
    click(page, (x + 9, y), shape)
    wait_until(page, lambda: len(sent_clicks(asked)) == 2)
    assert len(sent_clicks(asked)[-1]["points"]) == 1
    canvas(page).press("Escape")
    expect(hint(page)).to_contain_text("Click a mask")


def test_exported_masks_are_imported_unchanged_and_those_of_another_picture_refused(editor: Mounted, tmp_path: Path):
    page, masks, files = editor.page, editor.masks, editor.page.locator(".mask-canvas input[type=file]")
    page.locator("[data-menu=files] summary").click()
    with page.expect_download() as download:
        page.locator("[data-form=cvat]").click()
    download.value.save_as(tmp_path / "masks.zip")
    assert download.value.suggested_filename.endswith(".zip")
    expect(page.locator("[data-form=cvat]")).to_be_hidden()
    press_keys(page, str(min(masks)), "Delete")
    expect(rows(page)).to_have_count(len(masks) - 1)
    files.set_input_files(tmp_path / "masks.zip")
    expect(hint(page)).to_contain_text(re.compile(rf"{len(masks)} masks"))
    expect(rows(page)).to_have_count(len(masks))
    back = editor.masks
    assert back.keys() == masks.keys() and all((back[id] == masks[id]).all() for id in masks)
    kinds, buffer = editor.kinds, io.BytesIO()
    Image.fromarray(np.eye(30, dtype=np.uint8)).save(buffer, "PNG")
    files.set_input_files({"name": "labels.png", "mimeType": "image/png", "buffer": buffer.getvalue()})
    expect(page.locator(".mask-canvas .problem")).to_contain_text("30 x 30 pixels")
    assert editor.kinds == kinds


def test_a_person_who_only_looks_selects_and_zooms_and_draws_no_mask(mount: Mount, page: Page):
    looker = {"user": "lou", "role": "look", "refused": ["mask-canvas.decide"], "editors": []}
    page.route("**/account.json", lambda route: route.fulfill(json=looker))
    editor = mount("blocks", "mask-canvas", "object-list")
    page.evaluate("async () => (await import('/static/studio/refused_controls.js')).disableRefused(false)")
    expect(action(page, "tool:brush")).to_have_attribute("data-refused", "")
    expect(action(page, "fit")).not_to_have_attribute("data-refused", "")
    id, mask = largest(editor.masks)
    press_keys(page, "n", "b")
    drag(page, [empty_pixel(editor), deepest_pixel(mask)], mask.shape)
    click(page, deepest_pixel(mask), mask.shape)
    expect_selected(page, id)
    press_keys(page, "Delete", "Enter")
    expect(hint(page)).to_contain_text("not change them")
    expect(action(page, "accept")).to_have_count(0)
    assert editor.sent == [] and editor.kinds == []


def test_a_project_that_is_closed_while_its_photograph_loads_causes_no_error(mount: Mount, page: Page):
    held = list[Route]()
    page.route("**/colour.jpg", lambda route: held.append(route))
    editor = mount("blocks", "mask-canvas")
    wait_until(page, lambda: held)
    editor.set_value("mask-canvas", None)
    for route in held:
        route.continue_()
    page.evaluate("() => document.querySelector('.photo').decode()")
    expect(page.locator(".mask-canvas.blank")).to_have_count(1)


def test_a_click_offers_candidates_by_size_and_quality_and_the_chosen_one_is_accepted(editor: Mounted):
    page, masks, candidates = editor.page, editor.masks, editor.page.locator(".candidates .candidate")
    squares = [np.zeros(masks[1].shape, bool) for _ in range(3)]
    for half, square in zip((10, 30, 20), squares, strict=True):
        square[400 - half : 400 + half, 100 - half : 100 + half] = True
    made = zip(squares, (0.92, 0.8, 0.5), strict=True)
    readings = [{"rle": encode_rle(square), "source": "sam2", "quality": quality} for square, quality in made]
    editor.answer("mask-canvas", {"prompt": {"candidates": readings}})
    canvas(page).press("n")
    canvas(page).click(position={"x": 640, "y": 500})
    expect(candidates).to_have_text([re.compile("smaller partgood"), re.compile("wholefair"), re.compile("partpoor")])
    expect(candidates.nth(0)).to_have_attribute("aria-pressed", "true")
    for i in range(3):
        expect(candidates.nth(i).locator("img")).to_have_js_property("naturalWidth", 224)
    canvas(page).press("r")
    expect(candidates.nth(1)).to_have_attribute("aria-pressed", "true")
    candidates.nth(2).click()
    press_keys(page, "r", "r")
    expect(candidates.nth(1)).to_have_attribute("aria-pressed", "true")
    canvas(page).press("Enter")
    expect(rows(page)).to_have_count(len(masks) + 1)
    editor.wait_until_drawn()
    assert (decode_rle(editor.decisions[-1]["data"]["mask"]) == squares[1]).all()
