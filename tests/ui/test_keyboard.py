"""Work by keyboard alone. Guards the way of the focus through Gradio's tabs, text fields and code editors."""

import re
from pathlib import Path

from browser.app_page import LONG, copy_project, tab, wait_until_idle
from browser.masks import canvas, hint
from browser.studio_process import Studio
from playwright.sync_api import Locator, Page, expect

SCENE = "blocks"
MAX_TABS = 150


def press(page: Page, element: Locator, key: str = "Enter") -> None:
    """Lead the focus to an element by Tab and press a key there."""
    for _ in range(MAX_TABS):
        expect(element.first).to_be_visible(timeout=LONG)  # the way on is hidden while something runs
        if element.first.evaluate("one => one === document.activeElement && document.hasFocus()"):
            return page.keyboard.press(key)
        page.keyboard.press("Tab")
    raise AssertionError("the element cannot be reached by Tab")


def test_a_task_is_solved_and_its_code_edited_by_keyboard_alone(studio: Studio, ready_project: Path, page: Page):
    project = copy_project(studio, page, ready_project)
    page.goto(studio.address)
    card = page.locator(f".gallery [data-name={project.name}]").first
    expect(card).to_be_visible()
    press(page, card)
    expect(tab(page, "Scene")).to_contain_text("Done", timeout=LONG)
    wait_until_idle(page)
    press(page, tab(page, "Masks"))
    first = page.locator(".mask-canvas [data-act='tool:add']")
    expect(first).to_be_visible()
    press(page, page.locator(".skip-link"))  # past the bars
    page.keyboard.press("Tab")
    expect(first).to_be_focused()
    press(page, canvas(page), "2")
    expect(hint(page)).to_contain_text("red cube")
    page.keyboard.press("Enter")
    expect(hint(page)).to_contain_text("accepted by you")
    wait_until_idle(page)
    for step in ("Objects", "Scene", "Task"):
        press(page, page.locator(".status-bar .next"))
        expect(tab(page, step)).to_have_attribute("aria-selected", "true")
    card = page.locator(".task-cards .task", has_text="Put the red cube on top").first
    expect(card).to_be_visible(timeout=LONG)
    press(page, card)
    expect(page.locator("#task-text :is(input, textarea)")).to_have_value(re.compile("red cube"))
    expect(card).to_be_focused()
    press(page, page.locator("#generate"))
    expect(page.locator(".round-timeline [data-round='0']")).to_contain_text("✓", timeout=LONG)
    wait_until_idle(page)
    press(page, tab(page, "Review"))
    expect(page.locator(".results .verdict")).to_contain_text("Solved")
    press(page, page.get_by_role("link", name="Download zip"), "Shift")
    press(page, tab(page, "Task"))
    press(page, page.locator(".round-timeline .edit"))
    expect(page.locator("#edited-task :is(input, textarea)")).to_be_focused()
    code = page.locator("#codes .cm-content").first
    text = code.text_content() or ""
    press(page, code, "Tab")
    expect(code).to_have_js_property("textContent", f"    {text}")  # indented
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(code).not_to_be_focused()
