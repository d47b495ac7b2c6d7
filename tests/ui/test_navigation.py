"""A person finds the way, and a page that missed what happened shows it within seconds, without a reload.

Guards what moves Gradio's tabs (the address, and the guided demo), its streams, its upload of a folder, and the
processes of a batch.
"""

import re
import shutil
from pathlib import Path

import pytest
from browser.app_page import LONG, OpenProject, copy_project, open_tab, rows, tab, undo_button
from browser.studio_process import ROOT, Studio
from browser.watched_page import leaving, open_page
from playwright.sync_api import Browser, Locator, Page, Route, expect

SCENE = "blocks"


def expect_open(page: Page, title: str) -> None:
    expect(tab(page, title)).to_have_attribute("aria-selected", "true", timeout=LONG)


def test_back_forward_and_reload_keep_the_step_and_the_object(studio: Studio, ready_project: Path, page: Page):
    project = copy_project(studio, page, ready_project)
    page.goto(studio.address)
    page.locator(f".gallery [data-name={project.name}]").first.click()
    expect(rows(page).first).to_be_visible()
    with leaving(page):
        page.go_back()
        expect(page.locator(".gallery .board")).to_be_visible()
    page.goto(f"{studio.address}?project={project.name}")
    open_tab(page, "Masks")
    rows(page).nth(1).click()
    expect(page).to_have_url(re.compile(r"step=masks.*&object=2"))
    open_tab(page, "Scene")
    page.go_back()
    expect_open(page, "Masks")
    page.go_forward()
    expect_open(page, "Scene")
    with leaving(page):
        page.reload()
        expect_open(page, "Scene")
    expect(rows(page).nth(1)).to_have_class(re.compile("selected"))


@pytest.mark.soak
def test_the_guided_demo_leads_to_a_solved_task_and_pauses_when_a_person_clicks(studio: Studio, page: Page):
    page.goto(f"{studio.address}?demo=1")
    demo = page.locator(".demo")
    expect(demo).to_contain_text("One photograph with depth")
    expect(demo).to_contain_text("Every object gets an outline", timeout=LONG)
    rows(page).first.click()
    demo.get_by_role("button", name="Continue").click()
    expect(demo).to_contain_text("tested on several seeds", timeout=LONG)
    expect_open(page, "Review")
    expect(page.locator(".results")).to_contain_text("Solved")
    playing = page.frame_locator("#replay iframe").locator("body")
    expect(playing).to_have_class(re.compile("playing"), timeout=LONG)
    expect(playing).to_have_attribute("data-selected", "")
    demo.get_by_role("button", name="End demo").click()
    expect(demo).to_have_count(0)


def row(page: Page) -> Locator:
    return page.locator(".object-list .row[data-id='1']")


def test_what_another_tab_changes_is_shown_and_a_project_opens_although_gradio_loses_its_answer(
    project: OpenProject, browser: Browser
):
    """Guards the channel between two tabs, and the event by which Gradio's own components follow it."""
    page, name = project.page, project.page.locator(".inspector input.name")
    task = page.locator("#task-text :is(input, textarea)")
    row(page).click()
    name.fill("my thing")
    name.press("Enter")
    expect(row(page)).to_contain_text("my thing")
    tab(page, "Task").click()
    task.fill("put my thing to the left")
    with open_page(browser) as other:
        other.goto(f"{project.studio.address}?project={project.name}")
        expect(row(other)).to_contain_text("my thing")
        undo_button(other).click()
        expect(row(page)).not_to_contain_text("my thing")
    expect(task).to_have_value("put my thing to the left")  # what is typed stays
    assert project.kinds == ["display_name", "undo"]
    page.get_by_role("button", name="GRS Studio").click()
    tile = page.locator(".gallery section", has_text="Projects").locator(f"[data-name={project.name}]")
    expect(tile).to_be_visible()
    lost: list[Route] = []
    closed = 'data: {"msg": "close_stream"}\n\n'

    def lose(route: Route) -> None:
        """Close the next stream of answers at once, as Gradio does when an event is sent while the last one ends."""
        lost.append(route)
        route.fulfill(content_type="text/event-stream", body=closed)

    page.route("**/queue/data*", lose, times=1)
    tile.click()
    expect(row(page)).to_be_visible()
    assert lost
    expect(page).to_have_url(re.compile(rf"\?project={project.name}&"))


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
