"""The Learn page: a task split into subtasks, a training that is stopped, and an edit of a reward that is undone."""

import re

import pytest
from browser.app_page import LONG, OpenProject, open_tab, screenshot, stop_work, undo_button
from browser.axe import findings
from playwright.sync_api import Locator, expect

pytest.importorskip("stable_baselines3", reason='stable-baselines3 is missing: pip install "grs-studio[learn]"')

SCENE = "stack"
TASK = "put the green_cylinder on the left"


@pytest.fixture
def learn(project: OpenProject) -> Locator:
    """The Learn page of a project with a program, after its task was split into subtasks."""
    page = project.page
    open_tab(page, "Task")
    page.locator("#task-text textarea, #task-text input").fill(TASK)
    page.locator("#generate").click()
    expect(page.locator(".round-timeline [data-round='0']")).to_contain_text("✓", timeout=LONG)
    stop_work(page)
    page.locator(".learn-button").click()
    expect(page.locator(".learn [data-subtask]").first).to_be_visible(timeout=LONG)
    return page.locator(".learn")


def test_a_training_is_started_and_stopped_and_an_edit_of_the_reward_is_undone(learn: Locator, project: OpenProject):
    names = [one.get_attribute("data-subtask") for one in learn.locator("[data-subtask]").all()]
    assert len(names) >= 2 and str(names[0]).startswith("reach")
    expect(learn.locator("[data-subtask]").first).to_contain_text("not learned")
    learn.get_by_label("Demonstrations").fill("0")
    learn.get_by_role("button", name="Train this subtask").click()
    stop = learn.get_by_role("button", name="■ Stop")
    expect(stop).to_be_visible()
    expect(learn.locator(".progress-text")).to_contain_text(re.compile(r"of at most 80,000 steps"), timeout=LONG)
    screenshot(project.page, "learn_training")
    stop.click()
    expect(learn).to_contain_text("Stopped; what was learned is kept.", timeout=LONG)

    weight = learn.locator("input.weight").first
    before = weight.input_value()
    weight.fill("0.25")
    weight.press("Enter")
    expect(weight).to_have_value("0.25")
    expect(undo_button(project.page)).to_have_attribute("title", re.compile("subtask edited"))
    assert project.kinds[-1] == "subtasks"
    screenshot(project.page, "learn_edited")
    for theme in ("dark", "light"):
        project.page.emulate_media(color_scheme=theme)
        assert not findings(project.page), theme
    undo_button(project.page).click()
    expect(weight).to_have_value(before)


def test_a_training_tells_in_sentences_what_it_does_and_ends_with_its_policy_at_work(
    learn: Locator, project: OpenProject
):
    learn.get_by_label("Most steps").fill("4096")
    learn.get_by_label("Demonstrations").fill("12")
    learn.get_by_role("button", name="Train this subtask").click()
    progress, told = learn.locator(".progress-text"), set[str]()
    expect(progress).to_be_visible()
    watched = learn.locator("figure.pane iframe")
    for _ in range(600):
        told |= {re.sub(r"\d+", "N", one) for one in progress.all_inner_texts()}
        if watched.is_visible():
            break
        project.page.wait_for_timeout(250)
    expect(watched).to_be_visible()
    title = learn.locator("[data-subtask] strong").first.inner_text()
    assert any(one.startswith(f"{title}: imitates the oracle") for one in told), told
    assert not any("_" in one or "success" in one for one in told), told
    expect(learn.get_by_label("Checkpoint")).to_contain_text("After imitating the oracle")
    screenshot(project.page, "learn_imitated")
    learn.locator("[data-subtask]").nth(1).click()
    expect(watched).to_be_hidden()
    learn.locator("[data-subtask]").first.click()
    expect(watched).to_be_visible()  # its first episode
