"""Drives a page of the studio as a person does, and reads what the project's folder then holds."""

import itertools
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from browser.project_files import ProjectFiles
from browser.studio_process import Studio
from browser.watched_page import PAGE_LOGS, close_app, wait_until
from playwright.sync_api import FloatRect, Locator, Page, Position, expect

from studio.viewer import PhotoCamera

SCREENSHOTS = os.environ.get("GRS_SHOTS")
"""Folder for a picture of every step, for a person to look at."""
LONG = 300_000
"""Milliseconds that a stage of the pipeline may take on a slow machine."""
COPY_NUMBERS = itertools.count(1)
NEXT_DRAWN_FRAME = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass(frozen=True)
class OpenProject(ProjectFiles):
    """A project of its own, open in the page."""

    studio: Studio
    page: Page
    name: str

    @property
    def folder(self) -> Path:
        return self.studio.workspace / self.name

    def reopen(self) -> None:
        """Leave the page and load this project's page again."""
        close_app(self.page)
        self.page.goto(f"{self.studio.address}?project={self.name}")
        expect(self.page.locator(".object-list .row").first).to_be_visible()


def copy_project(studio: Studio, page: Page, folder: Path) -> OpenProject:
    """Copy a project's folder into the workspace under a new name, without opening it."""
    name = f"{folder.name}_{next(COPY_NUMBERS)}"
    shutil.copytree(folder, studio.workspace / name)
    return OpenProject(studio, page, name)


def open_copy(studio: Studio, page: Page, folder: Path) -> OpenProject:
    """Copy a project's folder into the workspace under a new name, and open it with nothing running."""
    opened = copy_project(studio, page, folder)
    opened.reopen()
    wait_until_idle(page)
    return opened


def screenshot(page: Page, name: str) -> None:
    """Keep a picture of the page if GRS_SHOTS names a folder."""
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")


def tab(page: Page, name: str) -> Locator:
    """The tab of a step."""
    return page.get_by_role("tab", name=re.compile(f"^{name}"))


def open_tab(page: Page, name: str) -> None:
    """Open the tab of a step."""
    tab(page, name).click()
    expect(tab(page, name)).to_have_attribute("aria-selected", "true")


def undo_button(page: Page) -> Locator:
    """The top bar's Undo button."""
    return page.locator(".top-bar").get_by_role("button", name=re.compile("Undo"))


def wait_until_idle(page: Page) -> None:
    """Wait until no stage is running and no request is open: what was asked for a moment ago has no spinner yet."""
    expect(page.locator(".status-bar .message")).to_be_visible()
    page.evaluate(NEXT_DRAWN_FRAME)  # by then a click has sent what it asks for
    spinner, log = page.locator(".status-bar .spin"), PAGE_LOGS[page]
    wait_until(
        page,
        lambda: log.is_answered and not spinner.count(),
        seconds=LONG / 1000,
        hindered_by=lambda: [*(request.url for request in log.open_requests), *spinner.all_inner_texts()],
    )


def stop_work(page: Page) -> None:
    """Stop what is running in the open project, if anything is."""
    page.evaluate("() => document.querySelector('.status-bar .stop')?.click()")  # it may end by itself meanwhile
    if page.locator(".status-bar").count():
        wait_until_idle(page)


# ---------------------------------------------------------------------- the mask canvas


def canvas(page: Page) -> Locator:
    """The mask canvas."""
    return page.locator(".mask-canvas canvas")


def expect_answered(page: Page) -> None:
    """Expect that all clicks and boxes are answered: those that come before an answer are one step."""
    expect(canvas(page)).to_have_attribute("aria-busy", "false")


def hint(page: Page) -> Locator:
    """The line under the mask canvas."""
    return page.locator(".mask-canvas .hint")


def rows(page: Page) -> Locator:
    """The rows of the object list."""
    return page.locator(".object-list .row")


def action(page: Page, name: str) -> Locator:
    """A button of the mask canvas, by its data-act."""
    return page.locator(f".mask-canvas [data-act='{name}']")


