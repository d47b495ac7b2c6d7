"""The viewer in a real browser, inside a small Gradio app on the same server."""
# pyright: reportOptionalMemberAccess=false, reportArgumentType=false, reportAttributeAccessIssue=false, reportOptionalSubscript=false

import os

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

import json
import socket
import threading
from io import BytesIO
from types import SimpleNamespace

import gradio as gr
import mujoco
import numpy as np
import pytest
import uvicorn
from browser.watched_page import TIMEOUT
from fastapi import FastAPI
from PIL import Image

from components.viewer import Viewer, viewer_value
from studio.texts import text_routes
from studio.viewer import Mark, PhotoCamera, Photograph, Trajectory, ViewRegistry, mount

PALETTE = {"red_cube": "#ff00ff", "blue_ball": "#00ffff"}
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
def sessions():
    sessions = ViewRegistry()
    yield sessions
    sessions.close()


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(TWIN)


@pytest.fixture(scope="module")
def address(sessions):
    """A page with a viewer, a box to open a view by its token, and a box to select an object by its name."""
    with gr.Blocks() as page:
        viewer = Viewer(height=420)
        token, name = gr.Textbox(label="token"), gr.Textbox(label="name")
        heard = gr.Textbox(label="heard")
        token.submit(lambda t: viewer_value(t, palette=PALETTE), token, viewer)
        name.submit(lambda t, n: viewer_value(t, n, PALETTE), [token, name], viewer)

        def clicked(event: gr.SelectData) -> str:
            return f"selected {event.value or 'nothing'}"

        viewer.select(clicked, None, heard)
    app = FastAPI()
    mount(app, sessions)
    text_routes.mount(app)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gr.mount_gradio_app(app, page, "/", ssr_mode=False)
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def page(browser):
    """A page of its own at 960 x 680. Fails on errors in its console and on requests to other machines."""
    context = browser.new_context(viewport={"width": 960, "height": 680})
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    page.faults, page.requests = [], []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda line: page.faults.append(line.text) if line.type == "error" else None)
    page.on("request", lambda request: page.requests.append(request.url))
    yield page
    context.close()
    assert not [url for url in page.requests if not url.startswith(("http://127.0.0.1", "blob:", "data:"))]
    assert not page.faults


def opened(page, address, sessions, model, **options):
    """The viewer's own page with a fresh view."""
    token = sessions.open(model, **options)
    page.goto(f"{address}viewer/#{token}")
    page.wait_for_selector("body[data-state=showing]")
    return SimpleNamespace(session=sessions.get(token), token=token)


def until(page, holds, what: str):
    """Wait until a condition holds; fails after thirty seconds with what never happened."""
    for _ in range(600):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail(f"{what} never happened")


def steady(page, read, what: str):
    """Return a value once it is the same at two readings, 100 ms apart; fails after ten seconds."""
    value = read()
    for _ in range(100):
        page.wait_for_timeout(100)
        value, before = read(), value
        if value == before:
            return value
    pytest.fail(f"{what} did not come to rest")


def pixels(page) -> np.ndarray:
    """Return the page's pixels (H, W, 3), int, once they no longer change."""
    return np.asarray(Image.open(BytesIO(steady(page, page.screenshot, "the picture"))).convert("RGB")).astype(int)


def on_screen(page, camera: PhotoCamera, point) -> np.ndarray:
    """Where the photograph's camera puts a world point on the page, by its intrinsics alone."""
    box = page.locator("#canvas").bounding_box()
    scale = min(box["width"] / camera.width, box["height"] / camera.height)
    corner = np.array([box["width"] - camera.width * scale, box["height"] - camera.height * scale]) / 2
    return camera.project(np.asarray(point)) * scale + corner + [box["x"], box["y"]]


def body(session, name):
    poses = np.frombuffer(session.snapshot, "<f4", 14, 32).reshape(2, 7)
    return poses[session.names.index(name), :3].astype(float)


