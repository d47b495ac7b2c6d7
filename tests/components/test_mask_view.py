"""How the mask canvas shows a photograph and its masks: zoom, touch, numbers, outlines; and its menu of segmenters."""

import re
from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
import pytest
from browser.bare_page import Mount, Mounted
from browser.masks import action, canvas, canvas_point, deepest_pixel, hint, largest, near_lower_edge
from browser.watched_page import expect_texts, open_page, press_keys, wait_until
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from pipeline.segmentation import decode_rle, encode_rle

ALPHA = """(canvas, { x, y }) => {
  const k = canvas.width / canvas.getBoundingClientRect().width;
  return canvas.getContext("2d").getImageData(Math.round(x * k), Math.round(y * k), 1, 1).data[3];
}"""


@pytest.fixture
def masks(mount: Mount) -> Mounted:
    masks = mount("blocks", "mask-canvas").keep_twin()
    expect(hint(masks.page)).to_contain_text("Click a mask")
    return masks


def alpha(page: Page, pixel: tuple[float, float], shape: tuple[int, ...]) -> int:
    return canvas(page).evaluate(ALPHA, canvas_point(page, *pixel, shape))


def photo_box(page: Page) -> FloatRect:
    return page.locator(".mask-canvas .photo").bounding_box()


def expect_fitted(page: Page) -> None:
    """Expect that the whole photograph is in the middle of the canvas, as large as it can be."""

    def is_fitted() -> bool:
        box, around = photo_box(page), canvas(page).bounding_box()
        margins = [around["width"] - box["width"], around["height"] - box["height"]]
        middle = [2 * (box["x"] - around["x"]), 2 * (box["y"] - around["y"])]
        return min(map(abs, margins)) < 1 and np.allclose(margins, middle, atol=1)

    wait_until(page, is_fitted)


