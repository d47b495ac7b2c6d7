"""The Task page: choosing a task, correcting an instruction, and working with rounds."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from browser.app_page import LONG, OpenProject, open_copy, open_tab, screenshot, stop_work, tab, wait_until_idle
from browser.studio_process import Studio
from browser.watched_page import close_app, leaving
from playwright.sync_api import Locator, Page, expect

from pipeline.feasibility import feasibility_file, read_feasibility
from pipeline.object_words import object_words
from pipeline.project import Project
from pipeline.rehearsal import read_rehearsal
from pipeline.store import read_json, write_json
from studio.__main__ import main
from studio.viewer import PhotoCamera

SCENE = "stack"
TASK = "put the green_cylinder on the left"


@pytest.fixture
def tasks(project: OpenProject) -> OpenProject:
    """A project of its own with the Task page open and its tasks proposed."""
    open_tab(project.page, "Task")
    expect(cards(project.page).locator(".task").nth(7)).to_be_visible(timeout=LONG)
    return project


@pytest.fixture(scope="module")
def solved_project(
    studio: Studio, ready_project: Path, browser_page: Page, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A copy of the folder of a project with one round that passed; its seeds are not solved."""
    made = open_copy(studio, browser_page, ready_project)
    open_tab(browser_page, "Task")
    instruction(browser_page).fill(TASK)
    browser_page.locator("#generate").click()
    expect(timeline(browser_page).locator("[data-round='0']")).to_contain_text("✓", timeout=LONG)
    stop_work(browser_page)
    close_app(browser_page)
    return Path(shutil.copytree(made.folder, tmp_path_factory.mktemp("solved") / SCENE))


@pytest.fixture
def rounds(studio: Studio, solved_project: Path, page: Page) -> Iterator[OpenProject]:
    """A project with one round, open on the Task page."""
    opened = open_copy(studio, page, solved_project)
    open_tab(page, "Task")
    expect(timeline(page).locator("[data-round='0']")).to_contain_text(re.compile(r"✓ \d+ of \d+ checks"))
    yield opened
    stop_work(page)


def cards(page: Page) -> Locator:
    return page.locator(".task-cards")


def timeline(page: Page) -> Locator:
    return page.locator(".round-timeline")


def instruction(page: Page) -> Locator:
    return page.locator("#task-text textarea, #task-text input")


def branch(page: Page, text: str) -> None:
    """Edit the task of the shown round and run it as a branch, until its first round has passed."""
    count = timeline(page).locator("[data-round]").count()
    timeline(page).get_by_role("button", name="Edit and branch").click()
    task = page.locator("#edited-task textarea, #edited-task input")
    expect(task).to_have_value(TASK)
    task.fill(text)
    page.get_by_role("button", name="Run from here").click()
    expect(timeline(page).locator("[data-round]")).not_to_have_count(count, timeout=LONG)
    expect(timeline(page).locator("[data-round]").last).to_contain_text("✓", timeout=LONG)
    stop_work(page)


def choose_robot(page: Page, title: str) -> None:
    """Choose another robot on the Review page, without waiting for its solve check, and open the Task page."""
    open_tab(page, "Review")
    robot = page.locator(".results").get_by_role("button", name=re.compile(re.escape(title)))
    robot.click()
    expect(robot).to_have_attribute("aria-pressed", "true")
    stop_work(page)
    open_tab(page, "Task")


def test_cards_show_the_goal_its_difficulty_and_the_trial(tasks: OpenProject):
    page = tasks.page
    assert len({card.get_attribute("data-kind") for card in cards(page).locator(".task").all()}) >= 5
    first = cards(page).locator(".task").first
    expect(first).to_contain_text(re.compile("easy|medium|hard"))
    expect(first.locator(".verdict")).to_contain_text(re.compile(r"✓ \d+ move|✕"), timeout=LONG)
    expect(first.locator("img")).to_be_visible()
    expect(first.locator("img")).to_have_js_property("naturalWidth", 360)
    cards(page).get_by_role("button", name="Stop").click()
    expect(cards(page).get_by_role("button", name="Test remaining tasks")).to_be_visible(timeout=LONG)
    screenshot(page, "tasks_1_cards")


def test_cards_are_filtered_by_kind(tasks: OpenProject):
    page = tasks.page
    count = cards(page).locator(".task").count()
    cards(page).get_by_role("button", name=re.compile("^Stack")).click()
    kinds = {card.get_attribute("data-kind") for card in cards(page).locator(".task").all()}
    assert kinds == {"stack"}
    cards(page).get_by_role("button", name=re.compile("^All")).click()
    assert cards(page).locator(".task").count() == count


