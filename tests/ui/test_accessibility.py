"""Every page by axe-core, by its smallest text, in narrow windows, in both themes and in German."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from browser.app_page import LONG, OpenProject, hint, open_tab, tab
from browser.axe import findings
from browser.watched_page import PAGE_LOGS, close_app
from playwright.sync_api import Page, expect

SCENE = "blocks"
STEPS = ("Frame", "Masks", "Objects", "Scene", "Task", "Review")


def open_models(page: Page) -> None:
    page.locator(".service.opens").first.click()
    expect(page.locator(".models-panel")).to_be_visible()


def open_library(page: Page) -> None:
    page.keyboard.press("Escape")
    page.locator(".library-button").click()
    expect(page.locator(".library .grid .tile").first).to_be_visible()


def open_compare(page: Page) -> None:
    page.locator(".compare-button").click()
    expect(page.locator(".compare [data-table=joints] tr").first).to_be_visible(timeout=LONG)
    for pane in page.locator(".compare iframe").all():
        expect(pane.content_frame.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)


PAGES: list[tuple[str, Callable[[Page], None]]] = [
    *((step, lambda page, step=step: open_tab(page, step)) for step in STEPS),
    ("models", open_models),
    ("library", open_library),
    ("compare", open_compare),
]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_page_and_no_text_is_under_12_pixels(project: OpenProject, theme: Any):
    page = project.page
    page.emulate_media(color_scheme=theme)
    for name, open_page in PAGES:
        open_page(page)
        expect(page.locator(".loading-overlay")).to_have_count(0)
        assert not findings(page), name
    close_app(page)
    page.goto(project.studio.address)
    expect(page.locator(".gallery .tile").first).to_be_visible()
    assert not findings(page)
    page.emulate_media(color_scheme="light")


@pytest.mark.parametrize("size", [(1024, 768), (1280, 800), (853, 533), (1920, 1080)], ids=str)
def test_all_steps_show_and_no_page_scrolls_sideways(project: OpenProject, size: tuple[int, int]):
    """853 x 533 is 1280 x 800 at a zoom of 150 %."""
    page = project.page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for step in STEPS:
        expect(tab(page, step)).to_be_visible()
        open_tab(page, step)
        sideways = "one => one.scrollWidth - one.clientWidth"
        assert page.locator("#steps > .tabitem:visible").evaluate(sideways) <= 0, step
        if step == "Masks":
            box = hint(page).bounding_box()
            assert box and box["width"] > 250 and box["height"] > 30
    page.set_viewport_size({"width": 1280, "height": 800})


def test_the_page_speaks_german_when_a_person_chooses_it(project: OpenProject):
    page = project.page
    language = page.get_by_label("Language", exact=True)
    language.select_option(label="Deutsch")
    expect(tab(page, "Szene")).to_contain_text("Fertig")
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator(".object-list")).to_contain_text("Niedrigste Konfidenz zuerst")
    tab(page, "Aufgabe und Simulation").click()
    expect(page.get_by_role("button", name="Erzeugen")).to_be_visible()
    expect(page.locator(".status-bar")).to_contain_text(re.compile("Bereit|Aufgabe"))
    page.get_by_label("Sprache", exact=True).select_option(label="English")
    expect(tab(page, "Scene")).to_contain_text("Done")
    PAGE_LOGS[page].take_errors()  # of Gradio, about requests that end when the page is loaded again