def test_the_picture_zooms_at_the_pointer_pans_and_is_clicked_where_it_is(masks: Mounted):
    page, (id, mask) = masks.page, largest(masks.masks)
    expect_fitted(page)
    fitted, point = photo_box(page), canvas_point(page, *deepest_pixel(mask), mask.shape)
    around = canvas(page).bounding_box()
    x, y = around["x"] + point["x"], around["y"] + point["y"]
    page.mouse.move(x, y)
    page.mouse.wheel(0, -300)
    wait_until(page, lambda: photo_box(page)["width"] > 1.5 * fitted["width"])
    zoomed = photo_box(page)
    for place, start, size in ((x, "x", "width"), (y, "y", "height")):
        before, after = [(place - box[start]) / box[size] for box in (fitted, zoomed)]
        assert before == pytest.approx(after, abs=0.002), "the pixel under the pointer stays there"
    action(page, "tool:move").click()
    move(page, (x, y), (x + 40, y - 30))
    wait_until(page, lambda: photo_box(page)["x"] == pytest.approx(zoomed["x"] + 40, abs=1))
    assert photo_box(page)["y"] == pytest.approx(zoomed["y"] - 30, abs=1)
    canvas(page).press("v")
    page.keyboard.down(" ")
    move(page, (x, y), (x - 10, y + 20))
    page.keyboard.up(" ")
    wait_until(page, lambda: photo_box(page)["x"] == pytest.approx(zoomed["x"] + 30, abs=1))
    page.mouse.click(x + 30, y - 10)
    expect(hint(page)).to_contain_text(re.compile(f"^{id} "))
    canvas(page).press("f")
    expect_fitted(page)
    action(page, "zoom_in").click()
    wait_until(page, lambda: photo_box(page)["width"] == pytest.approx(1.4 * fitted["width"], rel=0.01))
    press_keys(page, "-", "-", "-")
    expect_fitted(page)
    page.set_viewport_size({"width": 700, "height": 800})
    wait_until(page, lambda: photo_box(page)["width"] < fitted["width"])
    expect_fitted(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    expect_fitted(page)


def move(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def test_masks_are_drawn_where_they_are_stronger_under_the_pointer_and_hidden_by_h(masks: Mounted):
    page, all_masks = masks.page, masks.masks
    id, mask = largest(all_masks)
    inside, shape = deepest_pixel(mask), mask.shape
    for one in all_masks.values():
        wait_until(page, lambda one=one: alpha(page, deepest_pixel(one), shape) > 0)
    assert not alpha(page, deepest_pixel(~np.logical_or.reduce(list(all_masks.values()))), shape)
    plain, record = alpha(page, inside, shape), masks.session.decisions.record
    for act, is_drawn in (
        (lambda: canvas(page).hover(position=canvas_point(page, *inside, shape)), lambda alpha: alpha > plain),
        (lambda: canvas(page).hover(position={"x": 20, "y": 20}), lambda alpha: alpha == plain),
        (lambda: canvas(page).press("h"), lambda alpha: not alpha),
        (lambda: canvas(page).press("h"), lambda alpha: alpha == plain),
        (lambda: record("not_object", id=id, value=True), lambda alpha: 0 < alpha < plain),
        (lambda: record("delete_segment", id=id), lambda alpha: not alpha),
    ):
        act()
        wait_until(page, lambda is_drawn=is_drawn: is_drawn(alpha(page, inside, shape)))


def test_a_resting_pointer_previews_a_click_and_moving_on_clears_it(masks: Mounted):
    page, taken = masks.page, np.logical_or.reduce(list(masks.masks.values()))
    (x, y), square = deepest_pixel(~taken), np.zeros(taken.shape, bool)
    square[round(y) - 9 : round(y) + 9, round(x) - 9 : round(x) + 9] = True
    asked = masks.answer("mask-canvas", {"prompt": {"candidates": [{"rle": encode_rle(square)}]}})
    point = canvas_point(page, x + 5, y + 5, taken.shape)
    canvas(page).press("b")
    canvas(page).hover(position=point)
    canvas(page).press("v")
    canvas(page).hover(position={"x": point["x"] + 2, "y": point["y"]})
    wait_until(page, lambda: alpha(page, (x + 5, y + 5), taken.shape) > 0)
    canvas(page).hover(position={"x": 400, "y": 20})
    wait_until(page, lambda: alpha(page, (x + 5, y + 5), taken.shape) == 0)
    assert len(asked) <= 2 and not asked[0]["rle"] and asked[0]["labels"] == [1]
    expect(hint(page)).to_contain_text("Click a mask")


def test_the_keys_that_hold_are_listed_and_work_everywhere_but_in_fields(mount: Mount):
    masks = mount("blocks", "mask-canvas", "top-bar").keep_twin()
    page, keys = masks.page, masks.page.locator(".shortcuts")
    expect(hint(page)).to_contain_text("Click a mask")
    page.keyboard.press("?")
    expect(keys.locator("h3")).to_have_text(["Masks", "Everywhere"])
    expect(keys).to_contain_text("Space-drag")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.keyboard.press("1")
    for menu in ("files", "segmenters"):
        page.locator(f"[data-menu={menu}] > summary").click()
        page.keyboard.press("Escape")
        expect(page.locator(f"[data-menu={menu}][open]")).to_have_count(0)
        expect(hint(page)).to_contain_text("red ball")  # the menu was closed and the selection left
    page.evaluate("() => document.body.append(document.createElement('input'))")
    page.locator("body > input").press("Delete")
    page.evaluate("() => document.querySelector('#mask-canvas > .own').remove()")
    page.keyboard.press("Delete")
    assert masks.sent == []


def test_another_project_begins_with_the_first_tool_and_no_edit(masks: Mounted):
    page = masks.page
    canvas(page).press("n")
    canvas(page).press("b")
    expect(hint(page)).to_contain_text("Paint its mask")
    masks.set_value("mask-canvas", masks.value("mask-canvas") | {"can_undo": True})
    expect(action(page, "undo")).to_be_enabled()
    expect(hint(page)).to_contain_text("Paint its mask")
    ready = {"name": "depth", "title": "Depth and colour", "state": "ready", "progress": 1, "note": ""}
    status = {"chosen": "depth", "segmenters": [ready]}
    masks.answer("mask-canvas", {"status": status, "prepare": status})
    masks.set_value("mask-canvas", masks.value("mask-canvas") | {"token": "of another"})
    expect(hint(page)).to_contain_text("Click a mask")
    expect(action(page, "tool:add")).to_have_attribute("aria-pressed", "true")


@pytest.fixture
def touch_screen(browser: Browser) -> Iterator[Page]:
    """A page with two pixels per page pixel."""
    with open_page(browser, device_scale_factor=2, has_touch=True) as page:
        yield page


def test_a_dense_touch_screen_has_its_own_pixels_taps_and_two_fingers(touch_screen: Page, mount: Mount):
    page, dense = touch_screen, mount("blocks", "mask-canvas", page=touch_screen)
    id, mask = largest(dense.masks)
    wait_until(page, lambda: alpha(page, deepest_pixel(mask), mask.shape) > 0)
    box = canvas(page).bounding_box()
    assert canvas(page).evaluate("canvas => canvas.width") == pytest.approx(2 * box["width"], abs=2)
    canvas(page).tap(position=canvas_point(page, *deepest_pixel(mask), mask.shape))
    expect(hint(page)).to_contain_text(re.compile(f"^{id} "))
    action(page, "tool:remove").tap()
    canvas(page).tap(position=canvas_point(page, *near_lower_edge(mask), mask.shape))
    expect(hint(page)).to_contain_text("edited")
    action(page, "discard").tap()
    expect(hint(page)).not_to_contain_text("edited")
    text, fitted = hint(page).inner_text(), photo_box(page)
    middle = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    pinch(page, middle)
    wait_until(page, lambda: photo_box(page)["width"] == pytest.approx(3 * fitted["width"], rel=0.02))
    centre = photo_box(page)["x"] + photo_box(page)["width"] / 2
    assert centre == pytest.approx(middle["x"] + 30, abs=3), "the picture follows the fingers"
    assert hint(page).inner_text() == text
    action(page, "fit").click()
    expect_fitted(page)


def pinch(page: Page, middle: dict[str, float]) -> None:
    """Put two fingers down, spread them to three times their distance, and move both 30 px to the right meanwhile."""
    touch = page.context.new_cdp_session(page)
    for kind, half, right in (("touchStart", 40, 0), ("touchMove", 80, 15), ("touchMove", 120, 30), ("touchEnd", 0, 0)):
        points = [{"x": middle["x"] + right + side * half, "y": middle["y"], "id": i} for i, side in enumerate((-1, 1))]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if half else []})


