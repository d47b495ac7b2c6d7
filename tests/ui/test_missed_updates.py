"""A page that missed what happened shows it within seconds, without a reload."""

import re

from browser.app_page import OpenProject, undo_button
from browser.watched_page import open_page, wait_for_requests
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
