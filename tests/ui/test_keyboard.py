"""The studio by keyboard alone, and what a screen reader finds in its canvases."""

import re

import pytest
from browser.app_page import (
    LONG,
    OpenProject,
    canvas,
    hint,
    open_masks,
    open_tab,
    screenshot,
    tab,
    undo_button,
    wait_until_idle,
)
from browser.watched_page import close_app
from playwright.sync_api import Locator, Page, expect

SCENE = "blocks"
MAX_TABS = 150
"""Presses of Tab within which every page comes round to its first element again."""
OPENERS = {
    ".models-panel": "button.service",
    ".trace-view": ".calls",
    ".library": ".library-button",
    ".compare": ".compare-button",
}
"""The button that opens each page over the page."""
FOCUSED = """(root) => {
  const one = document.activeElement;
  if (one === document.body || one.tagName === "IFRAME") return null;
  const box = one.getBoundingClientRect(), around = one.tagName === "CANVAS" ? one.parentElement : one;
  const lines = [one, around].map((each) => getComputedStyle(each)), frame = getComputedStyle(around, "::after");
  return {
    name: one.getAttribute("aria-label") || one.title || one.innerText || one.labels?.[0]?.innerText || "",
    shown: box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
    reachable: !one.closest("[inert]"),
    marked: one.matches("[role=tabpanel], video")
      || lines.some(({ outlineStyle, outlineWidth }) => outlineStyle !== "none" && parseFloat(outlineWidth) >= 2)
      || frame.borderStyle === "solid" && parseFloat(frame.borderWidth) >= 2,
  };
}"""


def is_focused(element: Locator) -> bool:
    """Whether an element has the keyboard's focus, in the page or in a frame that has it."""
    return bool(element.count()) and element.first.evaluate(
        "one => one === document.activeElement && document.hasFocus()"
    )


def tab_to(page: Page, element: Locator) -> None:
    """Press Tab until an element has the focus. Fails if it never has."""
    for _ in range(MAX_TABS):
        if is_focused(element):
            return
        page.keyboard.press("Tab")
    raise AssertionError("the element cannot be reached by Tab")


def press(page: Page, element: Locator, key: str = "Enter") -> None:
    """Lead the focus to an element and press a key there."""
    tab_to(page, element)
    page.keyboard.press(key)


def test_a_task_is_solved_by_keyboard_alone_from_the_gallery_on(project: OpenProject):
    page = project.page
    close_app(page)
    page.goto(project.studio.address)
    card = page.locator(f".gallery [data-name={project.name}]").first
    expect(card).to_be_visible()
    press(page, card)
    expect(tab(page, "Scene")).to_contain_text("Done", timeout=LONG)
    wait_until_idle(page)
    press(page, tab(page, "Masks"))
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
    tab_to(page, page.get_by_role("link", name="Download zip"))


@pytest.mark.parametrize("step", ["Frame", "Masks", "Objects", "Scene", "Task", "Review"])
def test_tab_goes_round_a_page_and_every_stop_is_seen(project: OpenProject, step: str):
    page = project.page
    open_tab(page, step)
    wait_until_idle(page)
    if step == "Task":
        expect(page.locator(".task-cards .task").nth(3)).to_be_visible(timeout=LONG)
    first = page.locator(".skip-link")
    first.focus()
    stops = 0
    for _ in range(MAX_TABS):
        page.keyboard.press("Tab")
        if is_focused(first):
            break
        for frame in page.frames:
            stop = frame.evaluate(f"one => document.hasFocus() ? ({FOCUSED})(one) : null")
            stops += bool(stop)
            assert not stop or (stop["name"] and stop["shown"] and stop["reachable"] and stop["marked"]), (step, stop)
    assert is_focused(first) and stops > 15


def test_the_skip_link_leads_past_the_bars(project: OpenProject):
    page = project.page
    open_masks(page)
    press(page, page.locator(".skip-link"))
    page.keyboard.press("Tab")
    expect(page.locator(".mask-canvas [data-act='tool:add']")).to_be_focused()


