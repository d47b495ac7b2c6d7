"""The Masks step as a person uses it: clicks, boxes, brush, split, merge, keys and tools, files, and coming back."""

import io
import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from conftest import PLAIN, Studio, leave
from PIL import Image
from playwright.sync_api import Page, expect
from test_studio import settled, shot, tab

from pipeline.segmentation import read_segments, unrle

SCENE = "blocks"


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    return PLAIN


def masks(studio: Studio, name: str = SCENE) -> dict[int, np.ndarray]:
    """What the project folder holds now, by id."""
    return {one.id: one.mask for one in read_segments(studio.workspace / name / "segments")}


def decided(studio: Studio) -> list[dict]:
    log = studio.workspace / SCENE / "decisions.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def kinds(studio: Studio) -> list[str]:
    return [one["kind"] for one in decided(studio)]


def middle(mask: np.ndarray) -> tuple[float, float]:
    """The pixel of a mask that is farthest from its edge."""
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    return float(x), float(y)


def spot(page: Page, x: float, y: float, shape: tuple[int, int]) -> dict:
    """Where on the canvas a pixel of the photograph lies while all of it is shown."""
    box = page.locator(".mask-canvas canvas").bounding_box()
    assert box
    scale = min(box["width"] / shape[1], box["height"] / shape[0])
    left, top = (box["width"] - shape[1] * scale) / 2, (box["height"] - shape[0] * scale) / 2
    return {"x": left + (x + 0.5) * scale, "y": top + (y + 0.5) * scale}


def click(page: Page, at: tuple[float, float], shape: tuple[int, int], **how) -> None:
    page.locator(".mask-canvas canvas").click(position=spot(page, *at, shape), **how)


def drag(page: Page, points: list[tuple[float, float]], shape: tuple[int, int]) -> None:
    box = page.locator(".mask-canvas canvas").bounding_box()
    assert box
    places = [spot(page, *point, shape) for point in points]
    page.mouse.move(box["x"] + places[0]["x"], box["y"] + places[0]["y"])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(box["x"] + place["x"], box["y"] + place["y"], steps=6)
    page.mouse.up()


def tool(page: Page, act: str):
    return page.locator(f".mask-canvas [data-act='{act}']")


@pytest.fixture(autouse=True)
def nothing_half_done(studio: Studio, page: Page):
    """Every test leaves the canvas with nothing edited or picked."""
    yield
    if page.locator(".mask-canvas").count():
        for _ in range(3):
            page.locator(".mask-canvas canvas").press("Escape")
        page.locator(".mask-canvas canvas").press("v")


def test_the_masks_of_a_frame_are_shown_before_anything_else_is_done(studio: Studio, page: Page):
    page.goto(studio.address)
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    tab(page, "Masks").click()
    expect(page.locator(".mask-canvas .hint")).to_contain_text("Click an object")
    settled(page)
    shot(page, "masks_1")
    assert len(masks(studio)) >= 3


def test_a_click_picks_shift_picks_more_and_merging_is_undone_by_a_button(studio: Studio, page: Page):
    found, rows = masks(studio), page.locator(".object-list .row")
    first, second = list(found)[:2]
    click(page, middle(found[first]), found[first].shape)
    expect(page.locator(f".object-list [data-id='{first}']")).to_have_class(re.compile("selected"))
    expect(tool(page, "merge")).to_be_disabled()
    page.locator(f".object-list [data-id='{second}']").click(modifiers=["Shift"])
    expect(page.locator(".mask-canvas .hint")).to_contain_text("2 picked")
    shot(page, "masks_2_several")
    tool(page, "merge").click()
    expect(rows).to_have_count(len(found) - 1)
    assert masks(studio)[min(first, second)].sum() == (found[first] | found[second]).sum()
    tool(page, "back").click()
    expect(rows).to_have_count(len(found))
    assert kinds(studio)[-2:] == ["merge_segments", "undo"]


def test_a_right_click_takes_away_and_enter_keeps_what_is_left(studio: Studio, page: Page):
    found = masks(studio)
    id, mask = max(found.items(), key=lambda one: one[1].sum())
    click(page, middle(mask), mask.shape)
    depth = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    ys, xs = np.nonzero((depth > 3) & (depth < 5))
    lowest = int(ys.argmax())
    click(page, (float(xs[lowest]), float(ys[lowest])), mask.shape, button="right")
    expect(page.locator(".mask-canvas .hint")).to_contain_text("changed")
    expect(tool(page, "accept")).to_be_enabled()
    page.locator(".mask-canvas canvas").press("Enter")
    expect(page.locator(".mask-canvas .hint")).to_contain_text("kept by a person")
    page.wait_for_function("() => !document.querySelector(\"[data-act='back']\").disabled")
    settled(page)
    told = decided(studio)[-1]
    assert told["kind"] == "mask" and told["data"]["id"] == id and told["data"]["clicks"][0][2] == 0
    assert 0 < masks(studio)[id].sum() < mask.sum()