def test_a_card_fills_the_text_field_before_the_next_click(tasks: OpenProject):
    page, before = tasks.page, len(tasks.decisions)
    page.evaluate(
        """() => {
      document.querySelectorAll(".task-cards .task")[3].click();
      document.querySelector("#generate").click();
    }"""
    )
    expect(page.locator(".status-bar .message")).to_contain_text("Simulation", timeout=LONG)
    stop_work(page)
    (decision,) = tasks.decisions[before:]
    assert decision["kind"] == "task" and decision["data"]["instruction"] == instruction(page).input_value()
    expect(cards(page).locator(".task").nth(3)).to_have_class(re.compile(r"\bon\b"))


def test_an_unclear_instruction_is_corrected_with_one_click(tasks: OpenProject):
    page = tasks.page
    instruction(page).fill("put the green_cylindre on the left")
    page.locator("#generate").click()
    clarification = page.locator(".clarification")
    expect(clarification).to_contain_text("There is no green_cylindre here", timeout=LONG)
    expect(clarification).to_contain_text('did you mean "the green cylinder"?')
    screenshot(page, "tasks_2_clarification")
    clarification.get_by_role("button").click()
    expect(instruction(page)).to_have_value("put the green cylinder on the left")
    wait_until_idle(page)


def test_mutations_are_listed_with_the_check_that_caught_them(rounds: OpenProject):
    page = rounds.page
    opposite = timeline(page).locator(".mutations tr", has_text="Does the opposite")
    expect(opposite).to_contain_text(re.compile(r"✓ (?!check_)\w+ \w+"))
    expect(page.locator(".clarification")).to_be_hidden()


