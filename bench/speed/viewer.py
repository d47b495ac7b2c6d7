"""How fast the studio and its viewer are in a real browser, and the physics while it is watched."""

import asyncio
import contextlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import mujoco
import uvicorn
import websockets
from fastapi import FastAPI
from playwright.sync_api import Browser, Page, sync_playwright
from websockets.typing import Origin

from bench import ROOT
from bench.mask_scores import predict_from_last_click, simulate_clicks
from bench.measurement import Measurement, NotMeasured, clock, ms
from bench.speed.perception import SCENE, workshop
from bench.speed.twin import make_twin
from pipeline.segmentation import DepthSegmenter
from studio.texts import text_routes
from studio.viewer import ViewRegistry, mount
from studio.web import static_files
from tests.browser.studio_process import Studio
from tests.browser.watched_page import CHROMIUM, FLAGS, SOFTWARE_WEBGL

PATIENCE = 600_000
"""Milliseconds: a busy machine is slow, and that is no reason to give up."""
WATCH = """canvas => {
  window.painted = [];
  window.answered = [];
  canvas.addEventListener("pointerup", event => window.pressed = event.timeStamp, true);
  new MutationObserver(() => {
    window.answered.push(Number(canvas.dataset.ms));
    afterPaint(() => window.painted.push(performance.now() - window.pressed));
  }).observe(canvas, { attributeFilter: ["data-ms"] });
  window.afterPaint = (done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  });
}"""
"""Times each click from the button's release to the frame after the mask was drawn."""
FETCH = """async () => {
  const began = performance.now();
  await (await fetch("/static/studio/icon.svg", { cache: "no-store" })).text();
  await new Promise(afterPaint);
  return performance.now() - began;
}"""