def test_a_box_outlines_what_it_holds_and_escape_leaves_no_trace(studio: Studio, page: Page):
    found, before = masks(studio), kinds(studio)
    id, mask = max(found.items(), key=lambda one: one[1].sum())
    ys, xs = np.nonzero(mask)
    drag(page, [(xs.min() - 3.0, ys.min() - 3.0), (xs.max() + 3.0, ys.max() + 3.0)], mask.shape)
    expect(page.locator(".mask-canvas .hint")).to_contain_text("Enter keeps it")
    shot(page, "masks_3_box")
    page.locator(".mask-canvas canvas").press("Escape")
    expect(page.locator(".mask-canvas .hint")).to_contain_text("Click an object")
    assert kinds(studio) == before and (masks(studio)[id] == mask).all()


def test_brush_and_eraser_change_the_pixels_under_them_and_undo_goes_stroke_by_stroke(studio: Studio, page: Page):
    found = masks(studio)
    id, mask = max(found.items(), key=lambda one: one[1].sum())
    canvas, (x, y) = page.locator(".mask-canvas canvas"), middle(mask)
    canvas.press(str(id))
    tool(page, "tool:erase").click()
    drag(page, [(x - 4, y), (x + 4, y)], mask.shape)
    tool(page, "tool:brush").click()
    expect(page.locator(".mask-canvas .sizer")).to_be_visible()
    left = float(np.nonzero(mask)[1].min())
    drag(page, [(left - 2, y), (left - 9, y)], mask.shape)
    drag(page, [(left - 9, y), (left - 9, y - 9)], mask.shape)
    shot(page, "masks_4_brush")
    canvas.press("z")
    tool(page, "accept").click()
    expect(page.locator(".mask-canvas .hint")).to_contain_text("kept by a person")
    settled(page)
    now = masks(studio)[id]
    assert not now[round(y), round(x)] and now[round(y), round(left - 6)] and not now[round(y - 9), round(left - 9)]
    canvas.press("z")
    expect(tool(page, "forth")).to_be_enabled()
    settled(page)
    assert (masks(studio)[id] == mask).all()


def test_a_line_drawn_across_an_object_splits_it_and_one_undo_makes_it_whole(studio: Studio, page: Page):
    found, rows = masks(studio), page.locator(".object-list .row")
    id, mask = max(found.items(), key=lambda one: one[1].sum())
    canvas, (x, y) = page.locator(".mask-canvas canvas"), middle(mask)
    canvas.press(str(id))
    canvas.press("s")
    expect(page.locator(".mask-canvas .hint")).to_contain_text("drag a line")
    drag(page, [(x - 60, y), (x + 60, y)], mask.shape)
    expect(rows).to_have_count(len(found) + 1)
    settled(page)
    parts = masks(studio)
    new = max(parts)
    assert new not in found and ((parts[id] | parts[new]) == mask).all() and not (parts[id] & parts[new]).any()
    canvas.press("z")
    expect(rows).to_have_count(len(found))
    settled(page)
    assert (masks(studio)[id] == mask).all()


def test_what_is_no_object_says_so_and_deleting_several_is_one_step(studio: Studio, page: Page):
    found, rows = masks(studio), page.locator(".object-list .row")
    canvas, ids = page.locator(".mask-canvas canvas"), list(found)
    canvas.press(str(ids[0]))
    tool(page, "other").click()
    expect(page.locator(f".object-list [data-id='{ids[0]}']")).to_have_class(re.compile("other"))
    tool(page, "back").click()
    expect(page.locator(f".object-list [data-id='{ids[0]}']")).not_to_have_class(re.compile("other"))
    canvas.press("Escape")
    tool(page, "tool:several").click()
    for id in ids[:2]:
        click(page, middle(found[id]), found[id].shape)
    expect(page.locator(".mask-canvas .hint")).to_contain_text("2 picked")
    canvas.press("Delete")
    expect(rows).to_have_count(len(found) - 2)
    canvas.press("z")
    expect(rows).to_have_count(len(found))


