"""The viewer's page alone, on small models, and two of them in the frames that the studio puts around them."""

import json
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import pytest
from browser.app_page import NEXT_DRAWN_FRAME, on_screen
from browser.bare_page import BareStudio, Mount, Mounted
from browser.watched_page import expect_texts, press_buttons, press_keys, wait_until
from mujoco import MjModel
from PIL import Image
from playwright.sync_api import Page, expect
from scipy.spatial.transform import Rotation

from components.viewer import viewer_value
from pipeline.scene.splats.splat_cloud import make_splats
from studio.sessions.recorded_frame import RecordedFrame
from studio.viewer import Mark, PhotoCamera, Photograph, Presentation, Trajectory, ViewSession
from tests.viewer.test_motion import CABINET

TWIN = """
<mujoco>
  <option timestep="0.002" integrator="implicitfast" jacobian="dense"/>
  <worldbody>
    <geom type="box" size=".5 .4 .02" pos="0 0 -.02" rgba=".6 .55 .5 1"/>
    <camera name="photo" pos=".05 -.6 .55" xyaxes="1 0 0 0 .68 .73" resolution="640 480" sensorsize=".0064 .0048"
            focalpixel="600 590" principalpixel="25 -18"/>
    <body name="red_cube" pos="-.12 0 .03">
      <freejoint/><geom type="box" size=".03 .03 .03" mass=".1" rgba=".7 .2 .2 1"/>
    </body>
    <body name="blue_ball" pos=".1 .05 .2"><freejoint/><geom type="sphere" size=".03" mass=".1"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def model() -> MjModel:
    return MjModel.from_xml_string(TWIN)


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """A small page, in which a picture takes less time."""
    page.set_viewport_size({"width": 960, "height": 680})
    yield page
    page.set_viewport_size({"width": 1280, "height": 800})


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


# In the studio's frame

LISTEN = "() => (window.heard = [], addEventListener('message', ({ data }) => heard.push(data)))"


def frames(mounted: Mounted) -> list[Any]:
    return [mounted.page.frame_locator(f"#{id} iframe") for id in ("round", "beside")]


def post(page: Page, **message: Any) -> None:
    page.evaluate("message => document.querySelector('iframe').contentWindow.postMessage(message, '*')", message)


def heard(page: Page, kind: str, field: str) -> list[Any]:
    return [message[field] for message in page.evaluate("heard") if message["type"] == kind]


def test_a_selection_goes_from_the_viewer_to_python_and_back(mount: Mount, model: MjModel):
    mounted = mount("", "round")
    page, inside, token = mounted.page, frames(mounted)[0], mounted.studio.views.open(model)
    mounted.set_value("round", viewer_value(token, "blue_ball", {"blue_ball": "#00ffff"}, {"blue_ball": "the ball"}))
    expect(inside.locator("body")).to_have_attribute("data-selected", "blue_ball")
    expect(inside.locator("#labels .selected")).to_have_text("the ball")
    expect(inside.locator("#labels .selected")).to_have_attribute("style", re.compile("00ffff"))
    inside.locator("[data-view=photo]").click()
    point = on_screen(inside.locator("#canvas"), PhotoCamera.from_model(model), [-0.12, 0, 0.03])
    page.mouse.click(*point)
    expect(inside.locator("body")).to_have_attribute("data-selected", "red_cube")
    wait_until(page, lambda: mounted.sent)
    ((name, message),) = mounted.sent
    assert (name, message["value"], message["selected"]) == ("select", "red_cube", True)
    for selected in ("", "red_cube", "blue_ball"):
        facts = {"about": ["blue_ball"], "caption": f"On {selected}"}
        mounted.set_value("round", viewer_value(token, selected) | facts)
        expect(inside.locator("#caption")).to_have_text(f"On {selected}")
        shown = selected.replace("red_cube", "")  # not about it
        expect(inside.locator("body")).to_have_attribute("data-selected", shown)
    mounted.set_value("round", viewer_value(token) | {"hidden": True})
    expect(page.locator("#round iframe")).to_be_hidden()


PLAYS_AGAIN = """(body) => new Promise((done) => {
  new MutationObserver(() => body.classList.contains("playing") && done(true)).observe(body, { attributes: true });
  setTimeout(() => setTimeout(() => done(false), 1500), 1500);
})"""
"""Whether a recording begins again within two of the viewer's pauses between recordings."""


