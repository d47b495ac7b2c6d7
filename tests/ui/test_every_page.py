"""Every page once, and what static/ needs of Gradio's page, each named in the head comment of the file that needs it.

Guards what Gradio frames our components with: tabs, text fields, code editors, accordions and their texts, focus and
width. A failure of `needs` means that Gradio changed: adapt the file that the message names, then its head comment.
What it needs of the code editors is tested in test_task_page.py, the components themselves in tests/components.
"""

import re
import zipfile
from pathlib import Path

from browser.app_page import LONG, OpenProject, open_tab, tab, wait_until_idle
from browser.axe import findings, shown_frames
from browser.studio_process import Studio
from browser.watched_page import PAGE_LOGS, close_app
from playwright.sync_api import Frame, Page, Route, expect

SCENE = "blocks"
LATER = ("Task", "Review")
STEPS = ("Frame", "Masks", "Objects", "Scene", *LATER)
MAX_TABS = 150
"""Presses of Tab within which every page comes round to its first element again."""
OVER = {
    ".models-panel": ("button.service", ".models-panel .services"),
    ".library": (".library-button", ".library .grid .tile"),
    ".evaluate.full-page": (".evaluate-button", ".evaluate .form"),
    ".compare.full-page": (".compare-button", ".compare.full-page .plot .main-svg"),
}
"""Pages over the page: the button that opens each, and what it then shows."""
SIDEWAYS = "one => one.scrollWidth - one.clientWidth"
STOP = """() => {
  const one = document.activeElement;
  if (one === document.body || one.tagName === "IFRAME") return one.tagName;
  const box = one.getBoundingClientRect(), around = one.tagName === "CANVAS" ? one.parentElement : one;
  const lines = [one, around].map((each) => getComputedStyle(each)), frame = getComputedStyle(around, "::after");
  const is_marked = one.matches("[role=tabpanel], video")
    || lines.some(({ outlineStyle, outlineWidth }) => outlineStyle !== "none" && parseFloat(outlineWidth) >= 2)
    || frame.borderStyle === "solid" && parseFloat(frame.borderWidth) >= 2;
  return {
    name: one.getAttribute("aria-label") || one.title || one.innerText || one.labels?.[0]?.innerText || "",
    shown: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    reachable: !one.closest("[inert]"), marked: is_marked, first: one.matches(".skip-link"),
  };
}"""
"""The element that has the focus."""


def stop_in(frame: Frame) -> dict[str, object]:
    """Return the focused element of the page, of a frame if that has the focus."""
    stop = frame.evaluate(STOP)
    if stop != "IFRAME":
        return {} if stop == "BODY" else stop
    inner = next(one for one in frame.child_frames if one.evaluate("document.hasFocus()"))
    return stop_in(inner)


def expect_round(page: Page) -> None:
    """Expect that Tab leads round the page, and that each stop is named, seen and marked."""
    for frame in shown_frames(page):
        frame.wait_for_load_state()  # with its styles
    page.locator(".skip-link").focus()
    for count in range(MAX_TABS):
        page.keyboard.press("Tab")
        stop = stop_in(page.main_frame)
        if stop.get("first"):
            assert count > 15
            return
        assert not stop or all(stop[key] for key in ("name", "shown", "reachable", "marked")), stop
    raise AssertionError("Tab does not come round")


def expect_no_fault(page: Page, where: str) -> None:
    """Expect that axe finds nothing on the page, and no text that is hard to read where it is dark."""
    assert not findings(page), where
    page.emulate_media(color_scheme="dark")
    assert not findings(page, ["color-contrast"]), (where, "dark")
    page.emulate_media(color_scheme="light")


def needs(page: Page, selector: str, file: str) -> None:
    """Fail with the file's name if nothing in the page matches the selector."""
    needed = page.locator(selector).first
    expect(needed, f"Gradio's page has no {selector} any more; static/{file} needs it").to_be_attached()


def expect_parts(page: Page) -> None:
    """Expect the classes of Gradio's containers, the roles of its tabs, and scripts that are loaded once."""
    needs(page, "#steps .tab-container [role=tab][aria-selected=true]", "studio/gradio_tabs.js")
    needs(page, ".tabitem .task-cards", "studio/gradio_tabs.js")
    for selector in (
        ".gradio-container .main.fillable", ".gradio-container .block > .html-container", ".gradio-container .row",
        ".gradio-container .column", ".gradio-container .form",
        ".gradio-container button.lg, .gradio-container button.sm", "#steps .tab-wrapper .tab-container .selected",
        "#steps > .tabitem > .column", "#ask .block", "#models .html-container",
    ):  # fmt: skip
        needs(page, selector, "gradio.css")
    loaded = page.evaluate("performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)")
    scripts = {path for path in loaded if path.startswith("/static") and path.endswith(".js")}
    assert len({path.split("/", 2)[2] for path in scripts}) == len(scripts) > 50, "each at one address"