@contextlib.contextmanager
def chromium(flags: Sequence[str] = SOFTWARE_WEBGL) -> Iterator[Browser]:
    if CHROMIUM is None:
        raise NotMeasured("there is no chromium on this machine (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(flags))
        yield browser
        browser.close()


def click_browser() -> list[Measurement]:
    """The protocol's first two clicks on each object, replayed with the mouse in the mask canvas.

    Drawn as on a machine without a graphics card: only WebGL is imitated there, never the whole page.
    """
    view = DepthSegmenter().open(workshop().frame)
    planned = [simulate_clicks(predict_from_last_click(view), truth, 2).clicks for truth in workshop().truth.values()]
    with tempfile.TemporaryDirectory() as workspace, chromium(FLAGS) as browser, running(Path(workspace)) as studio:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        sample_masks(page, studio.address)
        for clicks in planned:
            by_mouse(page, clicks)
        painted, answered = ([value / 1000 for value in page.evaluate(name)] for name in ("painted", "answered"))
        bare = [page.evaluate(FETCH) / 1000 for _ in range(20)]
    return [
        Measurement(
            "click to painted mask in Chromium, 1280x720 (95th percentile)",
            ms(painted, 95),
            budget=100,
            baseline=ms(bare, 95),
            baseline_is="fetching an icon from the same server and painting",
            note=f"median {ms(painted):.0f} ms of {len(painted)} clicks, answered after {ms(answered):.0f} ms, "
            f"bare {ms(bare):.0f} ms",
        )
    ]


@contextlib.contextmanager
def running(workspace: Path) -> Iterator[Studio]:
    studio = Studio(workspace)
    try:
        yield studio
    finally:
        studio.kill()


def sample_masks(page: Page, address: str) -> None:
    """Opens the sample scene and waits until nothing is being worked out any more."""
    page.goto(address)
    page.locator(f".gallery [data-name={SCENE.name}]").first.click()
    page.locator(".object-list .row").first.wait_for()
    page.get_by_role("tab", name="Masks").click()
    page.get_by_role("tab", name=re.compile("^Scene")).filter(has_text="Done").wait_for()
    page.locator(".status-bar .spin").wait_for(state="detached")
    page.locator(".mask-canvas canvas").evaluate(WATCH)


def by_mouse(page: Page, clicks: tuple[tuple[int, int, int], ...]) -> None:
    """A new object of these clicks, discarded at the end."""
    canvas, (height, width) = page.locator(".mask-canvas canvas"), workshop().frame.depth.shape
    canvas.press("n")
    box = canvas.bounding_box() or {}
    scale = min(box["width"] / width, box["height"] / height)
    left, top = (box["width"] - width * scale) / 2, (box["height"] - height * scale) / 2
    for x, y, label in clicks:
        before = page.evaluate("painted.length")
        place = left + (x + 0.5) * scale, top + (y + 0.5) * scale
        canvas.click(position={"x": place[0], "y": place[1]}, button="left" if label else "right")
        page.wait_for_function("before => painted.length > before", arg=before)
    canvas.press("Escape")


def start() -> list[Measurement]:
    """From the command to the first page, as the second start of the day."""
    with tempfile.TemporaryDirectory() as workspace:
        times = [to_first_page(Path(workspace)) for _ in range(3)]
    bare = clock(lambda: subprocess.run([sys.executable, "-c", "import gradio"], check=True), 3)
    return [
        Measurement(
            "app start to first page",
            ms(times) / 1000,
            "s",
            5,
            baseline=ms(bare) / 1000,
            baseline_is="python -c 'import gradio'",
        )
    ]


def to_first_page(workspace: Path) -> float:
    port, began = free_port(), time.perf_counter()
    command = [sys.executable, "-m", "studio", "--port", str(port), "--workspace", str(workspace)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30):
                return time.perf_counter() - began
            time.sleep(0.02)
        raise NotMeasured("the studio ended while starting")
    finally:
        process.terminate()
        process.wait(20)


@contextlib.contextmanager
def viewer() -> Iterator[tuple[ViewRegistry, str]]:
    """The viewer alone on a port of its own."""
    views, app, port = ViewRegistry(), FastAPI(), free_port()
    static_files.mount(app)
    text_routes.mount(app)
    mount(app, views)
    server = uvicorn.Server(uvicorn.Config(app, "127.0.0.1", port, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield views, f"127.0.0.1:{port}"
    views.close()
    server.should_exit = True
    thread.join(10)


def first_picture() -> list[Measurement]:
    """The twin of the sample scene, each time in a fresh browser window."""
    with make_twin() as (project, _), viewer() as (views, address), chromium() as browser:
        token = views.open(project.folder / "scene" / "scene.xml")
        times = [shown(browser, f"http://{address}/viewer/#{token}", "body[data-state=showing]") for _ in range(4)][1:]
        bare = [shown(browser, f"http://{address}/static/vendor/three.module.js", "body") for _ in range(3)]
    return [
        Measurement(
            "viewer: first picture of a twin of 9 objects", ms(times) / 1000, "s", 1, baseline=ms(bare) / 1000,
            baseline_is="the same browser shows three.js as text", note="software rendering",
        )
    ]  # fmt: skip


def shown(browser: Browser, address: str, sign: str) -> float:
    page = browser.new_page(viewport={"width": 960, "height": 680})
    (seconds,) = clock(lambda: (page.goto(address), page.wait_for_selector(sign)))
    page.close()
    return seconds


def streaming() -> list[Measurement]:
    """Ten boxes on a plane, as fast as they go, to one watcher."""
    model = mujoco.MjModel.from_xml_string(TEN_BODIES)
    with viewer() as (views, address):
        token, rounds = views.open(model), []
        for _ in range(3):
            before = bare_steps(model)
            steps, rate, width = asyncio.run(watched(address, token, lambda: views.get(token).time))
            rounds.append((steps / model.opt.timestep, rate, width, (before + bare_steps(model)) / 2))
    steps, rate, width, bare = (statistics.median(column) for column in zip(*rounds, strict=True))
    share = statistics.median(one[0] / one[3] for one in rounds)
    return [
        Measurement(
            "physics while streaming, share of bare stepping", share * 100, "%", 80, at_least=True, baseline=100,
            baseline_is=f"a loop over mj_step, {bare:.0f} steps/s", note=f"{steps:.0f} steps/s",
        ),
        Measurement("viewer: pictures a second, 10 bodies", rate, "Hz", 30, at_least=True),
        Measurement(
            "viewer: bandwidth, 10 bodies", width / 1000, "KB/s", 40,
            baseline=30 * 10 * 28 / 1000, baseline_is="30 poses a second of 28 bytes each",
        ),
    ]  # fmt: skip


async def watched(address: str, token: str, now, seconds: float = 3.0) -> tuple[float, float, float]:
    """Simulated seconds, pictures and bytes, each per second of wall clock."""
    async with websockets.connect(f"ws://{address}/viewer/{token}/ws", origin=Origin(f"http://{address}")) as socket_:
        for command in ('{"op":"step","count":200}', '{"op":"speed","value":1000}', '{"op":"play"}'):
            await socket_.send(command)
        await asyncio.sleep(0.3)
        pictures = size = 0
        began, first = time.perf_counter(), now()
        while (passed := time.perf_counter() - began) < seconds:
            message = await socket_.recv()
            size += len(message)
            pictures += isinstance(message, bytes)
        return (now() - first) / passed, pictures / passed, size / passed


def bare_steps(model: mujoco.MjModel, seconds: float = 1.5) -> float:
    """Steps a second of a plain loop."""
    data, count = mujoco.MjData(model), 0
    mujoco.mj_step(model, data, nstep=200)
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        mujoco.mj_step(model, data)
        count += 1
    return count / passed


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


TEN_BODIES = f"""<mujoco>
  <option timestep=".002" integrator="implicitfast" jacobian="dense"/>
  <worldbody>
    <geom type="plane" size="1 1 .1"/>
    {
    "".join(
        f'<body name="b{i}" pos="{-0.3 + 0.12 * (i % 5)} {0.1 * (i // 5)} .05"><freejoint/>'
        f'<geom type="box" size=".03 .02 .025" mass=".1"/></body>'
        for i in range(10)
    )
}
  </worldbody>
</mujoco>"""
