"""The project board as a person uses it: found, judged, deleted, brought back, by mouse and keyboard."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.app_page import screenshot
from browser.studio_process import Studio
from browser.watched_page import PAGE_LOGS
from playwright.sync_api import Locator, Page, expect

from bench.planted_projects import plant_projects
from tests.ui.test_accessibility import findings

NAME = "frame_00008"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with seventy projects, more than a page shows."""
    workspace = tmp_path_factory.mktemp("workspace")
    plant_projects(workspace, 70)
    running = Studio(workspace)
    yield running
    running.close()


@pytest.fixture
def board(studio: Studio, page: Page) -> Iterator[Locator]:
    """The board, as a table, without filters."""
    page.goto(studio.address)
    board = page.locator(".gallery .board")
    board.get_by_role("button", name="Table").click()
    expect(board.locator("tr.project")).to_have_count(60)
    yield board
    PAGE_LOGS[page].take_errors()


def project(board: Locator, name: str) -> Locator:
    return board.locator(".project").filter(has=board.page.locator(f"[data-name={name}]"))


def note(board: Locator) -> Locator:
    return board.locator(".board-note")


def curation(folder: Path) -> dict[str, Any]:
    path = folder / "curation.json"
    return json.loads(path.read_text()) if path.exists() else {}


def test_a_project_is_found_rejected_deleted_and_brought_back(studio: Studio, board: Locator):
    folder, bar = studio.workspace / NAME, board.locator(".board-bar")
    board.get_by_label("Search projects").fill(NAME)
    expect(board.locator(".project")).to_have_count(1)
    expect(board.locator(".count")).to_have_text("1 of 70 projects")
    project(board, NAME).locator(".pick").check()
    bar.get_by_role("button", name="Reject …").click()
    bar.get_by_role("button", name="Reject", exact=True).click()
    expect(note(board)).to_contain_text("Give a reason")
    bar.get_by_role("button", name="Reject …").click()
    bar.get_by_label("Reason for the rejection").fill("the table is cut off")
    bar.get_by_label("Reason for the rejection").press("Enter")
    expect(project(board, NAME).locator(".verdict.rejected")).to_be_visible()
    assert (curation(folder)["verdict"], curation(folder)["reason"]) == ("rejected", "the table is cut off")
    before = curation(folder)
    bar.get_by_role("button", name="Delete").click()
    expect(note(board)).to_contain_text("1 project moved to the bin.")
    expect(board).to_contain_text("No project matches.")
    expect(bar).to_be_hidden()
    assert not folder.exists()
    note(board).get_by_role("button", name="Undo").click()
    expect(project(board, NAME)).to_be_visible()
    assert curation(folder) == before
    board.get_by_role("button", name="Clear filters").click()
    expect(board.locator(".project")).to_have_count(60)


def test_several_are_selected_with_the_keyboard_and_tagged(studio: Studio, board: Locator):
    page, links = board.page, board.locator("[data-name]")
    board.get_by_role("button", name="Project", exact=True).click()
    expect(links.first).to_have_text("Frame 00000")
    links.first.focus()
    page.evaluate("window.clicks = 0; addEventListener('click', () => window.clicks++, true)")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(board.locator(".board-bar")).to_contain_text("2 selected")
    page.wait_for_timeout(200)
    assert page.evaluate("window.clicks") == 0, "the space bar selects a project and does not open it"
    screenshot(page, "board_table")
    board.get_by_role("button", name="Tags …").click()
    board.get_by_label("Tag, or several with commas").fill("bright, two words")
    board.get_by_role("button", name="Add tag").click()
    expect(note(board)).to_contain_text("Tags of 2 projects changed.")
    assert {"bright", "two words"} <= set(curation(studio.workspace / "frame_00001")["tags"])
    board.get_by_label("Tag", exact=True).select_option("bright")
    expect(board.locator(".project")).to_have_count(2)
    note(board).get_by_role("button", name="Undo").click()
    expect(board).to_contain_text("No project matches.")


def test_pages_and_cards_show_all_projects(studio: Studio, board: Locator):
    board.get_by_role("button", name="Cards").click()
    expect(board.locator("button.tile")).to_have_count(60)
    board.get_by_role("button", name="Next ›").click()
    expect(board.locator(".pager")).to_contain_text("61 to 70 of 70")
    expect(board.locator("button.tile")).to_have_count(10)
    screenshot(board.page, "board_cards")


def test_projects_are_grouped_and_a_deleted_one_comes_back_from_the_bin(studio: Studio, board: Locator):
    page = board.page
    board.get_by_label("Group by").select_option("verdict")
    expect(board.locator("h3.group").first).to_have_text("Accepted")
    expect(board.locator("h3.group").last).to_have_text("No verdict")
    board.get_by_label("Group by").select_option("")
    name = "frame_00011"
    project(board, name).locator(".pick").check()
    board.locator(".board-bar").get_by_role("button", name="Delete").click()
    expect(note(board)).to_contain_text("1 project moved to the bin.")
    page.reload()
    board.get_by_role("button", name="Bin").click()
    panel = board.locator(".board-panel")
    expect(panel).to_contain_text("Frame 00011")
    panel.get_by_role("button", name="Empty the bin …").click()
    screenshot(page, "board_bin")
    assert not findings(page)
    panel.get_by_role("button", name="Cancel").click()
    panel.get_by_role("button", name="Restore", exact=True).click()
    expect(panel).to_contain_text("1 project restored.")
    expect(panel).to_contain_text("The bin is empty.")
    assert (studio.workspace / name).is_dir()


def test_a_set_of_accepted_projects_is_made_and_removed(board: Locator):
    board.get_by_role("button", name="Sets", exact=True).click()
    panel = board.locator(".board-panel")
    panel.get_by_label("Name of the set").fill("tables")
    panel.get_by_role("button", name="Make set of all accepted").click()
    expect(panel.locator("tbody tr")).to_contain_text("train")
    assert not findings(board.page)
    panel.get_by_role("button", name="Remove").click()
    expect(panel).to_contain_text("No set yet.")


def test_effort_shows_what_is_corrected_most_and_closes_again(board: Locator):
    board.get_by_role("button", name="Effort").click()
    panel = board.locator(".board-panel")
    expect(panel.get_by_role("img", name="Corrected most", exact=True)).to_contain_text("Name")
    expect(panel).to_contain_text("No frame was worked on in two projects.")
    assert not findings(board.page)
    panel.get_by_role("button", name="Close").click()
    expect(board.locator("tr.project")).to_have_count(60)
    expect(panel).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_the_table_with_its_actions(theme: Any, board: Locator):
    page = board.page
    page.emulate_media(color_scheme=theme)
    board.get_by_label("Select all on this page").check()
    expect(board.locator(".board-bar")).to_contain_text(re.compile("60 selected"))
    assert not findings(page)
    page.emulate_media(color_scheme="light")