def test_the_first_picture_shows_the_twin_and_dragging_orbits_it(page, address, sessions, model):
    opened(page, address, sessions, model)
    before = pixels(page)
    red = (before[..., 0] > 1.6 * before[..., 1]) & (before[..., 0] > 1.6 * before[..., 2]) & (before[..., 0] > 60)
    assert red.sum() > 400, "no red cube to be seen"
    page.mouse.move(480, 560)
    page.mouse.down()
    page.mouse.move(300, 520, steps=4)
    page.mouse.up()
    assert (np.abs(pixels(page) - before).sum(-1) > 60).mean() > 0.05
    assert page.locator("#clock").inner_text() == "0.00 s", "orbiting must not run the physics"


def test_play_pause_step_and_reset_by_buttons_and_keys(page, address, sessions, model):
    shown = opened(page, address, sessions, model)
    page.get_by_role("button", name="Play").click()
    until(page, lambda: shown.session.time > 0.2, "playing")
    page.get_by_role("button", name="Pause").click()
    until(page, lambda: not shown.session.playing, "pausing")
    held = steady(page, lambda: shown.session.time, "the simulation")
    page.keyboard.press(".")
    until(page, lambda: shown.session.time > held, "stepping")
    assert shown.session.time == pytest.approx(held + model.opt.timestep)
    until(page, lambda: page.locator("#clock").inner_text() == f"{shown.session.time:.2f} s", "the clock")
    page.keyboard.press("r")
    until(page, lambda: shown.session.time == 0, "the reset")
    page.keyboard.press("Space")
    until(page, lambda: shown.session.playing, "playing by key")


def test_seeking_on_the_timeline_is_exact(page, address, sessions, model):
    shown = opened(page, address, sessions, model)
    shown.session.enqueue({"op": "step", "count": 500})
    until(page, lambda: shown.session.time > 0.99, "stepping")
    far = steady(page, lambda: shown.session.snapshot, "the simulation")
    track = page.locator("#track").bounding_box()
    middle = track["y"] + track["height"] / 2
    page.mouse.click(track["x"] + track["width"] * 0.1, middle)
    until(page, lambda: shown.session.time < 0.9, "seeking")
    assert shown.session.time == pytest.approx(0.5, abs=0.03)
    page.mouse.click(track["x"] + track["width"] * 0.9, middle)
    until(page, lambda: shown.session.snapshot == far, "coming back to the same state")


def test_marks_show_when_a_check_failed_and_seek_there(page, address, sessions, model):
    qpos = np.tile(model.qpos0, (101, 1))
    recording = Trajectory(np.linspace(0, 2, 101), qpos)
    marks = [Mark(0.4, "picks red_cube"), Mark(1.5, "check_on_top: hangs in the air", "failed")]
    shown = opened(page, address, sessions, model, trajectory=recording, marks=marks)
    failed = page.locator("#marks .failed")
    assert failed.get_attribute("title") == "1.50 s: check_on_top: hangs in the air"
    assert failed.inner_text() == "✕" and page.locator("#kind").inner_text() == "recording"
    failed.click()
    until(page, lambda: shown.session.time == pytest.approx(1.5), "the mark")


def test_the_twin_lies_over_the_photograph_to_the_pixel(page, address, sessions, model):
    shown = opened(page, address, sessions, model, photo=Photograph(np.full((480, 640, 3), (20, 200, 20), np.uint8)))
    page.keyboard.press("4")
    page.locator("#blend").fill("100")
    camera = PhotoCamera.from_model(model)
    page.mouse.click(*on_screen(page, camera, body(shown.session, "red_cube")))
    page.wait_for_selector("body[data-selected=red_cube]")
    page.mouse.move(480, 660)
    image = pixels(page)
    rows, columns = np.nonzero(np.abs(image - [255, 210, 74]).sum(-1) < 12)
    chip = page.locator("#labels .selected").bounding_box()
    below = rows > chip["y"] + chip["height"] + 1
    corners = body(shown.session, "red_cube") + 0.03 * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    expected = np.array([on_screen(page, camera, corner) for corner in corners])
    assert columns.min() + 2.5 == pytest.approx(expected[:, 0].min(), abs=1.6)
    assert columns.max() - 1.5 == pytest.approx(expected[:, 0].max(), abs=1.6)
    assert rows[below].max() - 1.5 == pytest.approx(expected[:, 1].max(), abs=1.6)
    page.locator("#blend").fill("0")
    x, y = on_screen(page, camera, body(shown.session, "red_cube")).astype(int)
    assert np.abs(pixels(page)[y, x] - [20, 200, 20]).max() < 3, "only the photograph is left"


