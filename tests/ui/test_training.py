"""A policy learned in the real page; longer trainings belong to make soak."""

import re
from collections.abc import Iterator

import pytest
from browser.app_page import LONG, OpenProject, open_copy, stop_work, undo_button
from browser.studio_process import Studio
from playwright.sync_api import Page, expect
from ready_projects import ready_project as ready

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')


@pytest.fixture
def learn(studio: Studio, page: Page) -> Iterator[OpenProject]:
    """A project with a solved task, open on the Learn page with its task split into subtasks."""
    project = open_copy(studio, page, ready("stack", "solution", "put the green_cylinder on the left"))
    page.locator(".learn-button").click()
    expect(page.locator(".learn [data-subtask]").first).to_contain_text("not learned", timeout=LONG)
    yield project
    stop_work(page)


def test_a_training_is_followed_and_stopped_and_an_edit_of_the_reward_undone(learn: OpenProject):
    """Guards requests outside of Gradio's queue, a training in a process of the server, and Undo of an edit."""
    page, shown = learn.page, learn.page.locator(".learn")
    names = [one.get_attribute("data-subtask") for one in shown.locator("[data-subtask]").all()]
    assert len(names) >= 2 and str(names[0]).startswith("reach")
    shown.get_by_label("Demonstrations").fill("0")
    shown.get_by_role("button", name="Train this subtask").click()
    title = shown.locator("[data-subtask] strong").first.inner_text()
    expect(shown.locator(".progress-text")).to_contain_text(f"{title}: ", timeout=LONG)
    shown.get_by_role("button", name="■ Stop").click()
    expect(shown).to_contain_text("Stopped; what was learned is kept.", timeout=LONG)
    weight = shown.locator("input.weight").first
    before = weight.input_value()
    weight.fill("0.25")
    weight.press("Enter")
    expect(undo_button(page)).to_have_attribute("title", re.compile("subtask edited"))
    expect(weight).to_have_value("0.25")
    undo_button(page).click()
    expect(weight).to_have_value(before)
    assert learn.kinds == ["task", "subtasks", "undo"]
