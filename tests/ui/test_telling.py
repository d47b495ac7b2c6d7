"""What a page tells: what is being opened from its first moment on, and notices, to be read again."""

import re

import pytest
from conftest import PLAIN, Studio
from playwright.sync_api import Page, Route, expect


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    return PLAIN


def test_a_page_says_what_it_opens_and_keeps_what_was_wrong_with_it(studio: Studio, page: Page):
    held: list[Route] = []
    shown: list[bool] = []
    page.route("**/queue/join*", lambda route: route.continue_() if shown else held.append(route))
    page.goto(f"{studio.address}?project=not_there", wait_until="commit")
    arriving = page.locator(".arriving")
    expect(arriving).to_have_text("Opening not there …")
    shown.append(True)
    for route in held:
        route.continue_()
    expect(arriving).to_have_count(0)
    page.get_by_test_id("toast-close").click()
    expect(page.get_by_test_id("toast-text")).to_have_count(0)
    again = page.locator(".top-bar").get_by_role("button", name=re.compile(r"^\d+ notice"))
    expect(again).to_have_text("1 notice")
    again.click()
    expect(page.locator(".notices")).to_contain_text('There is no project "not_there" in this workspace')
