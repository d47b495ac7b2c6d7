"""Many tasks on the Task page: the map of generated tasks, using one, and stopping the work."""

import json
import re
from collections.abc import Iterator

import pytest
from browser.app_page import LONG, OpenProject, open_tab, rows, screenshot, stop_work
from playwright.sync_api import Locator, Page, expect

from pipeline.assets.library import BUILTIN_LIBRARY, Library
from pipeline.planner import PlannerModel
from pipeline.simulation.program import Program
from pipeline.task_generation import generate as generation
from pipeline.task_generation.candidates import SceneFacts
from pipeline.task_generation.task_files import TriedTask, read_tried, tried_file
from pipeline.task_generation.validity import Validity

SCENE = "stack"


@pytest.fixture
def many(project: OpenProject, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenProject]:
    """A project with generated tasks whose measurements are made up, open on the Task page."""
    monkeypatch.setattr(
        generation, "measure_validity",
        lambda task, *_: Validity("", 8, 8 - len(task.instruction) % 4, 0, 4.0 + len(task.goals), 2.0, Program("", "")),
    )  # fmt: skip
    inputs = generation.GenerationInputs(
        project.folder, Library.open([BUILTIN_LIBRARY]), PlannerModel(), None, SceneFacts({}, {}, {})
    )
    for _ in generation.generate(inputs, generation.GenerationOptions(6)):
        pass
    lines = [json.loads(line) for line in tried_file(project.folder).read_text().splitlines()]
    lines[0] |= {"worth": 0.35, "worth_layouts": 20, "worth_reason": ""}
    tried_file(project.folder).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    project.reopen()
    open_tab(project.page, "Task")
    yield project
    stop_work(project.page)


def many_tasks(page: Page) -> Locator:
    return page.locator(".task-map")


def open_map(page: Page) -> None:
    many_tasks(page).locator("summary").click()
    expect(many_tasks(page).locator(".controls")).to_be_visible()


def kept(project: OpenProject) -> list[TriedTask]:
    return [one for one in read_tried(project.folder) if one.state == "kept"]


def test_the_map_shows_every_kept_task_and_a_click_shows_what_was_measured(many: OpenProject):
    page = many.page
    expect(many_tasks(page)).to_contain_text("6 tasks kept")
    open_map(page)
    points = many_tasks(page).locator(".point")
    expect(points).to_have_count(6)
    points.nth(2).scroll_into_view_if_needed()
    points.nth(2).press("Enter")  # points may lie on each other
    details = many_tasks(page).locator(".details")
    expect(details).to_have_attribute("data-task", kept(many)[2].key)
    expect(details).to_contain_text(re.compile(r"Oracle\d of 8 new layouts"))
    expect(details).to_contain_text("Not measured")
    expect(points.nth(0)).to_contain_text("35 %")
    points.nth(0).press("Enter")
    expect(details).to_contain_text("Learner35 % of 20 new layouts")
    screenshot(page, "many_tasks_1_map")


def test_a_used_task_brings_its_objects_into_the_twin_and_the_list(many: OpenProject):
    page = many.page
    number, task = next(
        (number, one) for number, one in enumerate(kept(many)) if set(one.brought) & set(one.task.objects)
    )
    name = next(iter(set(task.brought) & set(task.task.objects)))
    before = rows(page).count()
    open_map(page)
    many_tasks(page).locator(".point").nth(number).press("Enter")
    many_tasks(page).get_by_role("button", name="Use task").click()
    expect(page.locator("#task-text textarea, #task-text input")).to_have_value(re.compile(r"\w+"))
    listed = rows(page).filter(has_text=name.replace("_", " "))
    expect(listed).to_have_count(1, timeout=LONG)
    expect(page.locator(".object-list")).to_contain_text("From the library")
    assert "bring" in many.kinds
    assert rows(page).count() > before
    listed.click()
    expect(page.locator(".inspector")).to_contain_text("brought from the library")
    screenshot(page, "many_tasks_2_brought")


def test_generating_shows_progress_and_stops(many: OpenProject):
    page = many.page
    open_map(page)
    many_tasks(page).get_by_role("button", name="Generate more").click()
    stop = many_tasks(page).get_by_role("button", name="Stop")
    expect(stop).to_be_visible(timeout=LONG)
    expect(many_tasks(page)).to_contain_text(re.compile(r"\d of 6 kept"))
    screenshot(page, "many_tasks_3_running")
    stop.click()
    expect(many_tasks(page).get_by_role("button", name="Generate more")).to_be_enabled(timeout=LONG)
    assert len(kept(many)) >= 6