def test_a_viewer_is_loaded_by_what_leads_to_it_and_presents_a_recording_in_a_loop(mount: Mount, model: MjModel):
    mounted = mount("", "round", "task-text")
    page, inside, views = mounted.page, frames(mounted)[0], mounted.studio.views
    mounted.set_value("round", viewer_value("") | {"empty": "Nothing was solved", "loads_with": "#task-text"})
    expect(page.locator("#round .viewer-empty")).to_have_text("Nothing was solved")
    expect(page.locator("#round iframe")).to_be_hidden()
    page.locator("#task-text textarea").focus()
    expect(inside.locator("body")).to_have_attribute("data-state", "waiting")
    token = views.open(model, trajectory=recording(model, 0.5))
    session = views.get(token)
    mounted.set_value("round", viewer_value(token, "red_cube") | {"presents": True})
    wait_until(page, lambda: 0 < session.time < 0.5)
    wait_until(page, lambda: session.time == 0.5)
    wait_until(page, lambda: 0 < session.time < 0.5)  # again
    expect(inside.locator("body")).to_have_attribute("data-selected", "")
    page.locator("#bare").evaluate("part => part.inert = true")  # another page covers it
    wait_until(page, lambda: session.time == 0.5 and not session.playing)
    expect(inside.locator("body")).not_to_have_class(re.compile("playing"))
    assert not inside.locator("body").evaluate(PLAYS_AGAIN)


def test_viewers_of_one_kind_move_their_cameras_together(mount: Mount, model: MjModel):
    mounted = mount("", "round", "beside")
    page, (left, right) = mounted.page, frames(mounted)
    page.evaluate(LISTEN)
    for id, one in zip(("round", "beside"), (left, right), strict=True):
        token = mounted.studio.views.open(model, trajectory=recording(model))
        mounted.set_value(id, viewer_value(token) | {"cameras": "rounds"})
        expect(one.locator("body")).to_have_attribute("data-state", "showing")
    before = steady(page, right.locator("#canvas").screenshot)
    left.locator("#canvas").press("[")
    wait_until(page, lambda: right.locator("#canvas").screenshot() != before)
    assert heard(page, "camera", "position")


FOLLOW = """(tokens) => {
  const viewer = document.querySelector("iframe.viewer-frame").contentWindow;
  for (const token of tokens) viewer.postMessage({ type: "load", token, caption: `of ${token}`, wait: 0 }, "*");
}"""


def test_views_that_follow_each_other_are_drawn_before_the_newest_takes_their_place(mount: Mount, model: MjModel):
    mounted = mount("", "round")
    first, second, third, fourth = (mounted.studio.views.open(model) for _ in range(4))
    page, inside = mounted.page, frames(mounted)[0]
    mounted.set_value("round", viewer_value(first))
    expect(inside.locator("body")).to_have_attribute("data-state", "showing")
    page.evaluate(LISTEN)
    page.evaluate(FOLLOW, [second, third, fourth])
    wait_until(page, lambda: fourth in heard(page, "loaded", "token"))
    assert heard(page, "loaded", "token") == [second, fourth]
    expect(inside.locator("#caption")).to_have_text(f"of {fourth}")


