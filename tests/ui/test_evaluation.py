"""Policies evaluated in the real page. Guards the command in a process of the server, which outlives the page."""

from browser.app_page import LONG, open_copy, stop_work
from browser.studio_process import Studio
from playwright.sync_api import Page, expect
from ready_projects import ready_project as ready


def test_two_policies_are_evaluated_while_the_page_is_loaded_again_and_play_side_by_side(studio: Studio, page: Page):
    project = open_copy(studio, page, ready("stack", "solution", "put the green_cylinder on the left"))
    page.locator(".evaluate-button").click()
    shown = page.locator(".evaluate")
    shown.get_by_label("Hold still").check()
    shown.get_by_label("Number of conditions").fill("1")
    shown.locator("[data-act=start]").click()
    expect(shown.locator("[data-act=stop]")).to_be_visible()
    project.reopen()
    page.locator(".evaluate-button").click()
    expect(shown.locator(".words")).to_contain_text("hold minus demonstration: -100 percentage points", timeout=LONG)
    shown.locator(".cell").last.click()
    expect(shown.locator("figcaption").last).to_have_text("hold · ✗ never reached", timeout=LONG)
    for pane in shown.locator(".pane iframe").all():
        expect(pane.content_frame.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    stop_work(page)
