"""The viewer's page alone, on small models."""

import json
import re
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from browser.app_page import NEXT_DRAWN_FRAME, on_screen
from browser.bare_page import BareStudio
from browser.watched_page import expect_texts, press_keys, wait_until
from mujoco import MjModel
from PIL import Image
from playwright.sync_api import Page, expect

from pipeline.scene.splats.splat_cloud import make_splats
from studio.viewer import Mark, PhotoCamera, Photograph, Presentation, Trajectory, ViewSession
from tests.viewer.test_motion import CABINET

pytestmark = pytest.mark.usefixtures("small_page")
Show = Callable[..., ViewSession]


@pytest.fixture
def show(studio: BareStudio, page: Page, model: MjModel) -> Show:
    def show(shown: MjModel = model, **options: Any) -> ViewSession:
        token = studio.views.open(shown, **options)
        page.goto(f"{studio.address}viewer/#{token}")
        page.wait_for_selector("body[data-state=showing]")
        return studio.views.get(token)

    return show


def steady(page: Page, read: Callable[[], Any]) -> Any:
    """Return a value once it is the same at two readings, 100 ms apart."""
    readings = [read()]

    def is_steady() -> bool:
        page.wait_for_timeout(50)
        readings.append(read())
        return readings[-1] == readings[-2]

    wait_until(page, is_steady)
    return readings[-1]


def pixels(page: Page) -> np.ndarray:
    """Return the page's pixels (H, W, 3), int, once they no longer change."""
    page.evaluate(NEXT_DRAWN_FRAME)
    return np.asarray(Image.open(BytesIO(steady(page, page.screenshot))).convert("RGB")).astype(int)


def changed(page: Page, before: np.ndarray) -> float:
    return float((np.abs(pixels(page) - before).sum(-1) > 60).mean())


def body(session: ViewSession, name: str) -> np.ndarray:
    poses = np.frombuffer(session.snapshot, "<f4", 14, 32).reshape(2, 7)
    return poses[session.names.index(name), :3].astype(float)


def recording(model: MjModel, seconds: float = 2.0) -> Trajectory:
    """Return a recording in which the red cube moves to the right, 10 cm a second."""
    times = np.linspace(0, seconds, 101)
    qpos = np.tile(model.qpos0, (101, 1))
    qpos[:, 0] += times / 10
    return Trajectory(times, qpos)


def test_the_first_picture_shows_the_twin_which_is_orbited_by_dragging_and_by_keys(page: Page, show: Show):
    show()
    before = pixels(page)
    red = (before[..., 0] > 1.6 * before[..., 1]) & (before[..., 0] > 1.6 * before[..., 2]) & (before[..., 0] > 60)
    assert red.sum() > 400, "no red cube to be seen"
    press_keys(page, *"[[[")
    assert changed(page, before) > 0.1
    press_keys(page, *"]]]")
    assert changed(page, before) < 0.05, "turned back"
    page.mouse.move(480, 560)
    page.mouse.down()
    page.mouse.move(300, 520, steps=4)
    page.mouse.up()
    assert changed(page, before) > 0.05
    page.keyboard.press("1")
    upright = pixels(page)
    page.keyboard.press("g")
    expect(page.locator("#collision")).to_have_attribute("aria-pressed", "true")
    for key, is_shown in (("?", True), ("Escape", False)):
        page.keyboard.press(key)
        expect(page.locator("#help")).to_be_visible(visible=is_shown)
    page.keyboard.press("g")
    assert changed(page, upright) < 0.005


