"""The mask canvas on other screens (4k, dense pixels, fingers), and what a click would take before it is made."""

import json
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
from conftest import PLAIN, Studio, watched
from playwright.sync_api import Browser, Page, expect
from test_masks import click, masks, middle, spot, tool
from test_studio import shot, tab

SAMPLE = Path(__file__).parents[2] / "sample_scenes" / "blocks"
LARGE = (3840, 2160)


def opened(page: Page, studio: Studio, name: str = "blocks") -> None:
    page.goto(f"{studio.address}?project={name}")
    expect(page.locator(".object-list .row").first).to_be_visible()
    tab(page, "Masks").click()
    expect(page.locator(".mask-canvas .hint")).to_contain_text("Click an object")


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    return PLAIN


@pytest.fixture(scope="module", autouse=True)
def sample(studio: Studio, page: Page) -> None:
    page.goto(studio.address)
    page.locator(".gallery [data-name=blocks]").first.click()
    expect(page.locator(".object-list .row").first).to_be_visible()


@pytest.fixture(scope="module")
def dense(studio: Studio, browser: Browser, sample: None) -> Iterator[Page]:
    """A touch screen with two pixels to a page's pixel."""
    with watched(browser, device_scale_factor=2, has_touch=True) as page:
        opened(page, studio)
        yield page


def painted(page: Page, place: dict) -> list[int]:
    """Red, green, blue and cover of the canvas at a place of the page."""
    return page.locator(".mask-canvas canvas").evaluate(
        "(canvas, { x, y }) => { const k = canvas.width / canvas.getBoundingClientRect().width;"
        "return [...canvas.getContext('2d').getImageData(Math.round(x * k), Math.round(y * k), 1, 1).data]; }",
        place,
    )


def test_a_dense_screen_gets_a_canvas_of_its_own_pixels(dense: Page, studio: Studio):
    canvas = dense.locator(".mask-canvas canvas")
    box = canvas.bounding_box()
    assert box and abs(canvas.evaluate("canvas => canvas.width") - 2 * box["width"]) <= 2
    for mask in masks(studio).values():
        assert painted(dense, spot(dense, *middle(mask), mask.shape))[3] > 0
    shot(dense, "screens_1_dense")


def test_a_tap_picks_a_tap_adds_and_the_minus_tool_takes_away(dense: Page, studio: Studio):
    found = masks(studio)
    id, mask = max(found.items(), key=lambda one: one[1].sum())
    canvas = dense.locator(".mask-canvas canvas")
    canvas.tap(position=spot(dense, *middle(mask), mask.shape))
    expect(dense.locator(".object-list .row.selected")).to_have_attribute("data-id", str(id))
    minus = tool(dense, "tool:remove")
    expect(minus).to_be_visible()
    minus.tap()
    depth = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    ys, xs = np.nonzero((depth > 3) & (depth < 5))
    canvas.tap(position=spot(dense, float(xs[ys.argmax()]), float(ys.max()), mask.shape))
    expect(dense.locator(".mask-canvas .hint")).to_contain_text("changed")
    shot(dense, "screens_2_minus")
    tool(dense, "clear").tap()
    tool(dense, "tool:add").tap()
    assert (masks(studio)[id] == mask).all()


def test_two_fingers_zoom_and_move_the_picture_and_click_nothing(dense: Page):
    canvas = dense.locator(".mask-canvas canvas")
    photo, before = dense.locator(".mask-canvas .photo"), dense.locator(".mask-canvas .photo").get_attribute("style")
    hint = dense.locator(".mask-canvas .hint").inner_text()
    box = canvas.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = dense.context.new_cdp_session(dense)

    def fingers(kind: str, apart: float, dx: float = 0) -> None:
        points = [{"x": x + dx + side * apart, "y": y, "id": i} for i, side in enumerate((-1, 1))]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [] if kind == "touchEnd" else points})

    fingers("touchStart", 40)
    for i in range(1, 6):
        fingers("touchMove", 40 + 16 * i, 8 * i)
    fingers("touchEnd", 0)
    expect(photo).not_to_have_attribute("style", before or "")
    assert dense.locator(".mask-canvas .hint").inner_text() == hint
    shot(dense, "screens_3_pinched")
    tool(dense, "whole").tap()
    expect(photo).to_have_attribute("style", before or "")


def test_resting_shows_what_a_click_would_take_and_moving_on_forgets_it(page: Page, studio: Studio):
    opened(page, studio)
    found = masks(studio)
    id, mask = min(found.items(), key=lambda one: one[1].sum())
    canvas, place = page.locator(".mask-canvas canvas"), spot(page, *middle(mask), mask.shape)
    canvas.press(str(id))
    canvas.press("Delete")
    expect(page.locator(".object-list .row")).to_have_count(len(found) - 1)
    page.wait_for_function("() => !document.querySelector(\"[data-act='back']\").disabled")
    canvas.press("Escape")
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + place["x"], box["y"] + place["y"])
    page.wait_for_function(LOOKS, arg=[place, 0])
    shot(page, "screens_4_preview")
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.wait_for_function(LOOKS, arg=[place, -1])
    canvas.press("z")
    expect(page.locator(".object-list .row")).to_have_count(len(found))


LOOKS = """([{ x, y }, least]) => {
  const canvas = document.querySelector(".mask-canvas canvas"), k = canvas.width / canvas.getBoundingClientRect().width;
  const cover = canvas.getContext("2d").getImageData(Math.round(x * k), Math.round(y * k), 1, 1).data[3];
  return least < 0 ? cover === 0 : cover > least;
}"""


def test_a_4k_frame_is_shown_whole_and_clicked_to_the_pixel(studio: Studio, browser: Browser, tmp_path: Path):
    camera = json.loads((SAMPLE / "camera.json").read_text())
    scale = LARGE[0] / camera["width"], LARGE[1] / camera["height"]
    for name, how in (("rgb.png", cv2.INTER_CUBIC), ("depth.png", cv2.INTER_NEAREST)):
        picture = cv2.imread(str(SAMPLE / name), cv2.IMREAD_UNCHANGED)
        cv2.imwrite(str(tmp_path / f"large_{name}"), cv2.resize(picture, LARGE, interpolation=how))
    factor = {"fx": scale[0], "cx": scale[0], "fy": scale[1], "cy": scale[1]}
    camera |= {key: camera[key] * by for key, by in factor.items()} | dict(zip(("width", "height"), LARGE, strict=True))
    (tmp_path / "large_camera.json").write_text(json.dumps(camera))
    with watched(browser) as page:
        page.goto(studio.address)
        page.locator("#drop input[type=file]").set_input_files([tmp_path / f"large_{n}" for n in FILES])
        expect(page.locator(".object-list .row").first).to_be_visible()
        assert page.url.endswith("?project=large"), "named after what the three files have in common"
        tab(page, "Masks").click()
        expect(page.locator(".mask-canvas .hint")).to_contain_text("Click an object")
        found = masks(studio, "large")
        id, mask = max(found.items(), key=lambda one: one[1].sum())
        assert mask.shape == LARGE[::-1]
        click(page, middle(mask), mask.shape)
        expect(page.locator(".object-list .row.selected")).to_have_attribute("data-id", str(id))
        shot(page, "screens_5_large")


FILES = ("rgb.png", "depth.png", "camera.json")