def expect_german(page: Page) -> None:
    """Choose German and expect it in Gradio's page, ours, and what the server says."""
    page.get_by_label("Language", exact=True).select_option(label="Deutsch")
    expect(tab(page, "Szene")).to_contain_text("Fertig")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator(".object-list")).to_contain_text("Niedrigste Konfidenz zuerst")
    tab(page, "Aufgabe und Simulation").click()
    expect(page.get_by_role("button", name="Erzeugen")).to_be_visible()
    expect(page.locator(".status-bar")).to_contain_text(re.compile("Bereit|Aufgabe"))
    PAGE_LOGS[page].take_errors()  # of Gradio, about requests that end when the page is loaded again


def test_no_page_has_a_serious_fault_scrolls_sideways_keeps_the_focus_or_lacks_a_part_or_german(project: OpenProject):
    page = project.page
    for step in STEPS:
        open_tab(page, step)
        ends = "Not started" if step in LATER else "Done"
        expect(tab(page, step)).to_have_text(re.compile(f"^{step}.*{ends}", re.DOTALL))
        wait_until_idle(page)
        if step == "Task":
            expect(page.locator(".task-cards .task").nth(3)).to_be_visible(timeout=LONG)
            page.locator(".task-builder summary").click()
            expect(page.locator(".task-builder .verdict")).to_contain_text("✓", timeout=LONG)
            expect(page.frame_locator("#round iframe").locator("body")).to_have_attribute(
                "data-ghosts", re.compile("_")
            )
        expect_round(page)
        for width, height in ((1024, 768), (853, 533), (1280, 800)):  # the second is the third at a zoom of 150 %
            page.set_viewport_size({"width": width, "height": height})
            expect(tab(page, step)).to_be_visible()
            assert page.locator("#steps > .tabitem:visible").evaluate(SIDEWAYS) <= 0, (step, width)
        expect_no_fault(page, step)
    for panel, (opener, content) in OVER.items():
        button = page.locator(opener).first
        button.focus()
        page.keyboard.press("Enter")
        expect(page.locator(content).first).to_be_visible(timeout=LONG)
        expect(page.locator(f"#models :focus, {panel} :focus, {panel}:focus")).to_have_count(1)
        expect(page.locator("#centre")).to_have_attribute("inert", "")
        for frame in page.locator(f"{panel} iframe:visible").all():
            expect(frame.content_frame.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
        expect_no_fault(page, panel)
        assert page.locator(panel).evaluate(SIDEWAYS) <= 0, panel
        page.keyboard.press("Escape")
        expect(page.locator(panel)).to_be_hidden()
        expect(page.locator("#centre")).not_to_have_attribute("inert", "")
        expect(button).to_be_focused()
    expect_parts(page)
    expect_german(page)
    assert project.decisions == []  # to look at the pages decides nothing
    close_app(page)
    page.context.clear_cookies()
    page.goto(project.studio.address)
    expect(page.locator(".gallery .tile").first).to_be_visible()
    expect_no_fault(page, "gallery")


def test_a_page_says_what_it_opens_and_keeps_the_notices_of_what_it_refused(studio: Studio, page: Page, tmp_path: Path):
    """Guards Gradio's upload: an address without a project, and a frame that cannot be read."""
    held: list[Route] = []
    released: list[bool] = []
    page.route("**/queue/join*", lambda route: route.continue_() if released else held.append(route))
    page.goto(f"{studio.address}?project=not_there", wait_until="commit")
    overlay, toast = page.locator(".loading-overlay"), page.locator(".new-notice p")
    expect(overlay).to_have_text("Opening not there …")
    released.append(True)
    for route in held:
        route.continue_()
    expect(overlay).to_have_count(0)
    page.unroute("**/queue/join*")
    expect(toast).to_contain_text("not_there")
    needs(page, "#drop .wrap .icon-wrap", "gradio.css")
    page.get_by_role("button", name="Close", exact=True).click()
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
    page.get_by_role("button", name="Close", exact=True).click()
    recent.click()
    expect(page.locator(".notices p")).to_contain_text(["lacks depth.png", 'There is no project "not_there"'])
