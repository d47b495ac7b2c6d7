"""The studio as a person uses it, in one sitting and in this order: from a sample scene to a solved task, and back
after a power cut."""

import json
import os
import re
import zipfile
from pathlib import Path

from conftest import Studio, leave
from playwright.sync_api import Page, expect

SCENE = "stack"
shots = os.environ.get("GRS_SHOTS")
"""A folder to keep a picture of every step in, for a person to look at."""


def shot(page: Page, name: str) -> None:
    if shots:
        page.screenshot(path=Path(shots) / f"{name}.png")


def tab(page: Page, name: str):
    return page.get_by_role("tab", name=re.compile(f"^{name}"))


def settled(page: Page) -> None:
    """Waits until no work goes on."""
    expect(page.locator(".status-bar .spin")).to_have_count(0)


def decided(studio: Studio) -> list[str]:
    log = studio.workspace / SCENE / "decisions.jsonl"
    return [json.loads(line)["kind"] for line in log.read_text().splitlines()] if log.exists() else []


def test_a_sample_scene_opens_and_its_frame_is_read_under_the_cursor(studio: Studio, page: Page):
    page.goto(studio.address)
    shot(page, "0_gallery")
    page.locator(f".gallery [data-name={SCENE}]").click()
    frame = page.locator(".frame-view")
    expect(frame.locator(".key", has_text="table")).to_be_visible()
    frame.locator("canvas").nth(1).hover(position={"x": 180, "y": 200})
    expect(frame.locator(".readout")).to_contain_text(re.compile(r"0\.\d{3} m"))
    expect(frame.locator(".readout")).to_contain_text("cm above the table")
    expect(page.locator("#cloud .js-plotly-plot")).to_be_visible()
    expect(page.locator(".object-list .row").nth(3)).to_be_visible()
    shot(page, "1_frame")
    expect(tab(page, "Task")).to_contain_text("to do")
    settled(page)
    expect(tab(page, "Scene")).to_contain_text("done")
    assert page.url.endswith(f"?project={SCENE}")


def test_a_click_outlines_what_is_under_it_and_undo_takes_it_back(studio: Studio, page: Page):
    tab(page, "Masks").click()
    canvas, rows = page.locator(".mask-canvas canvas"), page.locator(".object-list .row")
    expect(page.locator(".mask-canvas .hint")).to_contain_text("Click an object")
    count = rows.count()
    canvas.press("1")
    expect(rows.first).to_have_class(re.compile("selected"))
    canvas.press("Delete")
    expect(rows).to_have_count(count - 1)
    expect(tab(page, "Scene")).to_contain_text("done")
    page.get_by_role("button", name=re.compile("Undo")).first.click()
    expect(rows).to_have_count(count)
    box = canvas.bounding_box()
    assert box
    canvas.press("n")
    canvas.click(position={"x": box["width"] * 0.5, "y": box["height"] * 0.5})
    expect(canvas).to_have_attribute("data-ms", re.compile(r"\d"))
    shot(page, "2_masks")
    canvas.press("Escape")
    settled(page)
    assert decided(studio) == ["delete_segment", "undo"]


def test_an_object_is_renamed_and_given_another_asset(studio: Studio, page: Page):
    tab(page, "Objects").click()
    cards, row = page.locator(".object-cards"), page.locator(".object-list .row[data-id='1']")
    row.click()
    name = page.locator(".inspector input.name")
    name.fill("my thing")
    name.press("Enter")
    expect(row).to_contain_text("my_thing")
    expect(cards.locator(".one .head strong")).to_have_text("my_thing")
    shot(page, "3_objects")
    settled(page)  # the cards are drawn anew after a rename
    second = cards.locator(".asset").nth(1)
    second.click()
    cards.get_by_role("button", name="Choose this").click()
    expect(second).to_have_attribute("aria-pressed", "true")
    expect(cards).to_contain_text("chosen by a person")
    expect(cards.locator(".asset", has_text="machine's choice")).to_have_count(1)
    page.get_by_role("button", name=re.compile("Undo")).first.click()
    expect(cards).to_contain_text(re.compile("chosen by the matcher|the matcher chose none"))
    settled(page)
    assert decided(studio)[-3:] == ["rename", "choose_asset", "undo"]