def open_masks(page: Page) -> None:
    """Open the Masks step and wait until it shows the masks, with no object selected: where the work has come to the
    Objects step, the first one to review is."""
    open_tab(page, "Masks")
    expect(hint(page)).not_to_be_empty()
    canvas(page).press("Escape")
    expect(hint(page)).to_contain_text("Click")


def deepest_pixel(mask: np.ndarray) -> tuple[float, float]:
    """Return the pixel x, y of a mask that is farthest from its edge."""
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    y, x = np.unravel_index(int(depth.argmax()), depth.shape)
    return float(x), float(y)


def near_lower_edge(mask: np.ndarray) -> tuple[float, float]:
    """Return the lowest pixel x, y of a mask that is about four pixels inside its edge."""
    depth = cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5)
    ys, xs = np.nonzero((depth > 3) & (depth < 5))
    lowest = int(ys.argmax())
    return float(xs[lowest]), float(ys[lowest])


def largest(masks: dict[int, np.ndarray]) -> tuple[int, np.ndarray]:
    """Return the id and mask of the largest segment."""
    return max(masks.items(), key=lambda item: int(item[1].sum()))


def canvas_point(page: Page, x: float, y: float, shape: tuple[int, ...]) -> Position:
    """Where on the canvas a pixel of the photograph is while all of it is shown."""
    box = canvas(page).bounding_box()
    assert box
    scale = min(box["width"] / shape[1], box["height"] / shape[0])
    left, top = (box["width"] - shape[1] * scale) / 2, (box["height"] - shape[0] * scale) / 2
    return {"x": left + (x + 0.5) * scale, "y": top + (y + 0.5) * scale}


def click(page: Page, pixel: tuple[float, float], shape: tuple[int, ...], **how: Any) -> None:
    """Click a pixel of the photograph, where the next frame shows it."""
    page.evaluate(NEXT_DRAWN_FRAME)
    canvas(page).click(position=canvas_point(page, *pixel, shape), **how)


def resting_box(page: Page) -> FloatRect:
    """Return where the canvas is, once two frames drawn 150 ms apart leave it there. Fails after 70 readings."""
    before = None
    for _ in range(70):
        page.evaluate(NEXT_DRAWN_FRAME)  # the page moves what it redraws only in its next frame
        box = canvas(page).bounding_box()
        if box and box == before:
            return box
        before = box
        page.wait_for_timeout(150)
    raise AssertionError("the canvas did not come to rest")


def drag(page: Page, pixels: list[tuple[float, float]], shape: tuple[int, ...]) -> None:
    """Drag over pixels of the photograph, once the page no longer moves it."""
    box = resting_box(page)
    points = [canvas_point(page, *pixel, shape) for pixel in pixels]
    page.mouse.move(box["x"] + points[0]["x"], box["y"] + points[0]["y"])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(box["x"] + point["x"], box["y"] + point["y"], steps=6)
    page.mouse.up()


def on_screen(canvas: Locator, camera: PhotoCamera, point: Any) -> np.ndarray:
    """Where the photograph's camera puts a world point on the page, by its intrinsics alone."""
    box = canvas.bounding_box()
    assert box
    scale = min(box["width"] / camera.width, box["height"] / camera.height)
    corner = np.array([box["width"] - camera.width * scale, box["height"] - camera.height * scale]) / 2
    return camera.project(np.asarray(point)) * scale + corner + [box["x"], box["y"]]


DROP = """([area, within, files]) => {
  const transfer = new DataTransfer(), marked = document.querySelector(area);
  for (const [name, content] of Object.entries(files)) transfer.items.add(new File([content], name));
  const send = (kind) => marked.querySelector(within).dispatchEvent(
    new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  return ["dragenter", "dragover", "drop"].map((kind) => (send(kind), marked.classList.contains("dropping")));
}"""


def drop_files(page: Page, area: str, within: str, files: dict[str, str]) -> None:
    """Drop files, contents by name, on an element of an area that shows by its class where one may drop."""
    _, is_over, is_after = page.evaluate(DROP, [area, within, files])
    assert is_over and not is_after
