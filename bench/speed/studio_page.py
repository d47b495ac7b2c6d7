"""How soon the real app answers a person in a real browser: a dropped frame, edits, pages, typing."""

import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from playwright.sync_api import Page, expect

from bench import ROOT
from bench.measurement import Measurement, NotMeasured, ms
from bench.speed.viewer import chromium, running
from pipeline.segmentation import read_segments
from tests.browser.watched_page import FLAGS

SCENE = ROOT / "sample_scenes" / "workshop"
"""Nine objects, 1280x720."""
PATIENCE = 120_000
STEPS = ("Masks", "Objects", "Scene", "Task", "Review", "Frame")
WATCH = """() => {
  window.states = [];  // {at, rows, done, busy} whenever one of them changed
  window.acted = 0;
  window.drawn = [];   // milliseconds from each key to the frame that shows it
  for (const type of ["pointerup", "change", "keydown"])
    document.addEventListener(type, () => (window.acted = performance.now()), true);
  document.addEventListener("input", () => {
    const began = acted;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => drawn.push(performance.now() - began);
      channel.port2.postMessage(0);
    });
  }, true);
  let last = "";
  const look = () => {
    const done = {};
    for (const tab of document.querySelectorAll("[role=tab]"))
      done[tab.textContent.trim().match(/^\\w+/)?.[0]] = tab.textContent.includes("Done");
    const rows = document.querySelectorAll(".object-list .row").length;
    const state = { rows, done, busy: Boolean(document.querySelector(".status-bar .spin")) };
    if (JSON.stringify(state) !== last) states.push({ at: performance.now(), ...state });
    last = JSON.stringify(state);
  };
  // Looking at every frame would draw 60 frames a second that the page itself does not.
  const everything = { subtree: true, childList: true, attributes: true, characterData: true };
  new MutationObserver(look).observe(document, everything);
  look();
}"""
AT_REST = "() => states.length && !states.at(-1).busy && performance.now() - Math.max(states.at(-1).at, acted) > 1500"
SHOWN = """async (name) => {
  const tab = [...document.querySelectorAll("[role=tab]")].find((one) => one.textContent.trim().startsWith(name));
  while (tab.getAttribute("aria-selected") !== "true") await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - acted;
}"""


@dataclass(frozen=True)
class Answer:
    """When an action was answered, in seconds after it; NaN where that was not seen."""

    outlines: float
    rows: float
    twin: float


def studio_page() -> list[Measurement]:
    """Drop a frame, edit its masks, choose an asset, change pages and type; software drawing, two sizes."""
    return [row for size in ((640, 480), (1280, 720)) for row in at_size(*size)]


def at_size(width: int, height: int) -> Iterator[Measurement]:
    with tempfile.TemporaryDirectory() as folder, chromium(FLAGS) as browser, running(Path(folder)) as studio:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        page.goto(studio.address)
        page.locator(".gallery [data-name]").first.wait_for()
        page.evaluate(WATCH)
        frame = write_frame(Path(folder) / "dropped.zip", width, height)
        size, note = f"{width}x{height}", "software drawing"
        dropped = act(page, lambda: page.locator("input[type=file]").first.set_input_files(frame))
        yield Measurement(f"drop to outlines, {size}", dropped.outlines, "s", 4, note=note)
        yield Measurement(f"drop to twin, {size}", dropped.twin, "s", 9, note=note)
        project = next(path.parent for path in Path(folder).glob("*/segments"))
        for name, edit in (("brush", brush), ("split", split), ("delete", delete)):
            open_tab(page, "Masks")
            answer = edit(page, project)
            yield Measurement(f"{name} to updated list, {size}", answer.rows, "s", 1.5, note=note)
            yield Measurement(f"{name} to updated twin, {size}", answer.twin, "s", 3, note=note)
        yield Measurement(f"another asset to twin, {size}", choose_asset(page).twin, "s", 2, note=note)
        changes = [change_page(page, name) for name in STEPS * 2]
        yield Measurement(
            f"page change, {size}",
            ms(changes),
            budget=200,
            note=f"median of {len(changes)}, slowest {max(changes):.2f} s",
        )
        keys = type_text(page)
        yield Measurement(f"typing, {size}", ms(keys, 95), budget=50, note=f"95th percentile of {len(keys)} keys")
        yield Measurement(
            f"opening a project, {size}", open_again(page, studio.address, project.name), "s", 2, note=note
        )


def write_frame(path: Path, width: int, height: int) -> Path:
    """Write the sample frame as a zip, cut to the shape and scaled to the size."""
    camera = json.loads((SCENE / "camera.json").read_text())
    scale = height / camera["height"]
    left = round((camera["width"] - width / scale) / 2)
    camera |= {"width": width, "height": height, "cx": (camera["cx"] - left) * scale, "cy": camera["cy"] * scale}
    camera |= {"fx": camera["fx"] * scale, "fy": camera["fy"] * scale}
    with zipfile.ZipFile(path, "w") as file:
        for name, method in (("rgb.png", cv2.INTER_AREA), ("depth.png", cv2.INTER_NEAREST)):
            image: Any = cv2.imread(str(SCENE / name), cv2.IMREAD_UNCHANGED)
            cut = image[:, left : left + round(width / scale)]
            scaled = cv2.resize(cut, (width, height), interpolation=method)
            file.writestr(name, cv2.imencode(".png", scaled)[1].tobytes())
        file.writestr("camera.json", json.dumps(camera))
    return path


