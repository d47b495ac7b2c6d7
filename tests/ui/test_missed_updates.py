"""A page that missed what happened to its project shows it within seconds, without a reload."""

from browser.app_page import OpenProject, undo_button
from browser.watched_page import open_page
from playwright.sync_api import Browser, Locator, Page, Route, expect

SCENE = "sizes"
STREAM = "**/queue/data*"
"""Address of Gradio's stream of what follows from the events of a page."""
CLOSED = 'data: {"msg": "close_stream"}\n\n'


def row(page: Page) -> Locator:
    """The first object in the list."""
    return page.locator(".object-list .row[data-id='1']")


def rename(page: Page, name: str) -> None:
    """Give the first object another name."""
    row(page).click()
    field = page.locator(".inspector input.name")
    field.fill(name)
    field.press("Enter")


def test_what_one_tab_changes_is_shown_in_another(project: OpenProject, browser: Browser):
    with open_page(browser) as other:
        other.goto(f"{project.studio.address}?project={project.name}")
        expect(row(other)).to_be_visible()
        rename(project.page, "my thing")
        expect(row(other)).to_contain_text("my thing")
        undo_button(other).click()
        expect(row(project.page)).not_to_contain_text("my thing")


def test_an_answer_that_gradio_loses_is_shown_all_the_same(project: OpenProject):
    # Gradio closes the stream of answers when the last event is answered, and loses one that is sent at that moment.
    page, lost = project.page, list[Route]()
    row(page).click()

    def close(route: Route) -> None:
        lost.append(route)
        route.fulfill(content_type="text/event-stream", body=CLOSED)

    page.route(STREAM, close, times=1)
    rename(page, "my thing")
    expect(row(page)).to_contain_text("my thing")
    assert lost and project.kinds == ["display_name"]