RENDER = """async ([scene, size]) => {
  const { Mask } = await import("/static/mask_canvas/mask.js");
  const { MaskRenderer } = await import("/static/mask_canvas/renderer.js");
  const canvas = Object.assign(document.createElement("canvas"), size), renderer = new MaskRenderer(canvas);
  const masks = new Map(scene.segments.map(({ id, rle }) => [id, { mask: Mask.decode(rle) }]));
  renderer.draw({ picked: new Set() }, { zoom: 1, left: 0, top: 0, ratio: 1, unit: 1, scene, masks });
  return [...renderer.spots];
}"""


def test_numbers_stand_beside_their_masks_off_other_masks_other_numbers_and_the_edge(mount: Mount):
    page, labels = mount("").page, np.zeros((120, 160), int)
    for id, (top, left) in enumerate([(2, 2), (2, 70), (24, 66), (60, 100), (60, 132)], 1):
        labels[top : top + 20, left : left + 26] = id
    segments = [
        {"id": id, "colour": "#e69f00", "is_object": True, "review": "!" * (id == 2), "rle": encode_rle(labels == id)}
        for id in range(1, 6)
    ]
    spots = dict(page.evaluate(RENDER, [{"segments": segments}, {"width": 160, "height": 120}]))
    assert spots.keys() == {1, 2, 3, 4, 5}
    for id, (x, y) in spots.items():
        assert 9 <= x <= 151 and 9 <= y <= 111
        assert labels[int(y), int(x)] in (0, id)
        assert np.hypot(*np.subtract((x, y), np.argwhere(labels == id)[:, ::-1].mean(0))) < 35
    places = np.array(list(spots.values()))
    assert all(np.abs(a - b).max() >= 18 for i, a in enumerate(places) for b in places[:i])


CROSS = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
MASK_LAWS = """async ([rles, strokes, [from, to]]) => {
  const { Mask } = await import("/static/mask_canvas/mask.js");
  const masks = rles.map((rle) => Mask.decode(rle));
  return {
    strokes: masks.map((mask) => strokes.map((stroke) => mask.withStroke(...stroke).encode())),
    parts: masks.map((mask) => mask.splitAlong(from, to).map((part) => part.encode())),
    edges: masks.map((mask) => mask.edge.map((at, i) => at + (i % 2 ? mask.box.top : mask.box.left))),
    centres: masks.map((mask) => mask.centre),
    at: masks.map((mask) => [mask.at(15.9, 10.2), mask.at(-1, 3), mask.at(60, 3)]),
  };
}"""


