"""Frames dropped on the board. Guards Gradio's upload of a folder and the processes of its frames."""

import shutil
from pathlib import Path

from browser.app_page import LONG
from browser.studio_process import ROOT, Studio
from browser.watched_page import leaving
from playwright.sync_api import Page, expect


def test_a_folder_of_frames_becomes_projects_and_a_reload_shows_its_batch(studio: Studio, page: Page, tmp_path: Path):
    for name in ("batch_frame", "broken"):
        shutil.copytree(ROOT / "sample_scenes" / "stack", tmp_path / "tables" / name)
    (tmp_path / "tables" / "broken" / "rgb.png").write_bytes(b"no picture")
    page.goto(studio.address)
    board, batch = page.locator(".gallery .board"), page.locator(".gallery .batch")
    board.get_by_role("button", name="New batch").click()
    board.get_by_label("Run until").select_option("segments")
    board.get_by_label("Folder of frames").set_input_files(tmp_path / "tables")
    expect(batch.locator(".batch-progress")).to_contain_text("of 2 frames done")
    with leaving(page):
        page.reload()
    expect(batch).to_have_attribute("data-state", "ended", timeout=LONG)
    expect(batch.locator(".batch-progress")).to_have_text("1 of 2 frames done · 1 failed")
    expect(batch.locator(".batch-frame.failed")).to_contain_text("rgb.png is not a picture")
    expect(board.locator("[data-name=batch_frame]")).to_be_visible()
    batch.get_by_role("button", name="Frames").click()
    batch.get_by_role("button", name="batch_frame").click()
    expect(page.locator(".top-bar strong")).to_have_text("batch frame", timeout=LONG)