def test_a_crosshair_clicks_drags_a_box_and_names_what_it_is_on(project: OpenProject):
    page = project.page
    open_masks(page)
    canvas(page).focus()
    page.keyboard.press("1")
    page.keyboard.press("ArrowRight")  # shows the crosshair on the selected object
    under, objects = page.locator(".mask-canvas .under"), canvas(page).locator("li")
    expect(under).to_have_text("red ball")
    assert objects.all_text_contents()[0] == "1 red ball"
    assert canvas(page).get_attribute("aria-activedescendant") == objects.first.get_attribute("id")
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    expect(under).to_have_text("No object here")
    page.keyboard.press("Escape")
    for key in ["ArrowUp"] * 5 + ["ArrowRight"] * 8:
        page.keyboard.press(key)
    page.keyboard.down("Space")
    for key in ["ArrowDown"] * 10 + ["ArrowRight"] * 8:
        page.keyboard.press(key)
    page.keyboard.up("Space")
    expect(hint(page)).to_contain_text("New object.")
    screenshot(page, "keyboard_box")
    page.keyboard.press("Enter")
    expect(hint(page)).to_contain_text("accepted by you")
    expect(undo_button(page)).to_be_enabled()  # the page shows an accepted mask before it is saved
    assert [(one["kind"], one["data"]["id"]) for one in project.decisions] == [("mask", 8)]


def test_objects_of_the_twin_are_named_selected_and_seen_from_elsewhere_by_keys(project: OpenProject):
    page = project.page
    open_tab(page, "Scene")
    view = page.frame_locator("#twin iframe")
    expect(view.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    press(page, view.locator("#canvas"), "n")
    names = view.locator("#objects li").all_text_contents()
    expect(view.locator("#announcement")).to_have_text(f"{names[0]} selected")
    page.keyboard.press("n")
    expect(view.locator("#announcement")).to_have_text(f"{names[1]} selected")
    active = view.locator("#canvas").get_attribute("aria-activedescendant")
    expect(view.locator(f"#{active}")).to_have_text(names[1])
    expect(page.locator(".object-list .row.selected .name")).to_contain_text(names[1])
    label = view.locator("#labels .selected")
    before = label.get_attribute("style")
    page.keyboard.press("[")
    expect(label).not_to_have_attribute("style", before or "")


@pytest.mark.parametrize("panel", OPENERS)
def test_a_page_over_the_page_takes_the_focus_and_escape_gives_it_back(project: OpenProject, panel: str):
    page = project.page
    button = page.locator(OPENERS[panel]).first
    press(page, button)
    expect(page.locator(panel)).to_be_visible()
    expect(page.locator(f"#models :focus, {panel} :focus, {panel}:focus")).to_have_count(1)
    expect(page.locator("#centre")).to_have_attribute("inert", "")
    page.keyboard.press("Escape")
    expect(page.locator(panel)).to_be_hidden()
    expect(page.locator("#centre")).not_to_have_attribute("inert", "")
    expect(button).to_be_focused()


def test_the_focus_stays_at_a_filter_that_redraws_the_cards(project: OpenProject):
    page = project.page
    open_tab(page, "Task")
    expect(page.locator(".task-cards .task").nth(3)).to_be_visible(timeout=LONG)
    place = page.locator(".task-cards .filter", has_text="Place")
    press(page, place)
    expect(place).to_have_attribute("aria-pressed", "true")
    expect(place).to_be_focused()


def test_the_code_editor_opens_with_its_task_and_escape_and_tab_lead_out(project: OpenProject):
    page = project.page
    open_tab(page, "Task")
    expect(page.locator(".task-cards .task").nth(3)).to_be_visible(timeout=LONG)
    page.locator(".task-cards .task").first.click()
    page.locator("#generate").click()
    expect(page.locator(".round-timeline [data-round='0']")).to_be_visible(timeout=LONG)
    press(page, page.locator(".round-timeline .edit"))
    expect(page.locator("#edited-task :is(input, textarea)")).to_be_focused()
    code = page.locator("#codes .cm-content").first
    tab_to(page, code)
    text = code.text_content() or ""
    page.keyboard.press("Tab")
    expect(code).to_have_js_property("textContent", f"    {text}")  # indented
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(code).not_to_be_focused()
