"""A person finds the way. Guards what moves Gradio's tabs: the work, the address, and the guided demo."""

import re
from pathlib import Path

import pytest
from browser.app_page import LONG, copy_project, open_tab, rows, tab, wait_until_idle
from browser.studio_process import Studio
from browser.watched_page import leaving
from playwright.sync_api import Page, expect

SCENE = "blocks"


def expect_open(page: Page, title: str) -> None:
    expect(tab(page, title)).to_have_attribute("aria-selected", "true", timeout=LONG)


def test_pages_follow_the_work_until_a_person_does_something(studio: Studio, page: Page):
    page.goto(studio.address)
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    for title in ("Masks", "Objects", "Scene"):
        expect_open(page, title)
    wait_until_idle(page)
    open_tab(page, "Masks")
    expect(page).to_have_url(re.compile("step=masks"))


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
