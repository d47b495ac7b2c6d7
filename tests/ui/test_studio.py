"""The studio from a sample scene to a solved task: what each step shows, what is undone, and what survives a crash."""

import re
import zipfile
from pathlib import Path

from browser.app_page import (
    LONG,
    OpenProject,
    canvas,
    hint,
    open_masks,
    open_tab,
    rows,
    screenshot,
    tab,
    undo_button,
    wait_until_idle,
)
from browser.studio_process import Studio
from browser.watched_page import close_app
from playwright.sync_api import Locator, Page, expect

SCENE = "stack"


RECORD_STATUS = """() => {
  window.saidStatus = [];
  const text = (selector) => document.querySelector(selector)?.textContent ?? "";
  new MutationObserver(() => window.saidStatus.push([text(".status-bar .message"), text("#steps .tab-container")]))
    .observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
"""Records what the status bar and the tabs say, at every change of the page."""


def instruction(page: Page) -> Locator:
    return page.locator("#task-text textarea, #task-text input")


def generate(page: Page, text: str) -> None:
    """Write a task and press Generate."""
    instruction(page).fill(text)
    page.locator("#generate").click()


def test_a_sample_scene_opens_and_its_frame_is_read_under_the_cursor(studio: Studio, page: Page):
    page.goto(studio.address)
    screenshot(page, "0_gallery")
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    frame = page.locator(".frame-view")
    expect(tab(page, "Frame")).to_be_visible(timeout=LONG)
    open_tab(page, "Frame")  # the page does not follow the work any more
    expect(frame.locator(".key", has_text="table")).to_be_visible(timeout=LONG)
    frame.locator("canvas").nth(1).hover(position={"x": 180, "y": 200})
    expect(frame.locator(".readout")).to_contain_text(re.compile(r"0\.\d{3} m"))
    expect(frame.locator(".readout")).to_contain_text("cm above the table")
    cloud = page.frame_locator("#point-cloud iframe")
    expect(cloud.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    cloud.locator("canvas").hover()
    expect(cloud.locator("#readout")).to_contain_text(re.compile(r"x -?\d\.\d{3} "))
    expect(rows(page).nth(3)).to_be_visible(timeout=LONG)
    screenshot(page, "1_frame")
    expect(tab(page, "Task")).to_contain_text("Not started")
    wait_until_idle(page)
    expect(tab(page, "Scene")).to_contain_text("Done")
    assert page.url.endswith(f"?project={SCENE}&step=frame")


def test_a_mask_is_deleted_and_undone_and_a_click_is_answered(project: OpenProject):
    page = project.page
    open_masks(page)
    count = rows(page).count()
    canvas(page).press("1")
    expect(rows(page).first).to_have_class(re.compile("selected"))
    canvas(page).press("Delete")
    expect(rows(page)).to_have_count(count - 1)
    expect(tab(page, "Scene")).to_contain_text("Done", timeout=LONG)
    undo_button(page).click()
    expect(rows(page)).to_have_count(count)
    box = canvas(page).bounding_box()
    assert box
    canvas(page).press("n")
    canvas(page).click(position={"x": box["width"] * 0.5, "y": box["height"] * 0.5})
    expect(canvas(page)).to_have_attribute("data-ms", re.compile(r"\d"))
    screenshot(page, "2_masks")
    canvas(page).press("Escape")
    expect(hint(page)).to_contain_text("Click a mask")
    wait_until_idle(page)
    assert project.kinds == ["delete_segment", "undo"]


def test_an_object_is_called_by_its_display_name_and_keeps_its_id(project: OpenProject):
    page = project.page
    open_tab(page, "Scene")
    row, name = page.locator(".object-list .row[data-id='1']"), page.locator(".inspector input.name")
    row.click()
    id, words = page.locator(".inspector .id").inner_text(), name.input_value()
    name.fill("Grandma's mug 🫖")
    name.press("Enter")
    for place in (row, page.locator(".fit-table tr.selected"), page.locator(".adjuster")):
        expect(place).to_contain_text("Grandma's mug 🫖")
    expect(page.frame_locator("#twin iframe").locator("#labels .selected")).to_contain_text("Grandma's mug 🫖")
    expect(page.locator(".inspector .id")).to_have_text(id)
    expect(tab(page, "Scene")).to_contain_text("Done")
    name.fill("")
    name.press("Enter")
    expect(name).to_have_value(words)
    undo_button(page).click()
    expect(name).to_have_value("Grandma's mug 🫖")
    assert project.kinds == ["display_name", "display_name", "undo"]


def test_an_object_is_renamed_and_given_another_asset(project: OpenProject):
    page = project.page
    open_tab(page, "Objects")
    cards, row = page.locator(".object-cards"), page.locator(".object-list .row[data-id='1']")
    row.click()
    name = page.locator(".inspector input.name")
    name.fill("my thing")
    name.press("Enter")
    expect(row).to_contain_text("my thing")
    expect(cards.locator(".current .head .name")).to_have_text("my thing")
    screenshot(page, "3_objects")
    wait_until_idle(page)  # the cards are drawn again after a rename
    second = cards.locator(".asset").nth(1)
    second.click()
    cards.locator("button.choose").click()
    expect(second).to_have_attribute("aria-pressed", "true")
    expect(cards.locator(".source")).to_contain_text("Chosen by you")
    expect(cards.locator(".asset", has_text="Matcher's choice")).to_have_count(1)
    undo_button(page).click()
    expect(cards.locator(".source")).not_to_contain_text("Chosen by you")
    expect(cards.locator(".source")).to_contain_text("matcher")
    wait_until_idle(page)
    assert project.kinds == ["display_name", "choose_asset", "undo"]


def test_an_object_selected_in_the_list_is_selected_in_the_twin(project: OpenProject):
    page = project.page
    open_tab(page, "Scene")
    viewer = page.frame_locator("#twin iframe")
    expect(viewer.locator("canvas").first).to_be_visible()
    row = page.locator(".object-list .row[data-id='2']")
    row.click()
    name = row.locator(".name").inner_text()
    label = viewer.locator("#labels").get_by_text(name.replace("_", " "))
    expect(label.first).to_be_visible(timeout=LONG)
    expect(page.locator(".fit-table tr.selected")).to_contain_text(name)
    expect(page.locator(".fit-table")).to_contain_text("IoU")
    screenshot(page, "4_scene")


def test_a_task_is_generated_solved_and_exported(studio: Studio, project: OpenProject, tmp_path: Path):
    page = project.page
    open_tab(page, "Task")
    page.locator(".task-cards .task").first.click(timeout=LONG)
    expect(instruction(page)).not_to_have_value("")
    page.evaluate(RECORD_STATUS)
    page.locator("#generate").click()
    timeline = page.locator(".round-timeline")
    expect(timeline.locator(".round", has_text="Round 0")).to_be_visible(timeout=LONG)
    expect(timeline.locator(".check").first).to_be_visible()
    screenshot(page, "5_task")
    wait_until_idle(page)
    recording = page.frame_locator("#round iframe").get_by_text("recording")
    expect(recording).to_be_visible(timeout=LONG)  # the round plays by itself
    timeline.get_by_role("button", name="Close replay").click()
    expect(page.locator("#round iframe")).to_be_hidden()
    timeline.get_by_role("button", name="▶ Replay", exact=True).first.click()
    expect(recording).to_be_visible(timeout=LONG)
    timeline.get_by_role("button", name="Close replay").click()
    expect(page.locator("#round iframe")).to_be_hidden()
    open_tab(page, "Review")
    expect(page.locator(".results .verdict")).to_contain_text("Solved")
    expect(page.locator(".results .seed")).to_have_count(8)
    said = page.evaluate("window.saidStatus")
    assert any("Solved" in message for message, _ in said)
    assert not [one for one in said if "Solved" in one[0] and "Running" in one[1]]
    expect(page.frame_locator("#replay iframe").get_by_text("recording")).to_be_visible(timeout=LONG)
    screenshot(page, "6_review")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download zip").click()
    download.value.save_as(tmp_path / "task.zip")
    names = zipfile.ZipFile(tmp_path / "task.zip").namelist()
    assert any(name.endswith("README.md") for name in names) and any(name.endswith(".xml") for name in names)
    before = project.decisions
    close_app(page)
    studio.kill()
    studio.start()
    project.reopen()
    open_tab(page, "Review")
    expect(page.locator(".results .seed")).to_have_count(8)
    wait_until_idle(page)
    assert project.decisions == before


def test_an_impossible_task_is_refused_with_the_reason(project: OpenProject):
    open_tab(project.page, "Task")
    generate(project.page, "put the elephant in the fridge")
    expect(project.page.locator(".clarification")).to_contain_text(re.compile("elephant|fridge"), timeout=LONG)
    wait_until_idle(project.page)


def test_work_stops_on_request(project: OpenProject):
    page = project.page
    open_tab(page, "Task")
    generate(page, "")
    page.locator(".status-bar .stop").dispatch_event("click")  # at once: the work may be short
    expect(page.locator(".status-bar .message")).to_contain_text("Stopped", timeout=LONG)
    wait_until_idle(page)


def test_an_unreadable_frame_is_refused_in_one_line(studio: Studio, page: Page, tmp_path: Path):
    broken = tmp_path / "broken.zip"
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("rgb.png", b"not a picture")
    page.goto(studio.address)
    page.locator("#drop input[type=file]").set_input_files(broken)
    expect(page.get_by_test_id("toast-text").filter(has_text="lacks depth.png and camera.json")).to_be_visible()
    screenshot(page, "7_notice")
    assert not (studio.workspace / "broken").exists()
    expect(page.locator("#drop")).to_contain_text("Click to Upload")  # the next file can be dropped
    expect(page.locator(f".gallery [data-name={SCENE}]").first).to_be_visible()


def test_the_top_bar_leads_back_to_the_gallery_with_the_project(project: OpenProject):
    page = project.page
    page.get_by_role("button", name="GRS Studio").click()
    page.locator(".gallery section", has_text="Projects").locator(f"[data-name={project.name}]").click()
    expect(rows(page).first).to_be_visible()
    assert f"?project={project.name}&" in page.url


def test_no_decision_is_lost_when_the_server_is_killed(studio: Studio, project: OpenProject):
    page, row = project.page, project.page.locator(".object-list .row[data-id='1']")
    row.click()
    name = page.locator(".inspector input.name")
    name.fill("my thing")
    name.press("Enter")
    expect(row).to_contain_text("my thing")
    before = project.decisions
    assert project.kinds == ["display_name"]
    close_app(page)
    studio.kill()
    studio.start()
    project.reopen()
    expect(page.locator(".object-list .row", has_text="my thing")).to_be_visible()
    wait_until_idle(page)
    assert project.decisions == before
