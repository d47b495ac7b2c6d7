"""A task from its text to the export, and a round that is edited: what Gradio's own widgets carry."""

import re
import zipfile
from pathlib import Path

from browser.app_page import LONG, OpenProject, open_copy, open_tab, stop_work, tab, wait_until_idle
from browser.studio_process import Studio
from browser.watched_page import close_app, press_keys
from playwright.sync_api import FrameLocator, Page, expect
from ready_projects import ready_project as ready

SCENE = "stack"
TASK = "put the green_cylinder on the left"
RECORD_STATUS = """() => {
  window.saidStatus = [];
  const text = (selector) => document.querySelector(selector)?.textContent ?? "";
  new MutationObserver(() => window.saidStatus.push([text(".status-bar .message"), text("#steps .tab-container")]))
    .observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
"""Records what the status bar and the tabs say, at every change of the page."""


def round_view(page: Page) -> FrameLocator:
    return page.frame_locator("#round iframe")


def test_a_written_task_is_stopped_solved_exported_and_outlives_a_kill(project: OpenProject, tmp_path: Path):
    """Guards Gradio's text field and buttons, tab labels that agree with the bar, a download, a reload after a kill."""
    page, timeline = project.page, project.page.locator(".round-timeline")
    open_tab(page, "Task")
    page.locator("#task-text :is(textarea, input)").fill(TASK)
    page.locator("#generate").click()
    page.locator(".status-bar .stop").dispatch_event("click")  # at once: the work may be short
    expect(page.locator(".status-bar .message")).to_contain_text("Stopped", timeout=LONG)
    wait_until_idle(page)
    page.evaluate(RECORD_STATUS)
    page.locator("#task-text :is(textarea, input)").press("Enter")
    expect(timeline.locator("[data-round='0']")).to_contain_text("✓ 5 of 5 checks", timeout=LONG)
    wait_until_idle(page)
    expect(round_view(page).get_by_text("recording")).to_be_visible(timeout=LONG)  # it plays by itself
    timeline.get_by_role("button", name="Close replay").click()
    expect(page.locator("#round iframe")).to_be_hidden()
    open_tab(page, "Review")
    expect(page.locator(".results .verdict")).to_contain_text("Solved")
    expect(page.locator(".results .seed")).to_have_count(8)
    said = page.evaluate("window.saidStatus")
    assert any("Solved" in message for message, _ in said)
    assert not [one for one in said if "Solved" in one[0] and "Running" in one[1]]
    expect(page.frame_locator("#replay iframe").get_by_text("recording")).to_be_visible(timeout=LONG)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download zip").click()
    download.value.save_as(tmp_path / "task.zip")
    names = zipfile.ZipFile(tmp_path / "task.zip").namelist()
    assert any(name.endswith("README.md") for name in names) and any(name.endswith(".xml") for name in names)
    before = project.decisions
    close_app(page)
    project.studio.kill()
    project.studio.start()
    project.reopen()
    open_tab(page, "Review")
    expect(page.locator(".results .seed")).to_have_count(8)
    wait_until_idle(page)
    assert project.decisions == before and project.kinds == ["task"]


def test_an_edited_round_becomes_a_branch_whose_fault_is_repaired(studio: Studio, page: Page):
    """Guards Gradio's code editors, the repair menu, the plot, and views that open.

    If the editor's parts are gone, Gradio changed: adapt static/studio/codemirror_indent.js.
    """
    rounds, timeline = open_copy(studio, page, ready(SCENE, "solution", TASK)), page.locator(".round-timeline")
    open_tab(page, "Task")
    timeline.get_by_role("button", name="Edit and branch").click()
    expect(page.locator("#edited-task :is(textarea, input)")).to_have_value(TASK)
    code = page.locator("#codes .cm-content[contenteditable=true]").first
    expect(code).to_contain_text("def build(")  # the code comes after the editor
    code.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("if True:")
    press_keys(page, "Enter", "Tab")
    lines = code.locator(".cm-line")
    expect(lines.nth(1)).to_have_text(re.compile("^ {8}import kit"))  # indented by four, then to the next multiple
    page.keyboard.press("Control+z")
    expect(lines.nth(1)).to_have_text(re.compile("^ {4}import kit"))
    page.keyboard.press("Control+a")
    source = (rounds.folder / "rounds" / "000" / "simulation.py").read_text()
    page.keyboard.insert_text(source.replace('"green_cylinder"', '"yellow_cube"'))
    expect(code).to_contain_text("yellow_cube")
    page.get_by_role("button", name="Run from here").click()
    view = round_view(page)  # nothing was clicked to open it
    expect(view.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    expect(timeline.locator("[data-round='1']")).to_contain_text("→ repair the simulation", timeout=LONG)
    expect(timeline.locator("[data-round='2']")).to_contain_text("✓", timeout=LONG)
    wait_until_idle(page)
    expect(timeline.locator(".branch")).to_have_text(["First", "↳ from 0"])
    expect(tab(page, "Task")).to_contain_text("Done")
    page.locator("#steps > .tabitem").evaluate_all("pages => pages.forEach(page => page.scrollBy(0, 400))")
    expect(page.locator("#round")).to_be_in_viewport(ratio=0.8)  # beside what is read of its round
    timeline.get_by_role("button", name="Checks by round").click()
    expect(page.locator("#round-chart .js-plotly-plot")).to_be_visible(timeout=LONG)
    timeline.get_by_role("button", name="Round", exact=True).click()
    expect(page.locator("#round-chart")).to_be_hidden()
    page.locator("#mode input").click()
    page.get_by_role("option", name="No repair").click()
    expect(page.locator("#mode input")).to_have_value("No repair")
    wait_until_idle(page)
    rounds.reopen()
    open_tab(page, "Task")
    expect(page.locator("#mode input")).to_have_value("No repair")
    expect(timeline.locator("[data-round]")).to_have_count(3)
    assert rounds.json("task.json")["instruction"] == TASK
    stop_work(page)
