"""The mask canvas on other screens (4k, dense pixels, touch), and the preview of a click."""

import json
from collections.abc import Iterator
from pathlib import Path

import cv2
import pytest
from browser.app_page import (
    LONG,
    OpenProject,
    action,
    canvas,
    canvas_point,
    click,
    deepest_pixel,
    hint,
    largest,
    near_lower_edge,
    open_masks,
    rows,
    screenshot,
)
from browser.studio_process import Studio
from browser.watched_page import open_page
from playwright.sync_api import Browser, Page, Position, expect

SCENE = "blocks"
SAMPLE = Path(__file__).parents[2] / "sample_scenes" / SCENE
LARGE = (3840, 2160)
FILES = ("rgb.png", "depth.png", "camera.json")
HAS_COVER = """([{ x, y }, covered]) => {
  const canvas = document.querySelector(".mask-canvas canvas"), k = canvas.width / canvas.getBoundingClientRect().width;
  const alpha = canvas.getContext("2d").getImageData(Math.round(x * k), Math.round(y * k), 1, 1).data[3];
  return covered ? alpha > 0 : alpha === 0;
}"""
"""Whether something is drawn on the canvas at a point of the page."""


@pytest.fixture
def dense(project: OpenProject, browser: Browser) -> Iterator[OpenProject]:
    """The project on a touch screen with two pixels per page pixel, with the Masks page open."""
    with open_page(browser, device_scale_factor=2, has_touch=True) as page:
        opened = OpenProject(project.studio, page, project.name)
        opened.reopen()
        open_masks(page)
        yield opened


def alpha_at(page: Page, point: Position) -> int:
    """The canvas's alpha at a point of the page."""
    return canvas(page).evaluate(
        "(canvas, { x, y }) => { const k = canvas.width / canvas.getBoundingClientRect().width;"
        "return canvas.getContext('2d').getImageData(Math.round(x * k), Math.round(y * k), 1, 1).data[3]; }",
        point,
    )


def test_a_dense_screen_gets_a_canvas_of_its_own_pixels(dense: OpenProject):
    page = dense.page
    box = canvas(page).bounding_box()
    assert box and abs(canvas(page).evaluate("canvas => canvas.width") - 2 * box["width"]) <= 2
    for mask in dense.masks.values():
        assert alpha_at(page, canvas_point(page, *deepest_pixel(mask), mask.shape)) > 0
    screenshot(page, "screens_1_dense")


def test_a_tap_selects_and_the_remove_tool_takes_pixels_away(dense: OpenProject):
    page, masks = dense.page, dense.masks
    id, mask = largest(masks)
    canvas(page).tap(position=canvas_point(page, *deepest_pixel(mask), mask.shape))
    expect(page.locator(".object-list .row.selected")).to_have_attribute("data-id", str(id))
    remove = action(page, "tool:remove")
    expect(remove).to_be_visible()
    remove.tap()
    canvas(page).tap(position=canvas_point(page, *near_lower_edge(mask), mask.shape))
    expect(hint(page)).to_contain_text("edited")
    screenshot(page, "screens_2_remove")
    action(page, "discard").tap()
    action(page, "tool:add").tap()
    assert (dense.masks[id] == mask).all()


def test_two_fingers_zoom_and_pan_the_picture_and_click_nothing(dense: OpenProject):
    page = dense.page
    photo = page.locator(".mask-canvas .photo")
    fitted, text = photo.get_attribute("style") or "", hint(page).inner_text()
    box = canvas(page).bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)

    def fingers(kind: str, apart: float, dx: float = 0) -> None:
        points = [{"x": x + dx + side * apart, "y": y, "id": i} for i, side in enumerate((-1, 1))]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if kind == "touchEnd" else points})

    fingers("touchStart", 40)
    for i in range(1, 6):
        fingers("touchMove", 40 + 16 * i, 8 * i)
    fingers("touchEnd", 0)
    expect(photo).not_to_have_attribute("style", fitted)
    assert hint(page).inner_text() == text
    screenshot(page, "screens_3_pinched")
    action(page, "fit").tap()
    expect(photo).to_have_attribute("style", fitted)


def test_a_resting_pointer_previews_a_click_and_moving_on_clears_it(project: OpenProject):
    page, masks = project.page, project.masks
    open_masks(page)
    id, mask = min(masks.items(), key=lambda item: int(item[1].sum()))
    point = canvas_point(page, *deepest_pixel(mask), mask.shape)
    canvas(page).press(str(id))
    canvas(page).press("Delete")
    expect(rows(page)).to_have_count(len(masks) - 1)
    expect(action(page, "undo")).to_be_enabled()
    canvas(page).press("Escape")
    box = canvas(page).bounding_box()
    assert box
    page.mouse.move(box["x"] + point["x"], box["y"] + point["y"])
    page.wait_for_function(HAS_COVER, arg=[point, True])
    screenshot(page, "screens_4_preview")
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.wait_for_function(HAS_COVER, arg=[point, False])
    canvas(page).press("z")
    expect(rows(page)).to_have_count(len(masks))


def test_a_4k_frame_is_shown_whole_and_clicked_to_the_pixel(studio: Studio, page: Page, tmp_path: Path):
    camera = json.loads((SAMPLE / "camera.json").read_text())
    scale = LARGE[0] / camera["width"], LARGE[1] / camera["height"]
    for name, how in (("rgb.png", cv2.INTER_CUBIC), ("depth.png", cv2.INTER_NEAREST)):
        picture = cv2.imread(str(SAMPLE / name), cv2.IMREAD_UNCHANGED)
        assert picture is not None
        cv2.imwrite(str(tmp_path / f"large_{name}"), cv2.resize(picture, LARGE, interpolation=how))
    factor = {"fx": scale[0], "cx": scale[0], "fy": scale[1], "cy": scale[1]}
    camera |= {key: camera[key] * by for key, by in factor.items()} | dict(zip(("width", "height"), LARGE, strict=True))
    (tmp_path / "large_camera.json").write_text(json.dumps(camera))
    page.goto(studio.address)
    page.locator("#drop input[type=file]").set_input_files([tmp_path / f"large_{name}" for name in FILES])
    expect(rows(page).first).to_be_visible(timeout=LONG)
    assert "?project=large&" in page.url, "named after what the three files have in common"
    open_masks(page)
    id, mask = largest(OpenProject(studio, page, "large").masks)
    assert mask.shape == LARGE[::-1]
    click(page, deepest_pixel(mask), mask.shape)
    expect(page.locator(".object-list .row.selected")).to_have_attribute("data-id", str(id))
    screenshot(page, "screens_5_large")
