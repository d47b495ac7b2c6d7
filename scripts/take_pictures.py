"""Take the README's pictures of the six steps again (`make pictures`)."""

import re
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.studio_process import Studio
from tests.browser.watched_page import CHROMIUM, FLAGS, open_page

SCENE = "kitchen"
PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
LONG = 300_000


def open_step(page: Page, name: str) -> None:
    """Open a step's tab."""
    page.get_by_role("tab", name=re.compile(f"^{name}")).click()


def wait_until_idle(page: Page) -> None:
    """Wait until no stage is running."""
    expect(page.locator(".status-bar .spin")).to_have_count(0, timeout=LONG)


def take(page: Page, name: str, settle_ms: int = 1500) -> None:
    """Save a picture once images and 3D views have had time to be drawn."""
    page.wait_for_timeout(settle_ms)
    page.screenshot(path=PICTURES / f"{name}.png")
    print(f"{name}.png")


def take_all(page: Page, address: str) -> None:
    """Go through the six steps of a sample scene."""
    page.goto(address)
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    expect(page.get_by_role("tab", name=re.compile("^Scene"))).to_contain_text("Done", timeout=LONG)
    wait_until_idle(page)
    open_step(page, "Frame")
    page.locator(".frame-view canvas").nth(1).hover(position={"x": 150, "y": 175})
    cloud = page.frame_locator("#point-cloud iframe").locator("body")
    expect(cloud).to_have_attribute("data-state", "showing", timeout=LONG)
    take(page, "frame")
    open_step(page, "Masks")
    take(page, "masks", 3000)
    open_step(page, "Objects")
    take(page, "objects", 12_000)
    open_step(page, "Scene")
    page.locator(".object-list .row").first.click()
    view = page.frame_locator("#twin iframe").locator("body")
    expect(view).to_have_attribute("data-state", "showing", timeout=LONG)
    take(page, "scene", 4000)
    open_step(page, "Task")
    text = page.locator("#task-text textarea, #task-text input")
    before = text.input_value()
    page.locator(".task-cards .task").nth(1).click()
    expect(text).not_to_have_value(before)
    words = text.input_value()
    page.locator("#generate").click()
    expect(page.locator(".status-bar .message")).to_contain_text("Solved", timeout=LONG)
    wait_until_idle(page)
    expect(page.locator(".round-timeline .task")).to_contain_text(words)
    take(page, "task", 4000)
    open_step(page, "Review")
    take(page, "review", 4000)


def main() -> None:
    """Take all pictures."""
    with tempfile.TemporaryDirectory() as workspace, sync_playwright() as playwright:
        studio = Studio(Path(workspace))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        try:
            with open_page(browser) as page:
                take_all(page, studio.address)
                page.goto("about:blank")
        finally:
            browser.close()
            studio.close()


if __name__ == "__main__":
    main()
