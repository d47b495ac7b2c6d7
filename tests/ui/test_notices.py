"""What a page says while it opens, and its notices."""

import re

from browser.studio_process import Studio
from playwright.sync_api import Page, Route, expect


def test_a_page_says_what_it_opens_and_keeps_its_notices(studio: Studio, page: Page):
    held: list[Route] = []
    released: list[bool] = []
    page.route("**/queue/join*", lambda route: route.continue_() if released else held.append(route))
    page.goto(f"{studio.address}?project=not_there", wait_until="commit")
    overlay = page.locator(".loading-overlay")
    expect(overlay).to_have_text("Opening not there …")
    released.append(True)
    for route in held:
        route.continue_()
    expect(overlay).to_have_count(0)
    page.unroute("**/queue/join*")
    page.get_by_test_id("toast-close").click()
    expect(page.get_by_test_id("toast-text")).to_have_count(0)
    recent = page.locator(".top-bar").get_by_role("button", name=re.compile(r"^\d+ notice"))
    expect(recent).to_have_text("1 notice")
    recent.click()
    expect(page.locator(".notices")).to_contain_text('There is no project "not_there" in this workspace')