def test_an_edited_round_continues_as_its_own_branch(rounds: OpenProject):
    page = rounds.page
    branch(page, "put the green_cylinder on the right")
    expect(timeline(page).locator(".branch-row")).not_to_have_count(1)
    expect(timeline(page).locator(".branch").last).to_contain_text("from 0")
    task = rounds.json("task.json")
    assert task["instruction"] == "put the green_cylinder on the right" and "right_zone" in task["goals"][0]
    view = page.frame_locator("#round iframe")  # nothing was clicked to open it
    expect(view.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    expect(view.locator("#kind")).to_have_text("recording")
    expect(view.locator("#clock")).not_to_have_text("0.00 s")
    expect(view.locator("#bands canvas")).to_have_count(1)
    view.locator("#bands canvas").hover()
    expect(view.locator("#measure")).to_contain_text("tolerance 0 cm")
    timeline(page).locator(".check", has_text="green cylinder ends").hover()
    expect(view.locator("#measure")).to_contain_text("short of: the green cylinder")
    timeline(page).locator("details.code summary").click()
    timeline(page).locator(".lines .line", has_text="reward_at_start").click()
    expect(view.locator("#clock")).to_have_text("0.00 s")
    screenshot(page, "tasks_3_branch")


def test_two_rounds_are_compared_and_one_is_pinned(rounds: OpenProject):
    page, shown = rounds.page, timeline(rounds.page)
    branch(page, "put the green_cylinder on the right")
    shown.locator(".compare").select_option("round 0")
    expect(shown.locator(".comparison")).to_contain_text("Round 0 and Round")
    expect(shown.locator(".comparison .code-diff").first).to_be_visible()
    left, right = (page.frame_locator(f"#{name} iframe") for name in ("round", "beside"))
    expect(right.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    expect(left.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    right.locator("#track").click(position={"x": 60, "y": 12})
    expect(left.locator("#clock")).not_to_have_text("0.00 s")
    expect(left.locator("#clock")).to_have_text(right.locator("#clock").inner_text())
    expect(left.locator("#caption")).to_have_text("Round 0")
    screenshot(page, "tasks_4_compare")
    shown.locator(".compare").select_option("layout 2")
    expect(left.locator("#caption")).to_have_text(re.compile("photographed layout"), timeout=LONG)
    expect(right.locator("#caption")).to_have_text(re.compile("layout 2"), timeout=LONG)
    expect(shown.locator(".outcomes")).to_contain_text("Reward")
    shown.locator(".comparison").get_by_role("button", name="Close").click()
    expect(shown.locator(".comparison")).to_have_count(0)
    expect(page.locator("#beside")).to_be_hidden()
    shown.locator("[data-round='1']").click()
    shown.get_by_role("button", name="Pin").click()
    expect(shown.locator("[data-round='1']")).to_contain_text("★")
    stop_work(page)
    assert rounds.decisions[-1]["kind"] == "pin" and rounds.decisions[-1]["data"] == {"round": 1}


def test_a_failed_branch_says_so_and_which_round_is_shown_in_its_place(rounds: OpenProject):
    page, shown = rounds.page, timeline(rounds.page)
    page.locator("#mode input").click()
    page.get_by_role("option", name="No repair").click()
    shown.get_by_role("button", name="Edit and branch").click()
    code = page.locator("#codes .cm-content").first
    expect(code).to_contain_text("green_cylinder")
    code.click()
    page.keyboard.press("Control+a")
    source = (rounds.folder / "rounds" / "000" / "simulation.py").read_text()
    page.keyboard.insert_text(source.replace('"green_cylinder"', '"yellow_cube"'))
    page.get_by_role("button", name="Run from here").click()
    view = page.frame_locator("#round iframe")
    expect(view.locator("body")).to_have_attribute("data-held", re.compile("check_"), timeout=LONG)
    expect(view.locator("#labels .note")).to_contain_text("✕")
    expect(view.locator("#caption")).to_have_text("Round 1")
    expect(shown.locator(".causes")).to_contain_text("Why it failed")
    wait_until_idle(page)
    expect(page.locator(".status-bar .message")).to_contain_text("Round 1 failed; showing round 0, solved on")
    expect(tab(page, "Task")).to_contain_text("Needs attention")
    screenshot(page, "tasks_8_failed")
    page.locator("#steps > .tabitem").evaluate_all("pages => pages.forEach(page => page.scrollBy(0, 400))")
    expect(page.locator("#round")).to_be_in_viewport(ratio=0.8)  # beside what is read of its round
    rounds.reopen()
    open_tab(page, "Task")
    expect(page.locator("#mode input")).to_have_value("No repair")
    expect(page.locator(".status-bar .message")).to_contain_text("Round 1 failed; showing round 0")


def test_the_first_task_is_suggested_in_the_text_field_or_one_that_the_robot_solved_if_it_cannot(tasks: OpenProject):
    page, folder = tasks.page, tasks.folder
    suggested = cards(page).locator(".task.suggested")
    first = Project.open(folder).task()
    assert first
    expect(suggested).to_contain_text(object_words(Project.open(folder)).in_words(first.instruction))
    expect(instruction(page)).to_have_value(first.instruction)
    expect(cards(page).locator(".state")).to_contain_text("solved", timeout=LONG)  # all are tested
    trial = read_rehearsal(first, folder)
    assert trial
    record = folder / "tasks" / f"{trial.key}.json"
    write_json(record, read_json(record) | {"solved": False, "reason": "planted"})
    tasks.reopen()
    open_tab(page, "Task")
    expect(suggested.locator(".verdict")).to_contain_text("✓")
    expect(suggested).not_to_contain_text(first.instruction)
    expect(instruction(page)).not_to_have_value(first.instruction)
    instruction(page).fill("")
    open_tab(page, "Masks")
    open_tab(page, "Task")
    expect(instruction(page)).to_have_value("")  # what a person empties stays empty
    assert not tasks.decisions


def test_the_review_before_a_task_shows_the_twin_and_says_what_to_do(project: OpenProject):
    open_tab(project.page, "Review")
    view = project.page.frame_locator("#replay iframe")
    expect(view.locator("#caption")).to_contain_text("Choose a task in Task and simulation", timeout=LONG)
    expect(view.get_by_text("physics")).to_be_visible()


def test_another_robot_tests_the_cards_again_and_a_card_says_why_a_task_is_not_for_it(rounds: OpenProject):
    page, folder = rounds.page, rounds.folder
    proposed = Project.open(folder).tasks()
    assert proposed
    planted = proposed[-1]  # the arm can do all others of this scene
    write_json(feasibility_file(planted, folder, "arm"), {"why": "no grasp fits between its neighbours"})
    choose_robot(page, "UR5e arm, 2F-85")
    last = cards(page).locator(".task").last
    expect(last.locator(".verdict")).to_contain_text("Not with this robot", timeout=LONG)
    tasks = Project.open(folder).tasks() or ()
    refused = {task.instruction: why for task in tasks if (why := read_feasibility(task, folder, "arm"))}
    assert planted.instruction in refused
    assert cards(page).locator(".task").count() == len(tasks) > len(refused)
    expect(last.locator(".why")).to_contain_text("no grasp fits")
    screenshot(page, "tasks_2_refused")
    first = cards(page).locator(".task").first
    expect(first.locator(".verdict")).to_contain_text(re.compile(r"✓ \d+ move|✕ Not solved"), timeout=LONG)
    assert any(read_rehearsal(task, folder, "arm") for task in tasks), "tried with the arm, not only planned"
    stop_work(page)
    choose_robot(page, "Floating gripper")
    expect(cards(page).get_by_text("Not with this robot")).to_have_count(0, timeout=LONG)


def test_checks_are_listed_by_round_in_a_table(rounds: OpenProject):
    page = rounds.page
    branch(page, TASK)
    timeline(page).get_by_role("button", name="Checks by round").click()
    table = timeline(page).locator(".matrix table")
    expect(table).to_contain_text("oracle solves it")
    expect(table.locator("td.passed").first).to_be_visible()
    expect(page.locator("#round-chart .js-plotly-plot")).to_be_visible(timeout=LONG)
    screenshot(page, "tasks_5_matrix")
    timeline(page).get_by_role("button", name="Round", exact=True).click()
    expect(page.locator("#round-chart")).to_be_hidden()


def test_a_goal_layout_arranged_by_hand_becomes_a_branch(rounds: OpenProject):
    page, name = rounds.page, "white_bin"
    timeline(page).get_by_role("button", name="Set goal layout").click()
    view = page.frame_locator("#round iframe")
    expect(view.locator("#kind")).to_have_text("Goal layout", timeout=LONG)
    expect(view.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    use_as_goal = timeline(page).get_by_role("button", name="Use as goal")
    expect(use_as_goal).to_be_enabled(timeout=LONG)
    view.locator("[data-view=photo]").click()
    expect(view.locator("body")).to_have_attribute("data-view", "photo")
    project = Project.open(rounds.folder)
    twin = project.scene()
    assert twin
    camera = PhotoCamera.from_intrinsics(project.frame.intrinsics, twin.world_from_camera)
    start = next(p for p in twin.placements if p.name == name).world_from_object.pos
    page.mouse.move(*on_screen(page, camera, start - np.array([0, 0, 0.02])))
    expect(view.locator("#labels .hovered")).to_have_text(name.replace("_", " "))
    page.mouse.down()
    page.mouse.move(*on_screen(page, camera, start + np.array([0.03, 0.06, -0.02])), steps=8)
    expect(view.locator("body")).to_have_class(re.compile("dragging"))
    page.mouse.up()
    expect(view.locator("body")).not_to_have_class(re.compile("dragging"))
    screenshot(page, "tasks_6_layout")
    use_as_goal.click()
    expect(timeline(page).locator("[data-round]")).not_to_have_count(1, timeout=LONG)
    stop_work(page)
    task = rounds.json("task.json")
    assert task["kind"] == "arrange" and task["objects"] == [name]
    assert task["goals"][0].startswith("white_bin stands at (")
    screenshot(page, "tasks_7_branch")


def test_the_inspector_is_collapsed_here_and_opens_with_one_click(tasks: OpenProject):
    page = tasks.page
    column, toggle = page.locator("#right"), page.locator(".inspector .collapse")
    expect(column).to_have_class(re.compile("collapsed"))
    toggle.click()
    expect(column).not_to_have_class(re.compile("collapsed"))
    toggle.click()
    expect(column).to_have_class(re.compile("collapsed"))
    open_tab(page, "Objects")
    expect(column).not_to_have_class(re.compile("collapsed"))


def on_screen(page: Page, camera: PhotoCamera, point: np.ndarray) -> np.ndarray:
    """Return where the photograph's camera shows a world point on the page."""
    box = page.frame_locator("#round iframe").locator("#canvas").bounding_box()
    assert box
    scale = min(box["width"] / camera.width, box["height"] / camera.height)
    corner = np.array([box["width"] - camera.width * scale, box["height"] - camera.height * scale]) / 2
    return camera.project(np.asarray(point)) * scale + corner + [box["x"], box["y"]]


def test_a_condition_that_fails_is_watched_with_one_click(rounds: OpenProject):
    pytest.importorskip("gymnasium", reason='pip install "grs-studio[gymnasium]"')
    page, out = rounds.page, rounds.folder / "variations" / "hold"
    arguments = ["vary", str(rounds.folder), "--count", "3", "--robot", "policy", "--policy", "hold", "--seconds", "2"]
    assert main([*arguments, "--out", str(out)]) == 0
    with leaving(page):
        page.reload()
    open_tab(page, "Task")
    table = page.locator(".condition-table")
    table.get_by_text("hold: 0 of 3 conditions solved by policy hold").click(timeout=LONG)
    expect(table.locator("tbody tr")).to_have_count(3)
    frame = page.frame_locator("#round iframe")
    for id in ("0-0001", "0-0002"):
        table.get_by_role("button", name=f"Watch {id}").click()
        expect(frame.locator("#caption")).to_have_text(f"Condition {id}", timeout=LONG)
        expect(table.locator(f"tr.watched[data-condition='{id}']")).to_be_visible()
        expect(frame.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
        expect(frame.locator("#clock")).not_to_have_text("0.00 s", timeout=LONG)
        screenshot(page, f"condition_{id}")
    table.get_by_role("button", name="Close").click()
    expect(table.locator("tr.watched")).to_have_count(0)
    expect(page.locator("#round iframe")).to_be_hidden(timeout=LONG)
