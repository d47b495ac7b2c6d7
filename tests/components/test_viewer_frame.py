"""Viewers in the frames that the studio puts around them: selections, recordings, cameras, and what is adjusted."""

import re
from io import BytesIO
from typing import Any

import cv2
import numpy as np
import pytest
from browser.app_page import on_screen
from browser.bare_page import Mount, Mounted
from browser.watched_page import press_buttons, wait_until
from mujoco import MjModel
from PIL import Image
from playwright.sync_api import Page, expect
from scipy.spatial.transform import Rotation

from components.viewer import viewer_value
from studio.compare.project_sources import project_episodes
from studio.sessions.recorded_frame import RecordedFrame
from studio.viewer import PhotoCamera
from tests.components.test_viewer import recording, steady

pytestmark = pytest.mark.usefixtures("small_page")
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


def test_a_twin_that_came_while_its_viewer_was_hidden_fits_it_once_it_is_shown(mount: Mount, model: MjModel):
    mounted = mount("", "round")
    page, inside, views = mounted.page, frames(mounted)[0], mounted.studio.views
    box = "<body name='red_cube' pos='0 0 .05'><freejoint/><geom type='box' size='.05 .04 .05'/></body>"
    other = f"<mujoco><worldbody><geom type='plane' size='1 1 .1'/>{box}</worldbody></mujoco>"

    def outline() -> int:
        """Pixels of the selected object's outline."""
        expect(inside.locator("body")).to_have_attribute("data-state", "showing")
        drawn = Image.open(BytesIO(steady(page, inside.locator("#canvas").screenshot))).convert("RGB")
        return int((np.abs(np.asarray(drawn).astype(int) - [255, 210, 74]).max(2) < 40).sum())

    mounted.set_value("round", viewer_value(views.open(other), "red_cube"))
    wait_until(page, lambda: outline() > 200)
    shown = outline()
    mounted.set_value("round", viewer_value(views.open(model)))
    wait_until(page, lambda: outline() < 0.5 * shown)
    page.evaluate("document.querySelector('#round').style.display = 'none'")
    mounted.set_value("round", viewer_value(views.open(other), "red_cube") | {"caption": "the other twin"})
    expect(inside.locator("#caption")).to_have_text("the other twin")
    page.evaluate("document.querySelector('#round').style.display = ''")
    wait_until(page, lambda: outline() > 0.8 * shown)


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
    log = tmp_path / "robot.csv"
    log.write_text("t,elbow\n" + "".join(f"{0.02 * row},{0.1 * row}\n" for row in range(11)))
    panel.locator("input[type=file]").nth(1).set_input_files(log)
    expect(panel.get_by_role("button", name="robot.csv")).to_be_visible()
    press_buttons(panel, "Follow table from frame 0")
    expect(panel.get_by_role("button", name="Show the twin")).to_be_visible(timeout=120_000)
    assert (session.project.folder / "tracks" / "table" / "track.mp4").is_file()
    assert [each["title"] for each in project_episodes(session)] == ["Recording table"]
    expect(bare.page.frame_locator("#twin iframe").locator("#track")).to_be_visible()
    press_buttons(panel, "Project of this instant")
    wait_until(bare.page, lambda: list(bare.studio.workspace.glob("*_at_0_*_s/scene.json")), 60)
