"""What static/ needs of Gradio's page; each is named in the head comment of the file that needs it.

A failure here means that Gradio changed: adapt the file that the message names, then its head comment. What it needs of
the code editors is tested in test_task_page.py.
"""

import re
import zipfile
from pathlib import Path

from browser.app_page import OpenProject, open_tab
from browser.studio_process import Studio
from playwright.sync_api import Page, Route, expect

SCENE = "blocks"


def needs(page: Page, selector: str, file: str) -> None:
    """Fail with the file's name if nothing in the page matches the selector."""
    needed = page.locator(selector).first
    expect(needed, f"Gradio's page has no {selector} any more; static/{file} needs it").to_be_attached()


def test_a_page_has_the_classes_tabs_and_panels_that_are_restyled_and_followed(project: OpenProject):
    """Guards the classes of Gradio's containers, and the roles and panels of its tabs."""
    page, tabs = project.page, "#steps .tab-container [role=tab]"
    needs(page, tabs, "studio/gradio_tabs.js")
    for step in ("Frame", "Objects", "Task"):
        open_tab(page, step)
        needs(page, f"{tabs}[aria-selected=true]", "studio/gradio_tabs.js")
        text = page.locator(f"{tabs}[aria-selected=true]").inner_text().strip()
        assert text.startswith(step), f"the open tab reads {text!r}; static/studio/gradio_tabs.js needs its label first"
    needs(page, ".tabitem .task-cards", "studio/gradio_tabs.js")
    expect(page.locator(".task-cards")).to_be_visible()
    for selector in (
        ".gradio-container .main.fillable", ".gradio-container .block > .html-container", ".gradio-container .row",
        ".gradio-container .column", ".gradio-container .form",
        ".gradio-container button.lg, .gradio-container button.sm", "#steps .tab-wrapper .tab-container .selected",
        "#steps > .tabitem > .column", "#ask .block", "#models .html-container",
    ):  # fmt: skip
        needs(page, selector, "gradio.css")


def test_a_page_says_what_it_opens_and_keeps_the_notices_of_what_it_refused(studio: Studio, page: Page, tmp_path: Path):
    """Guards Gradio's toasts and its upload: an address without a project, and a frame that cannot be read."""
    held: list[Route] = []
    released: list[bool] = []
    page.route("**/queue/join*", lambda route: route.continue_() if released else held.append(route))
    page.goto(f"{studio.address}?project=not_there", wait_until="commit")
    overlay, toast = page.locator(".loading-overlay"), page.get_by_test_id("toast-text")
    expect(overlay).to_have_text("Opening not there …")
    released.append(True)
    for route in held:
        route.continue_()
    expect(overlay).to_have_count(0)
    page.unroute("**/queue/join*")
    expect(toast, "static/studio/gradio_notices.js needs data-testid=toast-text").to_contain_text("not_there")
    needs(page, ".toast-wrap .toast-title.warning", "gradio.css")
    header = page.locator(".toast-header:not([role])")
    expect(header, "static/studio/gradio_notices.js needs .toast-header").to_have_count(1)
    needs(page, "#drop .wrap .icon-wrap", "gradio.css")
    page.get_by_test_id("toast-close").click()
    expect(toast).to_have_count(0)

    broken = tmp_path / "broken.zip"
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("rgb.png", b"not a picture")
    page.locator("#drop input[type=file]").set_input_files(broken)
    expect(toast.filter(has_text="lacks depth.png and camera.json")).to_be_visible()
    assert not (studio.workspace / "broken").exists()
    expect(page.locator("#drop")).to_contain_text("Click to Upload")  # the next file can be dropped
    recent = page.locator(".top-bar").get_by_role("button", name=re.compile(r"^\d+ notice"))
    expect(recent).to_have_text("2 notices")
    page.get_by_test_id("toast-close").click()
    recent.click()
    expect(page.locator(".notices p")).to_contain_text(["lacks depth.png", 'There is no project "not_there"'])
