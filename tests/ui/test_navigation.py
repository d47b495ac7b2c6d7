"""A person finds the way: pages follow the work, Next leads on, and the address keeps the place."""

import re

from browser.app_page import LONG, OpenProject, open_tab, tab, wait_until_idle
from browser.studio_process import Studio
from browser.watched_page import close_app, leaving
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


def test_every_step_of_an_opened_project_is_labelled_with_its_state(project: OpenProject):
    for title in ("Frame", "Masks", "Objects", "Scene"):
        expect(tab(project.page, title)).to_contain_text("Done")
    for title in ("Task and simulation", "Review and export"):
        expect(tab(project.page, title)).to_contain_text("Not started")


def test_next_leads_from_step_to_step_and_says_what_to_look_at(project: OpenProject):
    page = project.page
    next_button, note = page.locator(".status-bar .next"), page.locator(".status-bar .note")
    open_tab(page, "Frame")
    expect(note).to_have_text("The outline should follow the table.")
    for title, seen in (("Masks", r"\d+ (objects|mask)"), ("Objects", "confidence"), ("Scene", "photograph")):
        expect(next_button).to_have_text(f"Next: {title}")
        next_button.click()
        expect_open(page, title)
        expect(note).to_have_text(re.compile(seen))
    next_button.click()
    expect_open(page, "Task")
    expect(next_button).to_be_hidden()  # a task is to be chosen first


def test_back_forward_and_reload_keep_the_step_and_the_object(project: OpenProject):
    page = project.page
    open_tab(page, "Masks")
    page.locator(".object-list .row").nth(1).click()
    expect(page).to_have_url(re.compile(r"step=masks.*&object=2"))
    open_tab(page, "Scene")
    page.go_back()
    expect_open(page, "Masks")
    page.go_forward()
    expect_open(page, "Scene")
    with leaving(page):
        page.reload()
        expect_open(page, "Scene")
    expect(page.locator(".object-list .row").nth(1)).to_have_class(re.compile("selected|on"))


def test_back_from_a_project_leads_to_the_gallery(studio: Studio, project: OpenProject):
    page = project.page
    close_app(page)
    page.goto(studio.address)
    page.locator(f".gallery [data-name={project.name}]").first.click()
    expect(page.locator(".object-list .row").first).to_be_visible()
    with leaving(page):
        page.go_back()
        expect(page.locator(".gallery").first).to_be_visible()


def test_visiting_the_pages_decides_nothing_and_ticks_nothing(project: OpenProject):
    page, before = project.page, len(project.decisions)
    for title in ("Frame", "Masks", "Objects", "Scene", "Task", "Review"):
        open_tab(page, title)
        expect_open(page, title)
    wait_until_idle(page)
    expect(page.get_by_label("Lowest confidence first").first).not_to_be_checked()
    assert len(project.decisions) == before


def test_the_guided_demo_leads_to_a_solved_task_and_pauses_when_a_person_clicks(studio: Studio, page: Page):
    page.goto(f"{studio.address}?demo=1")
    demo = page.locator(".demo")
    expect(demo).to_contain_text("One photograph with depth")
    expect(demo).to_contain_text("Every object gets an outline", timeout=LONG)
    page.locator(".object-list .row").first.click()
    expect(demo.get_by_role("button", name="Continue")).to_be_visible()
    demo.get_by_role("button", name="Continue").click()
    expect(demo).to_contain_text("tested on several seeds", timeout=LONG)
    expect_open(page, "Review")
    expect(page.locator(".results")).to_contain_text("Solved")
    playing = page.frame_locator("#replay iframe").locator("body")
    expect(playing).to_have_class(re.compile("playing"), timeout=LONG)
    expect(playing).to_have_attribute("data-selected", "")
    demo.get_by_role("button", name="End demo").click()
    expect(demo).to_have_count(0)
