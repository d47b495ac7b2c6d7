"""A batch that is started on the board: dropped, followed, stopped, there again after a reload."""

import base64
import io
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser.app_page import LONG, screenshot
from browser.studio_process import Studio
from browser.watched_page import leaving
from playwright.sync_api import Locator, Page, expect

from tests.ui.test_accessibility import findings

SAMPLES = Path(__file__).parents[3] / "sample_scenes"
FILES = ("rgb.png", "depth.png", "camera.json")
DROP = """([selector, files]) => {
  const transfer = new DataTransfer();
  for (const [name, content] of files)
    transfer.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt(0))], name));
  const event = (kind) => new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true});
  const target = document.querySelector(selector);
  target.dispatchEvent(event("dragover"));
  target.dispatchEvent(event("drop"));
}"""


@pytest.fixture
def board(studio: Studio, page: Page) -> Iterator[Locator]:
    page.goto(studio.address)
    expect(page.get_by_role("button", name="New batch")).to_be_visible(timeout=LONG)
    yield page.locator(".gallery .board")


def make_frames(folder: Path, *names: str) -> Path:
    """Make a folder of frames of those names, of which "broken" is none."""
    for name in names:
        (folder / name).mkdir(parents=True)
        for file in FILES:
            shutil.copy(SAMPLES / ("blocks" if name == "broken" else name) / file, folder / name)
    (folder / "broken" / "rgb.png").write_bytes(b"no picture")
    return folder


def zipped(name: str) -> str:
    """Return a zip of a sample scene's frame, base64."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for part in FILES:
            file.write(SAMPLES / name / part, part)
    return base64.b64encode(content.getvalue()).decode()


def test_a_folder_of_frames_becomes_projects_and_a_reload_shows_the_batch_again(board: Locator, tmp_path: Path):
    page, batch = board.page, board.locator(".batch")
    board.get_by_role("button", name="New batch").click()
    board.get_by_label("Run until").select_option("segments")
    screenshot(page, "batch_form")
    assert findings(page) == []
    folder = make_frames(tmp_path / "tables", "blocks", "broken", "stack")
    board.get_by_label("Folder of frames").set_input_files(folder)
    expect(batch.locator(".batch-progress")).to_contain_text("of 3 frames done")
    screenshot(page, "batch_running")
    with leaving(page):
        page.reload()
    expect(batch).to_have_attribute("data-state", "ended", timeout=LONG)
    expect(batch.locator(".batch-progress")).to_have_text("2 of 3 frames done · 1 failed")
    expect(batch.locator(".batch-frame.failed")).to_contain_text("rgb.png is not a picture")
    for name in ("blocks", "stack"):
        expect(board.locator(f"[data-name={name}]")).to_be_visible()
    batch.get_by_role("button", name="Frames").click()
    expect(batch.locator(".batch-frame.done")).to_have_count(2)
    screenshot(page, "batch_ended")
    assert findings(page) == []
    batch.get_by_role("button", name="blocks").click()
    expect(page.locator(".top-bar strong")).to_have_text("blocks", timeout=LONG)
    page.locator(".top-bar .brand").click()
    batch.get_by_label("Remove tables from the list").click()
    expect(batch).to_have_count(0)
    expect(board.locator("[data-name=stack]")).to_be_visible()


def test_zips_dropped_on_the_board_run_until_they_are_stopped_and_then_go_on(board: Locator):
    page, batch = board.page, board.locator(".batch")
    files = [["a.zip", zipped("blocks")], ["b.zip", zipped("stack")]]
    page.evaluate(DROP, [".gallery .board .board-tools", files])
    expect(batch).to_have_attribute("data-state", "running", timeout=LONG)
    batch.get_by_role("button", name="Stop").click()
    expect(batch).to_have_attribute("data-state", "stopped", timeout=LONG)
    expect(batch.locator(".batch-progress")).to_contain_text("0 of 2 frames done · stopped")
    batch.get_by_role("button", name="Continue").click()
    expect(batch).to_have_attribute("data-state", "running", timeout=LONG)
    batch.get_by_role("button", name="Stop").click()
    expect(batch).to_have_attribute("data-state", "stopped", timeout=LONG)
    batch.locator("button[aria-label^=Remove]").click()
    expect(batch).to_have_count(0)