def test_splats_are_drawn_in_place_of_the_mesh_of_an_object_until_L_is_pressed(page: Page, show: Show):
    blue = make_splats(
        np.random.default_rng(1).uniform(-0.03, 0.03, (4000, 3)), np.full((4000, 3), 0.002),
        np.tile([0.0, 0, 1, 1], (4000, 1)), np.tile([1.0, 0, 0, 0], (4000, 1)),
    )  # fmt: skip
    picture = Photograph(np.zeros((48, 64, 3), np.uint8), splats=[("red_cube", blue.tobytes), ("nothing", bytes)])
    show(photo=picture)
    expect(page.locator("#splats")).to_be_visible()

    def red() -> int:
        seen = pixels(page)
        return int(((seen[..., 0] > 1.6 * seen[..., 2]) & (seen[..., 0] > 60)).sum())

    wait_until(page, lambda: red() < 50)
    page.keyboard.press("l")
    assert red() > 400, "the mesh again"


def test_play_pause_step_and_reset_by_buttons_and_keys(page: Page, show: Show, model: MjModel):
    session = show()
    page.get_by_role("button", name="Play").click()
    wait_until(page, lambda: session.time > 0.2)
    page.get_by_role("button", name="Pause").click()
    wait_until(page, lambda: not session.playing)
    held = steady(page, lambda: session.time)
    page.keyboard.press(".")
    wait_until(page, lambda: session.time > held)
    assert session.time == pytest.approx(held + model.opt.timestep)
    expect(page.locator("#clock")).to_have_text(f"{session.time:.2f} s")
    page.locator("#speed").select_option("5")
    wait_until(page, lambda: json.loads(session.status)["speed"] == 5)
    page.locator("#canvas").press("c")
    expect(page.locator("#contacts")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("r")
    wait_until(page, lambda: session.time == 0)
    page.keyboard.press("Space")
    wait_until(page, lambda: session.playing)


def test_a_recording_shows_when_a_check_failed_what_it_measured_and_seeks_there(page: Page, show: Show, model: MjModel):
    hold = Mark(1.5, "hangs in the air", "failed", "blue_ball", "check_on_top")
    quantity = {"label": "height", "unit": "cm", "times": [0, 1, 2], "values": [3.0, 0.0, 12.0], "tolerance": 1.0}
    check = {"name": "check_on_top", "passed": False, "quantity": quantity | {"tolerance": None}}
    measures = {"goals": [{"name": "red on blue", "met": False, "quantity": quantity}], "checks": [check]}
    session = show(trajectory=recording(model))
    session.present(Presentation((Mark(0.4, "picks red_cube"), hold), hold, False, measures))
    failed = page.locator("#marks .failed")
    expect(failed).to_have_attribute("title", "1.50 s: hangs in the air")
    expect_texts(page, {"#marks b": ["◆", "✕"], "#kind": "recording", "#labels .note": "✕ hangs in the air"})
    expect(page.locator("body")).to_have_attribute("data-held", "check_on_top")
    left = [float(mark.evaluate("mark => parseFloat(mark.style.left)")) for mark in page.locator("#marks b").all()]
    assert left == pytest.approx([20, 75])
    expect(page.locator("#thumb")).to_have_attribute("style", "left: 75%;")
    page.locator("#bands canvas").hover()
    expect(page.locator("#measure")).to_have_text("height · 12 cm at the end · tolerance 1 cm")
    failed.hover()
    expect(page.locator("#measure")).to_have_text("height · 12 cm at the end ")
    expect(page.locator("#bands canvas")).to_have_attribute("title", "red on blue: not met at the end")
    alpha = "band => [0.1, 0.75].map(x => band.getContext('2d').getImageData(x * band.width, 0, 1, 1).data[3])"
    missed, met = page.locator("#bands canvas").evaluate(alpha)
    assert missed < met == 255, "solid where the goal is met"
    page.mouse.move(400, 200)
    expect(page.locator("#measure")).to_be_hidden()
    page.keyboard.press("End")
    wait_until(page, lambda: session.time == 2)
    expect(page.locator("#labels .note")).to_be_hidden()
    track, keys = page.locator("#track").bounding_box(), page.keyboard
    seek = lambda x: page.mouse.click(track["x"] + x, track["y"] + track["height"] / 2)  # noqa: E731
    for act, seconds in (
        (lambda: seek(0.2 * track["width"] + 5), 0.4),  # of the mark beside it
        (failed.click, 1.5), (lambda: seek(0.6 * track["width"]), 1.2), (lambda: keys.press("ArrowRight"), 1.3),
        (lambda: keys.press("Home"), 0),
    ):  # fmt: skip
        act()
        wait_until(page, lambda seconds=seconds: session.time == pytest.approx(seconds, abs=0.03))


def test_the_twin_lies_over_the_photograph_to_the_pixel(page: Page, show: Show, model: MjModel):
    session = show(photo=Photograph(np.full((480, 640, 3), (20, 200, 20), np.uint8)))
    page.keyboard.press("4")
    page.locator("#blend").fill("100")
    camera, cube = PhotoCamera.from_model(model), body(session, "red_cube")
    page.mouse.click(*on_screen(page.locator("#canvas"), camera, cube))
    page.wait_for_selector("body[data-selected=red_cube]")
    page.mouse.move(480, 660)
    image = pixels(page)
    rows, columns = np.nonzero(np.abs(image - [255, 210, 74]).sum(-1) < 12)
    chip = page.locator("#labels .selected").bounding_box()
    below = rows > chip["y"] + chip["height"] + 1
    corners = cube + 0.03 * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    expected = np.array([on_screen(page.locator("#canvas"), camera, corner) for corner in corners])
    assert columns.min() + 2.5 == pytest.approx(expected[:, 0].min(), abs=1.6)
    assert columns.max() - 1.5 == pytest.approx(expected[:, 0].max(), abs=1.6)
    assert rows[below].max() - 1.5 == pytest.approx(expected[:, 1].max(), abs=1.6)
    page.locator("#blend").fill("0")
    x, y = on_screen(page.locator("#canvas"), camera, cube).astype(int)
    assert np.abs(pixels(page)[y, x] - [20, 200, 20]).max() < 3, "only the photograph is left"
    page.locator("#canvas").press("e")
    expect(page.locator("[data-compare=edges]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#blend")).to_be_disabled()
    edges = pixels(page)
    assert np.abs(edges[y, x] - [20, 200, 20]).max() < 3, "the photograph within the outlines"
    assert (np.abs(edges - [255, 210, 74]).sum(-1) < 30).sum() > 100, "outlines in the object's colour"
    page.keyboard.press("v")
    photo = page.locator("#photo")
    wait_until(page, lambda: photo.bounding_box()["width"] <= 480)  # beside the twin
    width = photo.bounding_box()["width"]
    page.mouse.move(720, 300)
    page.mouse.wheel(0, -400)
    wait_until(page, lambda: photo.bounding_box()["width"] > 1.5 * width)
    press_keys(page, "v", "b")
    expect(page.locator("#blink")).to_have_attribute("aria-pressed", "true")
    for shown in (0, 1, 0):
        expect(page.locator("#canvas")).to_have_css("opacity", str(shown))
    page.keyboard.press("1")
    expect(page.locator("#compare")).to_be_hidden()
    expect(page.locator("body")).to_have_attribute("data-view", "free")


def test_dragging_with_the_push_tool_moves_the_object(page: Page, show: Show, model: MjModel):
    session = show()
    page.keyboard.press("4")
    page.get_by_role("button", name="Push").click()
    camera, before = PhotoCamera.from_model(model), body(session, "red_cube")
    page.mouse.move(*on_screen(page.locator("#canvas"), camera, before))
    page.locator("#labels .hovered").filter(has_text="red cube").wait_for()
    page.mouse.down()
    page.mouse.move(*on_screen(page.locator("#canvas"), camera, before + np.array([0.1, -0.05, 0])), steps=6)
    wait_until(page, lambda: body(session, "red_cube")[0] > before[0] + 0.05)
    page.mouse.up()
    wait_until(page, lambda: not session._motion._pushing)
    assert body(session, "red_cube")[2] < 0.06, "pushed over the table, not lifted"
    expect(page.locator("body")).to_have_attribute("data-selected", "")  # a drag selects nothing


def test_objects_are_selected_by_keys_and_arrow_keys_arrange_a_layout(page: Page, show: Show, model: MjModel):
    session = show(layout=model.qpos0)
    expect(page.locator("#kind")).to_have_text("Goal layout")
    page.keyboard.press("n")
    expect(page.locator("#announcement")).to_have_text("red cube selected")
    press_keys(page, "n", "n", "Shift+n")
    page.wait_for_selector("body[data-selected=blue_ball]")
    current = page.locator("#objects [aria-current=true]")
    expect(current).to_have_text("blue ball", use_inner_text=False)
    expect(page.locator("#canvas")).to_have_attribute("aria-activedescendant", current.get_attribute("id"))
    before = body(session, "blue_ball")
    page.keyboard.press("Shift+ArrowRight")
    wait_until(page, lambda: session.dragged_positions)
    assert session.dragged_positions["blue_ball"] == pytest.approx([before[0] + 0.1, before[1]], abs=1e-3)
    page.keyboard.press("Escape")
    expect(page.locator("#announcement")).to_have_text("Nothing selected")


def test_a_drawer_is_opened_by_its_slider_once_its_cabinet_is_selected(page: Page, show: Show):
    ball = '<body name="ball" pos=".4 .4 .1"><freejoint/><geom size=".03"/></body></worldbody>'
    session = show(MjModel.from_xml_string(CABINET.replace("</worldbody>", ball)))
    panel = page.get_by_role("group", name="Joints of the selected object")
    expect(panel).to_be_hidden()
    page.keyboard.press("n")
    drawer = panel.locator("label").first
    expect(drawer).to_have_text(re.compile("drawer slide.*0.0 cm", re.DOTALL))
    expect(drawer).to_have_attribute("title", "drawer slide: slides from -1.0 cm to 15.0 cm")
    drawer.get_by_role("slider").fill("0.12")
    wait_until(page, lambda: json.loads(session.status)["joints"][0] == pytest.approx(0.12, abs=1e-3))
    expect(drawer).to_contain_text("12.0 cm")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


def test_grasps_of_the_selected_object_are_drawn_and_say_why_they_were_dropped(page: Page, show: Show):
    above = np.array([[1.0, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0.02], [0, 0, 0, 1]])
    (aside := above.copy())[2, 3] = 0.08
    found = [{"pose": above.ravel().tolist(), "opening": 0.07, "reason": ""}]
    found.append({"pose": aside.ravel().tolist(), "opening": 0.16, "reason": "too wide: 16.0 cm"})
    show(grasps=lambda name: found if name == "red_cube" else [])
    page.get_by_role("button", name="Grasps").click()
    expect(page.locator("#notice")).to_have_text("Select an object to see its grasps.")
    page.keyboard.press("2")
    expect(page.locator("body")).to_have_attribute("data-view", "top")
    shown = pixels(page)
    row, column = np.argwhere((shown[..., 0] > 1.6 * shown[..., 1]) & (shown[..., 0] > 90)).mean(0)
    page.mouse.click(float(column), float(row))
    expect(page.locator("body")).to_have_attribute("data-grasps", "1 1")
    green, red = (np.argwhere(np.abs(pixels(page) - colour).sum(-1) < 60) for colour in ((53, 196, 106), (229, 84, 63)))
    assert len(green) and len(red)
    for glyph, words in ((green, "✓ Grasp"), (red, "✕ too wide: 16.0 cm")):
        row, column = map(float, glyph[len(glyph) // 2])
        page.mouse.move(column, row)
        expect(page.locator("#grasp-reason")).to_have_text(words)
    page.keyboard.press("k")
    expect(page.locator("body")).not_to_have_attribute("data-grasps", "1 1")