def test_the_twin_is_shown_and_what_is_selected_in_the_list_is_selected_in_it(page: Page):
    tab(page, "Scene").click()
    viewer = page.frame_locator("#twin iframe")
    expect(viewer.locator("canvas").first).to_be_visible()
    row = page.locator(".object-list .row[data-id='2']")
    row.click()
    name = row.locator(".name").inner_text()
    expect(viewer.get_by_text(name.replace("_", " ")).first).to_be_visible()
    expect(page.locator(".fit-table tr.selected")).to_contain_text(name)
    expect(page.locator(".fit-table")).to_contain_text("overlap")
    shot(page, "4_scene")


def test_a_task_is_generated_solved_and_taken_home(studio: Studio, page: Page, tmp_path: Path):
    tab(page, "Task").click()
    page.locator(".task-cards .task").first.click()
    text = page.locator("#task-text textarea, #task-text input")
    expect(text).not_to_have_value("")
    page.locator("#generate").click()
    timeline = page.locator(".round-timeline")
    expect(timeline.locator(".stop", has_text="Round 0")).to_be_visible()
    expect(timeline.locator(".check").first).to_be_visible()
    shot(page, "5_task")
    settled(page)
    timeline.get_by_role("button", name="Watch").click()
    expect(page.frame_locator("#round iframe").get_by_text("recording")).to_be_visible()
    timeline.get_by_role("button", name="Close the replay").click()
    expect(page.locator("#round iframe")).to_be_hidden()
    tab(page, "Review").click()
    expect(page.locator(".results .verdict")).to_contain_text("Solved")
    expect(page.locator(".results .seed")).to_have_count(8)
    expect(page.frame_locator("#replay iframe").get_by_text("recording")).to_be_visible()
    shot(page, "6_review")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download zip").click()
    download.value.save_as(tmp_path / "task.zip")
    names = zipfile.ZipFile(tmp_path / "task.zip").namelist()
    assert any(name.endswith("README.md") for name in names) and any(name.endswith(".xml") for name in names)


def test_an_impossible_task_is_refused_with_the_reason(page: Page):
    tab(page, "Task").click()
    page.locator("#task-text textarea, #task-text input").fill("put the elephant in the fridge")
    page.locator("#generate").click()
    expect(page.get_by_text(re.compile("elephant|fridge")).last).to_be_visible()
    settled(page)


def test_work_stops_when_a_person_says_so(page: Page):
    page.locator("#task-text textarea, #task-text input").fill("")
    page.locator("#generate").click()
    page.locator(".status-bar .stop").dispatch_event("click")  # at once: the work may be short
    expect(page.locator(".status-bar .message")).to_contain_text("Stopped")
    settled(page)


def test_a_frame_that_cannot_be_read_is_refused_in_one_line(studio: Studio, page: Page, tmp_path: Path):
    broken = tmp_path / "broken.zip"
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("rgb.png", b"not a picture")
    page.get_by_role("button", name="GRS Studio").click()
    page.locator("#drop input[type=file]").set_input_files(broken)
    expect(page.get_by_test_id("toast-text").filter(has_text="lacks depth.png and camera.json")).to_be_visible()
    shot(page, "7_notice")
    assert not (studio.workspace / "broken").exists()
    expect(page.locator("#drop")).to_contain_text("Click to Upload")  # room for the next one
    page.wait_for_timeout(500)
    expect(page.locator(f".gallery [data-name={SCENE}]").first).to_be_visible()


def test_nothing_decided_is_lost_when_the_server_is_killed(studio: Studio, page: Page):
    before = decided(studio)
    leave(page)
    studio.kill()
    studio.start()
    page.goto(studio.address)
    page.locator(".gallery section", has_text="Your projects").locator(f"[data-name={SCENE}]").click()
    expect(page.locator(".object-list .row", has_text="my_thing")).to_be_visible()
    tab(page, "Review").click()
    expect(page.locator(".results .seed")).to_have_count(8)
    settled(page)
    assert decided(studio) == before
