"""A page that missed what happened shows it within seconds, without a reload."""

import re

from browser.app_page import OpenProject, tab, undo_button
from browser.watched_page import PAGE_LOGS, open_page, wait_for_requests
from playwright.sync_api import Browser, Locator, Page, Route, expect

SCENE = "sizes"
STREAM = "**/queue/data*"
"""Address of Gradio's stream of what follows from the events of a page."""
CLOSED = 'data: {"msg": "close_stream"}\n\n'


def row(page: Page) -> Locator:
    """The first object in the list."""
    return page.locator(".object-list .row[data-id='1']")


def lose_the_next_answer(page: Page) -> list[Route]:
    """Close the next stream of answers at once, as Gradio does when an event is sent while the last one ends."""
    lost: list[Route] = []

    def close(route: Route) -> None:
        lost.append(route)
        route.fulfill(content_type="text/event-stream", body=CLOSED)

    page.route(STREAM, close, times=1)
    return lost


def test_what_is_typed_while_the_server_is_away_is_kept_and_sent_when_it_is_back(project: OpenProject):
    """Guards the way of an event through Gradio that has no server."""
    page, banner = project.page, project.page.locator(".connection-lost")
    task, name = page.locator("#task-text :is(input, textarea)"), page.locator(".inspector input.name")
    for step in ("Task", "Objects"):  # their scripts are loaded
        tab(page, step).click()
        wait_for_requests(page, 2)
    row(page).click()
    expect(name).to_be_visible()
    page.context.set_offline(True)
    name.fill("my thing")
    name.press("Enter")
    tab(page, "Task").click()
    task.fill("put my thing to the left")
    expect(banner).to_be_visible()
    expect(page.get_by_test_id("toast-body").locator("visible=true")).to_have_count(0)
    with page.expect_navigation():
        page.context.set_offline(False)
    expect(row(page)).to_contain_text("my thing")
    expect(task).to_have_value("put my thing to the left")
    assert project.kinds == ["display_name"]
    PAGE_LOGS[page].take_errors()  # of requests without a server


def test_what_another_tab_changes_and_what_gradio_loses_is_shown_all_the_same(project: OpenProject, browser: Browser):
    """Guards Gradio's streams: an update and a project that is opened, whose answers are lost; and a second tab."""
    page, name = project.page, project.page.locator(".inspector input.name")
    row(page).click()
    name.fill("my thing")
    lost = lose_the_next_answer(page)
    name.press("Enter")
    expect(row(page)).to_contain_text("my thing")
    assert lost and project.kinds == ["display_name"]
    with open_page(browser) as other:
        other.goto(f"{project.studio.address}?project={project.name}")
        expect(row(other)).to_contain_text("my thing")
        undo_button(other).click()
        expect(row(page)).not_to_contain_text("my thing")
    assert project.kinds == ["display_name", "undo"]
    page.get_by_role("button", name="GRS Studio").click()
    tile = page.locator(".gallery section", has_text="Projects").locator(f"[data-name={project.name}]")
    expect(tile).to_be_visible()
    wait_for_requests(page, 10)
    lost = lose_the_next_answer(page)
    tile.click()
    expect(row(page)).to_be_visible()
    assert lost
    expect(page).to_have_url(re.compile(rf"\?project={project.name}&"))