def test_strokes_splits_edges_and_centres_are_as_defined_and_a_correction_knows_the_clicks_it_agrees_with(mount: Mount):
    bowl, box = np.zeros((2, 40, 60), np.uint8)
    cv2.ellipse(bowl, (30, 12), (18, 14), 0, 10, 170, 1, 5)
    box[10:20, 15:40] = 1
    masks = [bowl > 0, box > 0]
    strokes = [[[5, 30.5], [20, 8], 4, 1], [[5, 30.5], [20, 8], 4, 0], [[58, 2], [58, 2], 5, 1]]
    line = [[28.25, 0], [22.25, 40]]
    page = mount("").page
    found = page.evaluate(MASK_LAWS, [[encode_rle(mask) for mask in masks], strokes, line])
    y, x = np.mgrid[0.5:40.5, 0.5:60.5]
    for mask, painted, parts, edge, (cx, cy), at in zip(masks, *(found[key] for key in found), strict=True):
        for (start, end, radius, value), rle in zip(strokes, painted, strict=True):
            along = np.subtract(end, start)
            t = np.clip(((x - start[0]) * along[0] + (y - start[1]) * along[1]) / (along @ along or 1), 0, 1)
            stroke = np.hypot(x - start[0] - t * along[0], y - start[1] - t * along[1]) <= radius
            assert (decode_rle(rle) == (mask | stroke if value else mask & ~stroke)).all()
        large, small = map(decode_rle, parts)
        assert (large ^ small == mask).all() and large.sum() >= small.sum() > 0
        (ax, ay), (bx, by) = line
        side = (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0
        assert {tuple(np.unique(side[part])) for part in (large, small)} == {(True,), (False,)}
        outline = mask & (cv2.erode(mask.astype(np.uint8), CROSS) == 0)
        assert {tuple(one) for one in np.reshape(edge, (-1, 2))} == {(a, b) for b, a in np.argwhere(outline)}
        pixels = np.argwhere(mask)[:, ::-1]
        distances = np.linalg.norm(pixels - pixels.mean(0), axis=1)
        assert mask[cy, cx] and np.linalg.norm([cx, cy] - pixels.mean(0)) == pytest.approx(distances.min())
        assert at == [mask[10, 15], 0, 0]
    sent: dict[str, Any] = page.evaluate(CLICKS_SENT)
    assert sent["both"] == [12, 30, 14]
    assert sent["afterPainting"] == [16], "another mask was painted, which none of the earlier clicks agrees with"
    assert sent["withBox"] == [[16], None], "a new box starts over"


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
  const afterPainting = sent();
  edit.box = [1, 1, 9, 9];
  return { both, afterPainting, withBox: [sent(), edit.prompt().rle] };
}"""


def states(chosen: str = "depth", **sam2: Any) -> dict[str, Any]:
    plain = {"state": "ready", "progress": 1.0, "note": ""}
    depth = plain | {"name": "depth", "title": "Depth and colour"}
    return {"chosen": chosen, "segmenters": [depth, plain | {"name": "sam2", "title": "SAM 2"} | sam2]}


def menu(page: Page) -> Locator:
    return page.locator("[data-menu=segmenters]")


def test_the_menu_names_every_segmenter_and_compares_them_on_the_selected_object(masks: Mounted):
    page, sheet = masks.page, menu(masks.page).locator(".sheet")
    wait_until(page, lambda: masks.session.segmenters._views)  # before the first click: the masks are seen
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
    assert masks.kinds == []


def test_a_segmenter_is_chosen_watched_stopped_tried_again_and_installed(masks: Mounted):
    page, current = masks.page, states(state="idle", progress=0.0)
    encoding, stopped = [states("sam2", state=state, progress=0.4) for state in ("encoding", "stopped")]
    missing = states(state="missing", note="SAM 2 is not installed.", installable=True)
    follows = {"choose": [encoding, missing], "stop": [stopped], "install": [states(state="installing")]}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal current
        current = follows[request["kind"]].pop(0) if request["kind"] in follows else current
        return current

    asked = masks.answer("mask-canvas", dict.fromkeys(("status", *follows), answer))
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


def test_the_frame_is_segmented_again_with_the_settings_that_are_shown(masks: Mounted):
    page = masks.page
    masks.answer("mask-canvas", {"status": states("sam2"), "choose": states("depth")})
    menu(page).locator("> summary").click()
    menu(page).locator(".settings summary").click()
    expect(menu(page).locator("input[name=points_per_side]")).to_have_value("24")
    menu(page).locator("input[name=points_per_side]").fill("3")
    menu(page).locator("input[name=keep_all]").check()
    action(page, "find").click()
    expect(menu(page).locator(".sheet")).to_be_hidden()
    settings = {"points_per_side": 3, "pred_iou_thresh": 0.7, "stability_score_thresh": 0.9, "box_nms_thresh": 0.7}
    settings |= {"keep_all": True, "use_m2m": False}
    masks.answer("mask-canvas", {"status": states("depth")})
    menu(page).locator("> summary").click()
    expect(menu(page).locator(".settings")).to_be_hidden()
    expect(action(page, "find")).to_have_text("Segment with Depth and colour")
    before = masks.masks
    action(page, "find").click()
    expect(action(page, "undo")).to_be_enabled()
    masks.wait_until_drawn()
    found = {"name": "sam2", "settings": settings}, {"name": "depth", "settings": {}}
    assert masks.sent == [("find", one) for one in found] and masks.kinds == ["found"]
    assert all((masks.masks[id] == mask).all() for id, mask in before.items()), "the same objects with the same numbers"