def test_an_object_is_adjusted_by_arrow_keys_and_previewed_from_outside(mount: Mount, model: MjModel):
    mounted = mount("", "round")
    page, inside = mounted.page, frames(mounted)[0]
    mounted.set_value("round", viewer_value(mounted.studio.views.open(model), "red_cube"))
    expect(inside.locator("body")).to_have_attribute("data-selected", "red_cube")
    expect(inside.locator("#adjust")).to_be_hidden()
    post(page, type="adjustable", on=True)
    expect(inside.locator("#adjust")).to_be_visible()
    page.evaluate(LISTEN)
    canvas = inside.locator("#canvas")

    def states_after(count: int, *keys: str) -> list[Any]:
        """Press keys; return all states that were heard once there are so many."""
        for key in keys:
            canvas.press(key)
        wait_until(page, lambda: len(heard(page, "adjusting", "state")) >= count)
        return heard(page, "adjusting", "state")

    states = states_after(3, "m", "ArrowRight", "Shift+ArrowUp", "PageUp")
    wait_until(page, lambda: heard(page, "adjusted", "state")[-1:] == states[-1:])
    moved = [state["pos"] for state in states]
    start = [-0.12, 0, 0.03]
    assert np.subtract(moved, start) == pytest.approx(np.array([[1, 0, 0], [1, 10, 0], [1, 10, 1]]) / 1000, abs=1e-5)
    assert all(one in states for one in heard(page, "adjusted", "state")), "a pause between two keys ends a nudge"
    turned = states_after(4, "t", "ArrowRight")[-1]["quat_wxyz"]
    assert turned == pytest.approx([np.cos(np.pi / 360), 0, 0, -np.sin(np.pi / 360)], abs=1e-5)
    scaled = states_after(5, "s", "Shift+ArrowRight")[-1]
    assert scaled["relative_scale"] == pytest.approx(1.1)
    assert scaled["pos"][2] == pytest.approx(0.031 + 0.1 * 0.03, abs=1e-4), "its bottom stays where it was"
    canvas.press("Escape")
    expect(inside.locator("[data-adjust=scale]")).to_have_attribute("aria-pressed", "false")
    expect(inside.locator("body")).to_have_attribute("data-selected", "red_cube")
    shown = steady(page, canvas.screenshot)
    post(page, type="preview", state=scaled | {"pos": [0.1, -0.1, 0.03]})
    wait_until(page, lambda: canvas.screenshot() != shown)
    post(page, type="note", text="10 % larger")
    expect(inside.locator("#labels .selected")).to_have_text("red cube · 10 % larger")
    post(page, type="adjustable", on=True, refused=True)
    canvas.press("m")
    expect(inside.locator("[data-adjust=translate]")).to_have_attribute("aria-pressed", "false")


def test_a_camera_is_placed_where_the_viewer_looks_from_and_has_a_picture_until_it_is_removed(mount: Mount):
    bare = mount("stack", "twin", "placed-cameras")
    page, panel, project = bare.page, bare.page.locator(".placed-cameras"), bare.session.project
    frame = page.frame_locator("#twin iframe")
    expect(frame.locator("body")).to_have_attribute("data-state", "showing")
    frame.get_by_role("button", name="Top").click()
    for name in ("Above the table", ""):
        panel.get_by_label("Name of the camera").fill(name) if name else None
        press_buttons(panel, "Camera from this view")
        expect(panel.locator("figure")).to_have_count(2 - bool(name))
    assert [one.name for one in project.cameras()] == ["above_the_table", "camera_1"]
    camera, object = project.cameras()[0], project.scene().placements[0]
    rotation = Rotation.from_quat(camera.quat_wxyz, scalar_first=True).as_matrix()
    assert camera.position[2] > 0.2 and rotation[2, 2] > 0.99, "it looks down"
    x, y, z = rotation.T @ (object.world_from_object.pos - camera.position)
    assert max(abs(y), abs(x) * 3 / 4) < -z * np.tan(camera.field_of_view / 2), "an object is in its picture"
    drawn = page.request.get(panel.locator("img").first.evaluate("one => one.src"))
    assert np.array(Image.open(BytesIO(drawn.body()))).std() > 10
    press_buttons(panel, "Remove the camera above_the_table")
    expect(panel.locator("figure")).to_have_count(1)
    page.evaluate("document.activeElement.blur()")
    bare.session.decisions.undo()
    expect(panel.locator("figure")).to_have_count(2)


def test_the_twin_follows_the_recording_of_its_frame_and_an_instant_of_it_becomes_a_project(mount: Mount, tmp_path):
    bare = mount("stack", "twin", "track-panel")
    panel, session, recording = bare.page.locator(".track-panel"), bare.session, tmp_path / "table"
    for name, pixels in (("rgb", session.project.frame.rgb[..., ::-1]), ("depth", session.project.frame.depth * 5000)):
        (recording / name).mkdir(parents=True)
        for number in range(3):
            cv2.imwrite(str(recording / name / f"{number}.png"), pixels if name == "rgb" else pixels.astype(np.uint16))
        lines = [f"{number / 10} {name}/{number}.png" for number in range(3)]
        (recording / f"{name}.txt").write_text("\n".join(lines))
    session.recorded = RecordedFrame(recording, 0)
    session.log.mark_changed()
    press_buttons(panel, "Follow table from frame 0")
    expect(panel.get_by_role("button", name="Show the twin")).to_be_visible(timeout=120_000)
    assert (session.project.folder / "tracks" / "table" / "track.mp4").is_file()
    expect(bare.page.frame_locator("#twin iframe").locator("#track")).to_be_visible()
    press_buttons(panel, "Project of this instant")
    wait_until(bare.page, lambda: list(bare.studio.workspace.glob("*_at_0_*_s/scene.json")), 60)