def test_dragging_with_the_push_tool_moves_the_object(page, address, sessions, model):
    shown = opened(page, address, sessions, model)
    page.keyboard.press("4")
    page.get_by_role("button", name="Push").click()
    camera, before = PhotoCamera.from_model(model), body(shown.session, "red_cube")
    page.mouse.move(*on_screen(page, camera, before))
    page.locator("#labels .hovered").filter(has_text="red cube").wait_for()
    page.mouse.down()
    page.mouse.move(*on_screen(page, camera, before + np.array([0.1, -0.05, 0])), steps=6)
    until(page, lambda: body(shown.session, "red_cube")[0] > before[0] + 0.05, "the push")
    page.mouse.up()
    until(page, lambda: not shown.session._motion._pushing, "letting go")
    assert body(shown.session, "red_cube")[2] < 0.06, "pushed over the table, not lifted"


def test_playing_costs_little_bandwidth_and_leaving_ends_the_stream(page, address, sessions, model):
    received = []
    page.on("websocket", lambda ws: ws.on("framereceived", lambda data: received.append(len(data))))
    shown = opened(page, address, sessions, model)
    page.keyboard.press("Space")
    until(page, lambda: received, "the stream")
    received.clear()
    until(page, lambda: len(received) > 30, "thirty pictures")
    assert np.mean(received) * (32 + 280) / (32 + 56) * 30 < 40_000, "bytes a second, as if there were ten bodies"
    page.goto("about:blank")
    until(page, lambda: shown.session.watchers == 0, "the end of the stream")
    steady(page, lambda: shown.session.time, "the simulation without watchers")


def test_a_selection_goes_from_the_viewer_to_python_and_back(page, address, sessions, model):
    token = sessions.open(model)
    page.goto(address)
    page.get_by_label("token").fill(token)
    page.get_by_label("token").press("Enter")
    inside = page.frame_locator("iframe.viewer-frame")
    inside.locator("body[data-state=showing]").wait_for()
    page.get_by_label("name").fill("blue_ball")
    page.get_by_label("name").press("Enter")
    inside.locator("body[data-selected=blue_ball]").wait_for()
    assert "00ffff" in inside.locator("#labels .selected").get_attribute("style")
    inside.locator("[data-view=photo]").click()
    frame = page.locator("iframe.viewer-frame").bounding_box()
    bar = inside.locator("#bar").bounding_box()
    stage = {**frame, "height": bar["y"] - frame["y"]}
    camera = PhotoCamera.from_model(model)
    scale = min(stage["width"] / camera.width, stage["height"] / camera.height)
    corner = np.array([stage["width"] - camera.width * scale, stage["height"] - camera.height * scale]) / 2
    x, y = camera.project(np.array([-0.12, 0, 0.03])) * scale + corner + [stage["x"], stage["y"]]
    page.mouse.click(x, y)
    inside.locator("body[data-selected=red_cube]").wait_for()
    until(page, lambda: page.get_by_label("heard").input_value() == "selected red_cube", "hearing of it in Python")


FOLLOW = """(tokens) => {
  window.loaded = [];
  addEventListener("message", ({ data }) => data.type === "loaded" && loaded.push(data.token));
  const viewer = document.querySelector("iframe.viewer-frame").contentWindow;
  for (const token of tokens) viewer.postMessage({ type: "load", token, caption: `of ${token}`, wait: 0 }, "*");
}"""


def test_views_that_follow_each_other_are_drawn_before_the_newest_takes_their_place(page, address, sessions, model):
    first, second, third, fourth = (sessions.open(model) for _ in range(4))
    page.goto(address)
    page.get_by_label("token").fill(first)
    page.get_by_label("token").press("Enter")
    inside = page.frame_locator("iframe.viewer-frame")
    inside.locator("body[data-state=showing]").wait_for()
    page.evaluate(FOLLOW, [second, third, fourth])
    until(page, lambda: fourth in page.evaluate("loaded"), "drawing the newest view")
    assert page.evaluate("loaded") == [second, fourth]
    assert inside.locator("#caption").inner_text() == f"of {fourth}"


