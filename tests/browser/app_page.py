"""Drives a page of the studio as a person does, and reads what the project's folder then holds."""

import itertools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from browser.project_files import ProjectFiles
from browser.studio_process import Studio
from browser.watched_page import PAGE_LOGS, SETTLED, close_app, wait_until
from playwright.sync_api import Locator, Page, expect

from studio.viewer import PhotoCamera

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
    opened = copy_project(studio, page, folder)
    opened.reopen()
    wait_until_idle(page)
    return opened


def tab(page: Page, name: str) -> Locator:
    return page.get_by_role("tab", name=re.compile(f"^{name}"))


def open_tab(page: Page, name: str) -> None:
    tab(page, name).click()
    expect(tab(page, name)).to_have_attribute("aria-selected", "true")


def undo_button(page: Page) -> Locator:
    return page.locator(".top-bar").get_by_role("button", name=re.compile("Undo"))


def wait_until_idle(page: Page) -> None:
    """Wait until no stage is running and no request is open: what was asked for a moment ago has no spinner yet."""
    expect(page.locator(".status-bar .message")).to_be_visible()
    page.evaluate(NEXT_DRAWN_FRAME)  # by then a click has sent what it asks for
    spinner, log = page.locator(".status-bar .spin"), PAGE_LOGS[page]
    wait_until(
        page,
        lambda: not log.open_requests and page.evaluate(SETTLED) and not spinner.count(),
        seconds=LONG / 1000,
        hindered_by=lambda: [*(request.url for request in log.open_requests), *spinner.all_inner_texts()],
    )


def stop_work(page: Page) -> None:
    """Stop what is running in the open project, if anything is."""
    page.evaluate("() => document.querySelector('.status-bar .stop')?.click()")  # it may end by itself meanwhile
    if page.locator(".status-bar").count():
        wait_until_idle(page)


def rows(page: Page) -> Locator:
    return page.locator(".object-list .row")


def on_screen(canvas: Locator, camera: PhotoCamera, point: Any) -> np.ndarray:
    """Where the photograph's camera puts a world point on the page, by its intrinsics alone."""
    box = canvas.bounding_box()
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