def test_clicks_made_faster_than_the_answers_all_count(studio: Studio, page: Page):
    found = masks(studio)
    shape, (x, y) = next(iter(found.values())).shape, middle(~np.logical_or.reduce(list(found.values())))
    canvas = page.locator(".mask-canvas canvas")
    canvas.press("n")
    for i in range(5):
        click(page, (x + 3 * i, y), shape, no_wait_after=True)
    expect(tool(page, "accept")).to_be_enabled()
    page.wait_for_function("() => document.querySelector('.mask-canvas canvas').dataset.ms")
    tab(page, "Frame").click()
    tab(page, "Masks").click()
    expect(page.locator(".mask-canvas .hint")).to_contain_text("Enter keeps it")
    shot(page, "masks_5_new")
    canvas.press("Enter")
    expect(page.locator(".object-list .row")).to_have_count(len(found) + 1)
    settled(page)
    told = decided(studio)[-1]
    assert told["kind"] == "mask" and len(told["data"]["clicks"]) == 5
    kept = unrle(told["data"]["mask"])
    assert all(kept[round(cy), round(cx)] for cx, cy, _ in told["data"]["clicks"])


def test_masks_go_out_as_a_file_and_come_back_as_they_were(studio: Studio, page: Page, tmp_path: Path):
    found, rows = masks(studio), page.locator(".object-list .row")
    page.locator("[data-menu=files] summary").click()
    shot(page, "masks_6_files")
    with page.expect_download() as download:
        page.locator("[data-form=cvat]").click()
    download.value.save_as(tmp_path / "masks.zip")
    page.locator(".mask-canvas canvas").press(str(min(found)))
    page.locator(".mask-canvas canvas").press("Delete")
    expect(rows).to_have_count(len(found) - 1)
    page.locator(".mask-canvas input[type=file]").set_input_files(tmp_path / "masks.zip")
    expect(page.locator(".mask-canvas .hint")).to_contain_text(f"{len(found)} masks taken")
    expect(rows).to_have_count(len(found))
    settled(page)
    back = masks(studio)
    assert back.keys() == found.keys() and all((back[id] == found[id]).all() for id in found)
    tool(page, "back").click()
    expect(rows).to_have_count(len(found) - 1)
    tool(page, "forth").click()
    expect(rows).to_have_count(len(found))
    expect(tool(page, "forth")).to_be_disabled()  # all of it, step by step


def test_a_file_of_another_picture_is_refused_in_one_line(studio: Studio, page: Page, tmp_path: Path):
    before = kinds(studio)
    buffer = io.BytesIO()
    Image.fromarray(np.eye(30, dtype=np.uint8)).save(buffer, "PNG")
    (tmp_path / "labels.png").write_bytes(buffer.getvalue())
    page.locator(".mask-canvas input[type=file]").set_input_files(tmp_path / "labels.png")
    expect(page.locator(".mask-canvas .problem")).to_contain_text("30 x 30 pixels, the picture")
    assert kinds(studio) == before


def test_the_segmenters_say_how_they_stand_and_can_be_compared(studio: Studio, page: Page):
    page.locator("[data-menu=segmenters] > summary").click()
    sheet = page.locator("[data-menu=segmenters] .sheet")
    expect(sheet).to_contain_text("Depth and colour")
    expect(sheet).to_contain_text(re.compile("SAM 2"))
    if sheet.get_by_text("weights not found").count():
        expect(sheet).to_contain_text("hf download facebook/sam2.1-hiera-tiny")
        expect(sheet.locator("input[value=sam2]")).to_be_disabled()
    shot(page, "masks_7_segmenters")
    page.locator(".mask-canvas canvas").press(str(min(masks(studio))))
    page.locator(".mask-canvas canvas").press("c")
    expect(page.locator(".mask-canvas .readings .reading").nth(1)).to_contain_text("Depth and colour")
    expect(page.locator(".mask-canvas .hint")).to_contain_text("Choose an outline")
    shot(page, "masks_8_compare")


def test_the_keys_are_told_and_the_picture_zooms_and_comes_back(page: Page):
    canvas = page.locator(".mask-canvas canvas")
    canvas.press("?")
    expect(page.locator(".mask-canvas .help")).to_contain_text("Space-drag")
    shot(page, "masks_9_keys")
    canvas.press("?")
    expect(page.locator(".mask-canvas .help")).to_be_hidden()
    for act in ("nearer", "nearer", "whole"):
        tool(page, act).click()
        shot(page, f"masks_zoom_{act}")


def test_masks_are_there_again_when_the_project_is_opened_anew(studio: Studio, page: Page):
    found = masks(studio)
    leave(page)
    studio.kill()
    studio.start()
    page.goto(f"{studio.address}?project={SCENE}")
    expect(page.locator(".object-list .row")).to_have_count(len(found))
    tab(page, "Masks").click()
    expect(page.locator(".mask-canvas .hint")).to_contain_text("Click an object")
    back = masks(studio)
    assert back.keys() == found.keys() and all((back[id] == found[id]).all() for id in found)
    settled(page)
