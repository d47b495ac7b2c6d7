"""Policies evaluated in the real page. Guards the command in a process of the server, and what a kill leaves."""

import pytest
from browser.app_page import LONG, open_copy, stop_work
from browser.studio_process import Studio
from browser.watched_page import PAGE_LOGS
from playwright.sync_api import Page, expect
from ready_projects import ready_project as ready

pytest.importorskip("gymnasium", reason='gymnasium is missing: pip install "grs-studio[gymnasium]"')


def test_two_policies_are_evaluated_outlive_a_kill_of_the_studio_and_play_side_by_side(studio: Studio, page: Page):
    project = open_copy(studio, page, ready("stack", "solution", "put the green_cylinder on the left"))
    page.locator(".evaluate-button").click()
    shown = page.locator(".evaluate")
    shown.get_by_label("Hold still").check()
    shown.get_by_label("Number of conditions").fill("1")
    shown.locator("[data-act=start]").click()
    expect(shown.locator(".cell").first).to_contain_text("✓", timeout=LONG)
    studio.kill()
    studio.start()
    project.reopen()
    PAGE_LOGS[page].take_errors()  # of the requests while it was away
    page.locator(".evaluate-button").click()
    expect(shown.locator(".cell").first).to_contain_text("✓")
    shown.locator("[data-act=start]").click()  # goes on with the other policy
    expect(shown.locator(".words")).to_contain_text("hold minus demonstration: −100 percentage points", timeout=LONG)
    shown.locator(".cell").last.click()
    for pane in shown.locator(".pane iframe").all():
        expect(pane.content_frame.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    expect(shown.locator("figcaption").last).to_have_text("hold · ✗ never reached")
    stop_work(page)
