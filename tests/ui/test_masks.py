"""The Masks page as a person uses it: clicks, boxes, brush, split, merge, keys and tools, files, and coming back."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from browser.app_page import (
    OpenProject,
    action,
    canvas,
    click,
    deepest_pixel,
    drag,
    hint,
    largest,
    near_lower_edge,
    open_masks,
    open_tab,
    rows,
    screenshot,
    undo_button,
    wait_until_idle,
)
from browser.studio_process import Studio
from browser.watched_page import close_app
from PIL import Image
from playwright.sync_api import Locator, Page, Route, expect

from pipeline.segmentation import decode_rle

SCENE = "blocks"


@pytest.fixture
def editor(project: OpenProject) -> OpenProject:
    """A project of its own with the Masks page open."""
    open_masks(project.page)
    return project


def drop_area(page: Page) -> Locator:
    return page.locator(".mask-canvas input[type=file]")


def test_masks_are_shown_as_soon_as_the_page_is_open(editor: OpenProject):
    screenshot(editor.page, "masks_1")
    assert len(editor.masks) >= 3
    expect(rows(editor.page)).to_have_count(len(editor.masks))


def test_a_project_that_is_closed_while_its_photograph_loads_causes_no_error(editor: OpenProject):
    page, held = editor.page, list[Route]()
    close_app(page)
    page.route("**/colour.jpg", lambda route: held.append(route))
    page.goto(f"{editor.studio.address}?project={editor.name}")
    open_tab(page, "Masks")
    expect(page.locator(".mask-canvas:not(.blank)")).to_be_visible()
    page.locator(".top-bar .brand").click()
    expect(page.locator(".gallery .board")).to_be_visible()
    assert held
    for route in held:
        route.continue_()
    page.unroute_all(behavior="wait")
    page.wait_for_timeout(1000)


def test_shift_click_selects_more_and_a_button_undoes_the_merge(editor: OpenProject):
    page, masks = editor.page, editor.masks
    first, second = list(masks)[:2]
    click(page, deepest_pixel(masks[first]), masks[first].shape)
    expect(page.locator(f".object-list [data-id='{first}']")).to_have_class(re.compile("selected"))
    expect(action(page, "merge")).to_be_disabled()
    page.locator(f".object-list [data-id='{second}']").click(modifiers=["Shift"])
    expect(hint(page)).to_contain_text("2 selected")
    screenshot(page, "masks_2_multi_select")
    action(page, "merge").click()
    expect(rows(page)).to_have_count(len(masks) - 1)
    assert editor.masks[min(first, second)].sum() == (masks[first] | masks[second]).sum()
    action(page, "undo").click()
    expect(rows(page)).to_have_count(len(masks))
    assert editor.kinds == ["merge_segments", "undo"]


CLICKS_SENT = """async () => {
  const { MaskEdit } = await import("/static/mask_canvas/mask_edit.js");
  const { Mask } = await import("/static/mask_canvas/mask.js");
  const square = (left) => Mask.empty(40, 40).withStroke([left, 20], [left, 20], 8, 1);
  const edit = new MaskEdit(1, "#fff", square(10)), sent = () => edit.prompt().points.map(([x]) => x);
  edit.clicks.push([12, 20, 1], [30, 20, 0]);
  edit.addStep([{ mask: square(10) }]);
  edit.clicks.push([14, 20, 1]);
  const both = sent();
  edit.addStep([{ mask: square(30) }]);
  edit.clicks.push([16, 20, 1]);
  return [both, sent()];
}"""


def test_a_correction_knows_the_earlier_clicks_that_the_mask_still_agrees_with(editor: OpenProject):
    both, painted_over = editor.page.evaluate(CLICKS_SENT)
    assert both == [12, 30, 14]
    assert painted_over == [16], "another mask was painted, which none of the earlier clicks agrees with"


def test_right_click_removes_pixels_and_enter_accepts_the_rest(editor: OpenProject):
    page = editor.page
    id, mask = largest(editor.masks)
    click(page, deepest_pixel(mask), mask.shape)
    click(page, near_lower_edge(mask), mask.shape, button="right")
    expect(hint(page)).to_contain_text("edited")
    expect(action(page, "accept")).to_be_enabled()
    canvas(page).press("Enter")
    expect(hint(page)).to_contain_text("accepted by you")
    expect(action(page, "undo")).to_be_enabled()
    wait_until_idle(page)
    decision = editor.decisions[-1]
    assert decision["kind"] == "mask" and decision["data"]["id"] == id and decision["data"]["clicks"][0][2] == 0
    assert 0 < editor.masks[id].sum() < mask.sum()


def test_a_box_outlines_an_object_and_escape_discards_it(editor: OpenProject):
    page = editor.page
    id, mask = largest(editor.masks)
    ys, xs = np.nonzero(mask)
    drag(page, [(xs.min() - 3.0, ys.min() - 3.0), (xs.max() + 3.0, ys.max() + 3.0)], mask.shape)
    expect(hint(page)).to_contain_text("Press Enter to accept")
    screenshot(page, "masks_3_box")
    canvas(page).press("Escape")
    expect(hint(page)).to_contain_text("Click a mask")
    assert editor.kinds == [] and (editor.masks[id] == mask).all()


def test_brush_and_eraser_change_pixels_and_undo_goes_stroke_by_stroke(editor: OpenProject):
    page = editor.page
    id, mask = largest(editor.masks)
    x, y = deepest_pixel(mask)
    canvas(page).press(str(id))
    action(page, "tool:erase").click()
    drag(page, [(x - 4, y), (x + 4, y)], mask.shape)
    expect(hint(page)).to_contain_text("edited")
    action(page, "tool:brush").click()
    expect(page.locator(".mask-canvas .brush-size")).to_be_visible()
    left = float(np.nonzero(mask)[1].min())
    drag(page, [(left - 2, y), (left - 9, y)], mask.shape)
    drag(page, [(left - 9, y), (left - 9, y - 9)], mask.shape)
    screenshot(page, "masks_4_brush")
    canvas(page).press("z")
    action(page, "accept").click()
    expect(hint(page)).to_contain_text("accepted by you")
    expect(undo_button(page)).to_be_enabled()  # the page shows an accepted mask before it is saved
    wait_until_idle(page)
    painted = editor.masks[id]
    assert not painted[round(y), round(x)] and painted[round(y), round(left - 6)]
    assert not painted[round(y - 9), round(left - 9)]
    canvas(page).press("z")
    expect(action(page, "redo")).to_be_enabled()
    wait_until_idle(page)
    assert (editor.masks[id] == mask).all()


def test_a_line_across_an_object_splits_it_and_one_undo_merges_it(editor: OpenProject):
    page, before = editor.page, editor.masks
    id, mask = largest(before)
    x, y = deepest_pixel(mask)
    canvas(page).press(str(id))
    canvas(page).press("s")
    expect(hint(page)).to_contain_text("drag a line")
    drag(page, [(x - 60, y), (x + 60, y)], mask.shape)
    expect(rows(page)).to_have_count(len(before) + 1)
    wait_until_idle(page)
    parts = editor.masks
    new = max(parts)
    assert new not in before and ((parts[id] | parts[new]) == mask).all() and not (parts[id] & parts[new]).any()
    canvas(page).press("z")
    expect(rows(page)).to_have_count(len(before))
    wait_until_idle(page)
    assert (editor.masks[id] == mask).all()


def test_non_objects_are_marked_and_deleting_several_is_one_step(editor: OpenProject):
    page, masks = editor.page, editor.masks
    ids = list(masks)
    canvas(page).press(str(ids[0]))
    action(page, "toggle_object").click()
    expect(page.locator(f".object-list [data-id='{ids[0]}']")).to_have_class(re.compile("non-object"))
    expect(action(page, "toggle_object")).to_have_text("Object")
    action(page, "undo").click()
    expect(page.locator(f".object-list [data-id='{ids[0]}']")).not_to_have_class(re.compile("non-object"))
    canvas(page).press("Escape")
    action(page, "tool:several").click()
    for id in ids[:2]:
        click(page, deepest_pixel(masks[id]), masks[id].shape)
    expect(hint(page)).to_contain_text("2 selected")
    canvas(page).press("Delete")
    expect(rows(page)).to_have_count(len(masks) - 2)
    canvas(page).press("z")
    expect(rows(page)).to_have_count(len(masks))


def test_clicks_made_faster_than_the_answers_all_count(editor: OpenProject):
    page, masks = editor.page, editor.masks
    shape, (x, y) = next(iter(masks.values())).shape, deepest_pixel(~np.logical_or.reduce(list(masks.values())))
    canvas(page).press("n")
    for i in range(5):
        click(page, (x + 3 * i, y), shape, no_wait_after=True)
    expect(action(page, "accept")).to_be_enabled()
    expect(canvas(page)).to_have_attribute("data-ms", re.compile(r"\d"))
    open_tab(page, "Frame")
    open_tab(page, "Masks")
    expect(hint(page)).to_contain_text("Press Enter to accept")
    screenshot(page, "masks_5_new")
    canvas(page).press("Enter")
    expect(rows(page)).to_have_count(len(masks) + 1)
    wait_until_idle(page)
    decision = editor.decisions[-1]
    assert decision["kind"] == "mask" and len(decision["data"]["clicks"]) == 5
    accepted = decode_rle(decision["data"]["mask"])
    assert all(accepted[round(cy), round(cx)] for cx, cy, _ in decision["data"]["clicks"])


def test_exported_masks_are_imported_unchanged(editor: OpenProject, tmp_path: Path):
    page, masks = editor.page, editor.masks
    page.locator("[data-menu=files] summary").click()
    screenshot(page, "masks_6_files")
    with page.expect_download() as download:
        page.locator("[data-form=cvat]").click()
    download.value.save_as(tmp_path / "masks.zip")
    canvas(page).press(str(min(masks)))
    canvas(page).press("Delete")
    expect(rows(page)).to_have_count(len(masks) - 1)
    drop_area(page).set_input_files(tmp_path / "masks.zip")
    expect(hint(page)).to_contain_text(re.compile(rf"{len(masks)} masks"))
    expect(rows(page)).to_have_count(len(masks))
    wait_until_idle(page)
    back = editor.masks
    assert back.keys() == masks.keys() and all((back[id] == masks[id]).all() for id in masks)
    action(page, "undo").click()
    expect(rows(page)).to_have_count(len(masks) - 1)
    action(page, "redo").click()
    expect(rows(page)).to_have_count(len(masks))
    expect(action(page, "redo")).to_be_disabled()


def test_a_file_of_another_picture_is_refused_in_one_line(editor: OpenProject, tmp_path: Path):
    buffer = io.BytesIO()
    Image.fromarray(np.eye(30, dtype=np.uint8)).save(buffer, "PNG")
    (tmp_path / "labels.png").write_bytes(buffer.getvalue())
    drop_area(editor.page).set_input_files(tmp_path / "labels.png")
    expect(editor.page.locator(".mask-canvas .problem")).to_contain_text("30 x 30 pixels")
    assert editor.kinds == []


def test_segmenters_show_their_state_and_can_be_compared(editor: OpenProject):
    page = editor.page
    page.locator("[data-menu=segmenters] > summary").click()
    sheet = page.locator("[data-menu=segmenters] .sheet")
    expect(sheet).to_contain_text("Depth and colour")
    expect(sheet).to_contain_text(re.compile("SAM 2"))
    if sheet.get_by_text("not available").count():
        expect(sheet).to_contain_text("hf download facebook/sam2.1-hiera-tiny")
        expect(sheet.locator("input[value=sam2]")).to_be_disabled()
    screenshot(page, "masks_7_segmenters")
    canvas(page).press(str(min(editor.masks)))
    canvas(page).press("c")
    expect(page.locator(".mask-canvas .candidate").nth(1)).to_contain_text("Depth and colour")
    expect(hint(page)).to_contain_text("Choose a mask")
    screenshot(page, "masks_8_compare")


def test_the_keys_are_listed_and_the_picture_zooms_and_resets(editor: OpenProject):
    page, photo = editor.page, editor.page.locator(".mask-canvas .photo")
    canvas(page).press("?")
    expect(page.locator(".mask-canvas .help")).to_contain_text("Space-drag")
    screenshot(page, "masks_9_keys")
    canvas(page).press("?")
    expect(page.locator(".mask-canvas .help")).to_be_hidden()
    fitted = photo.get_attribute("style") or ""
    for name in ("zoom_in", "zoom_in"):
        action(page, name).click()
    expect(photo).not_to_have_attribute("style", fitted)
    action(page, "fit").click()
    expect(photo).to_have_attribute("style", fitted)


def test_masks_are_restored_after_a_crash(studio: Studio, editor: OpenProject):
    page, count = editor.page, len(editor.masks)
    canvas(page).press(str(min(editor.masks)))
    canvas(page).press("Delete")
    expect(rows(page)).to_have_count(count - 1)
    wait_until_idle(page)
    before = editor.masks
    assert len(before) == count - 1
    close_app(page)
    studio.kill()
    studio.start()
    editor.reopen()
    expect(rows(page)).to_have_count(len(before))
    open_masks(page)
    after = editor.masks
    assert after.keys() == before.keys() and all((after[id] == before[id]).all() for id in before)