def test_a_closed_view_is_reported(page, address, sessions, model):
    token = sessions.open(model)
    page.goto(f"{address}viewer/#{token}")
    page.wait_for_selector("body[data-state=showing]")
    sessions.close(token)
    page.wait_for_selector("body[data-state=failed]")
    assert "no longer open" in page.locator("#message").inner_text()
    page.faults = [fault for fault in page.faults if "404" not in fault]


CABINET = """
<mujoco><worldbody><geom type="box" size=".5 .4 .02" pos="0 0 -.02"/>
  <body name="cabinet" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/>
    <body name="cabinet/drawer" pos="0 -.05 0"><joint name="cabinet/top_drawer" type="slide" axis="0 -1 0" range="0 .15"
      damping="5"/><geom type="box" size=".08 .08 .03" mass=".2"/></body></body>
  <body name="ball" pos=".3 0 .03"><freejoint/><geom size=".03" mass=".1"/></body>
</worldbody></mujoco>
"""


def test_a_drawer_is_opened_by_its_slider_once_its_cabinet_is_selected(page, address, sessions):
    view = opened(page, address, sessions, mujoco.MjModel.from_xml_string(CABINET))
    panel = page.get_by_role("group", name="Joints of the selected object")
    assert panel.is_hidden()
    box = page.locator("#canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector("body[data-selected=cabinet]")
    assert "top drawer" in panel.inner_text() and "0.0 cm" in panel.inner_text()
    panel.get_by_role("slider").fill("0.12")
    until(page, lambda: json.loads(view.session.status)["joints"] == [0.12], "the drawer opened")
    until(page, lambda: "12.0 cm" in panel.inner_text(), "the slider told how far")
    page.keyboard.press("Escape")
    until(page, panel.is_hidden, "the panel went with the selection")


def test_grasps_of_the_selected_object_are_drawn_and_say_why_they_were_dropped(page, address, sessions, model):
    above = np.array([[1.0, 0, 0, 0], [0, -1, 0, 0], [0, 0, -1, 0.02], [0, 0, 0, 1]])
    aside = above + np.array([[0, 0, 0, 0.0], [0, 0, 0, 0], [0, 0, 0, 0.06], [0, 0, 0, 0]])
    found = {
        "red_cube": [
            {"pose": above.ravel().tolist(), "opening": 0.07, "reason": ""},
            {"pose": aside.ravel().tolist(), "opening": 0.16, "reason": "too wide: 16.0 cm"},
        ]
    }
    view = opened(page, address, sessions, model, grasps=lambda name: found.get(name, []))
    page.get_by_role("button", name="Grasps").click()
    assert page.locator("#notice").inner_text() == "Select an object to see its grasps."
    page.keyboard.press("2")
    until(page, lambda: page.get_attribute("body", "data-view") == "top", "the view from above")
    box = page.locator("#canvas").bounding_box()
    shown = pixels(page)
    row, column = np.argwhere((shown[..., 0] > 1.6 * shown[..., 1]) & (shown[..., 0] > 90)).mean(0)
    page.mouse.click(float(column), float(row))
    until(page, lambda: page.get_attribute("body", "data-grasps") == "1 1", "one kept grasp and one dropped")
    green, red = (np.argwhere(np.abs(pixels(page) - colour).sum(-1) < 60) for colour in ((53, 196, 106), (229, 84, 63)))
    assert len(green) and len(red)
    for glyph, words in ((green, "✓ Grasp"), (red, "✕ too wide: 16.0 cm")):
        row, column = map(float, glyph[len(glyph) // 2])
        assert column < box["width"] and row < box["height"]
        page.mouse.move(column, row)
        page.wait_for_function("words => document.getElementById('grasp-reason').innerText === words", arg=words)
    page.keyboard.press("k")
    until(page, lambda: page.get_attribute("body", "data-grasps") is None, "the end of the grasps")
    assert view.session.grasps is not None