def act(page: Page, action: Callable[[], Any]) -> Answer:
    """Do something and wait until nothing is being worked out any more; return when what was updated."""
    page.evaluate("states.length = 0")
    action()
    acted = page.evaluate("acted")
    page.wait_for_function(AT_REST)
    states = [state | {"after": (state["at"] - acted) / 1000} for state in page.evaluate("states")]
    later = [state for state in states if state["after"] > 0]
    return Answer(done_again(later, "Masks"), done_again(later, "Objects"), done_again(later, "Scene"))


def done_again(states: list[dict[str, Any]], step: str) -> float:
    """Return when a step was last done after it had not been done; NaN if that was not seen."""
    undone = [number for number, state in enumerate(states) if not state["done"].get(step)]
    after = states[undone[-1] + 1 :] if undone else []
    return after[0]["after"] if after else float("nan")


def open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=re.compile(f"^{name}")).click()


def brush(page: Page, project: Path) -> Answer:
    """Paint beside the largest object's left edge, and accept it."""
    id, mask = largest(project)
    x, y = float(np.nonzero(mask)[1].min()), deepest_pixel(mask)[1]
    page.locator(".mask-canvas canvas").press(str(id))
    page.locator(".mask-canvas [data-act='tool:brush']").click()
    drag(page, [(x - 2, y), (x - 9, y)], mask.shape)
    return act(page, page.locator(".mask-canvas [data-act='accept']").click)


def split(page: Page, project: Path) -> Answer:
    """Draw a line across the largest object."""
    id, mask = largest(project)
    x, y = deepest_pixel(mask)
    canvas = page.locator(".mask-canvas canvas")
    canvas.press("Escape")
    canvas.press(str(id))
    canvas.press("s")
    return act(page, lambda: drag(page, [(x - mask.shape[1] / 10, y), (x + mask.shape[1] / 10, y)], mask.shape))


def delete(page: Page, project: Path) -> Answer:
    """Delete the largest object."""
    canvas = page.locator(".mask-canvas canvas")
    canvas.press("Escape")
    canvas.press(str(largest(project)[0]))
    return act(page, lambda: canvas.press("Delete"))


def choose_asset(page: Page) -> Answer:
    """Choose the second asset for the first object."""
    page.locator(".object-list .row").first.click()
    open_tab(page, "Objects")
    page.locator(".object-cards .asset").nth(1).click()
    return act(page, lambda: page.keyboard.press("Enter"))


def change_page(page: Page, name: str) -> float:
    """Return the seconds from the click on a step to its page."""
    open_tab(page, name)
    seconds: float = page.evaluate(SHOWN, name) / 1000
    page.wait_for_timeout(700)
    return seconds


def type_text(page: Page) -> list[float]:
    """Return the seconds from each key to the frame that shows it, in the task's field."""
    open_tab(page, "Task")
    field = page.locator("#task-text textarea, #task-text input")
    field.click()
    page.evaluate("drawn.length = 0")
    field.press_sequentially("put the mustard bottle into the bowl", delay=60)
    return [milliseconds / 1000 for milliseconds in page.evaluate("drawn")]


def open_again(page: Page, address: str, project: str) -> float:
    """Return the seconds from a click on a project's card to its list of objects."""
    page.goto(address)
    card = page.locator(f".gallery [data-name='{project}']").first
    card.wait_for()
    page.evaluate(WATCH)
    page.wait_for_timeout(2000)
    card.click()
    page.wait_for_function("() => states.some((state) => state.rows && state.at > acted)")
    seconds: float = page.evaluate("(states.find((state) => state.rows && state.at > acted).at - acted) / 1000")
    return seconds


def largest(project: Path) -> tuple[int, np.ndarray]:
    """Return id and mask of the project's largest segment."""
    segments = [one for one in read_segments(project / "segments") if one.id < 10]
    if not segments:
        raise NotMeasured("no object was found in the sample frame")
    chosen = max(segments, key=lambda one: int(one.mask.sum()))
    return chosen.id, chosen.mask


def deepest_pixel(mask: np.ndarray) -> tuple[float, float]:
    """Return the pixel x, y of a mask that is farthest from its edge."""
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    return float(x), float(y)


def drag(page: Page, pixels: list[tuple[float, float]], shape: tuple[int, ...]) -> None:
    """Drag over pixels of the photograph, which is shown whole in the mask canvas."""
    box: Any = page.locator(".mask-canvas canvas").bounding_box()
    scale = min(box["width"] / shape[1], box["height"] / shape[0])
    left = box["x"] + (box["width"] - shape[1] * scale) / 2
    top = box["y"] + (box["height"] - shape[0] * scale) / 2
    first, *others = [(left + (x + 0.5) * scale, top + (y + 0.5) * scale) for x, y in pixels]
    page.mouse.move(*first)
    page.mouse.down()
    for point in others:
        page.mouse.move(*point, steps=6)
    page.mouse.up()
