"""The task builder: a task is built by clicks or keys alone, others open in it, and its goals are what runs."""

import math
import re
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pytest
from browser.bare_page import Mount, Mounted
from browser.watched_page import wait_until
from playwright.sync_api import Locator, expect

from pipeline.planner.language.reader import InstructionReader
from pipeline.simulation.goals.sentences import planned_to_json

FIELD = "#task-text textarea"
TOWER = "Stack the blue block, the green cylinder and the yellow cube in this order, bottom first"
BUILT = f"{TOWER} and put the red cube into the white bin."
GOALS = [[{"goal": "stacked", "names": ["blue_block", "green_cylinder", "yellow_cube"]},
          {"goal": "inside", "names": ["red_cube", "white_bin"]}]]  # fmt: skip
FEASIBLE = "✓ The robot can do it"


@dataclass
class Builder:
    """The builder of a project with five objects, beside what it shares the page with."""

    mounted: Mounted
    clicks: int = 0

    def __post_init__(self) -> None:
        self.page = self.mounted.page
        self.element, self.text = self.page.locator(".task-builder"), self.page.locator(FIELD)
        self.goals, self.verdict = self.element.locator(".goal"), self.element.locator(".verdict")

    def click(self, *elements: Locator) -> None:
        for one in elements:
            one.click()
            self.clicks += 1

    def open(self) -> None:
        self.click(self.element.locator("summary"))

    def form(self, key: str) -> Locator:
        return self.element.locator(f"[data-act='add {key}']")

    def object(self, words: str) -> Locator:
        return self.page.locator(".object-list .row", has_text=words)

    def names(self) -> list[list[str]]:
        return [goal.locator(".word").all_inner_texts() for goal in self.goals.all()]

    def kept(self) -> list[Any]:
        """Return the goals that the studio keeps for the text in the text field."""
        return planned_to_json(self.mounted.session.built_tasks[self.text.input_value()].planned)


@pytest.fixture
def builder(mount: Mount) -> Builder:
    shown = Builder(mount("stack", "task-text", "task-builder", "object-list", "task-cards"))
    shown.text.fill("")
    return shown


def test_two_goals_on_five_objects_take_eight_clicks_and_run_as_goals_not_as_words(mount: Mount, monkeypatch: Any):
    builder = Builder(mount("stack", "task-text", "task-builder", "object-list", "round"))
    twin = builder.page.frame_locator("#round iframe").locator("body")
    expect(builder.element.locator(".body")).to_have_count(0)  # one line until it is wanted
    builder.open()
    builder.click(builder.form("stacked"), *map(builder.object, ("blue block", "green cylinder", "yellow cube")))
    builder.click(builder.form("inside"), *map(builder.object, ("red cube", "white bin")))
    assert builder.clicks == 8
    expect(builder.text).to_have_value(BUILT)
    expect(builder.verdict).to_have_text(FEASIBLE)
    expect(twin).to_have_attribute("data-ghosts", "red_cube green_cylinder yellow_cube")
    assert builder.kept() == GOALS
    monkeypatch.setattr(InstructionReader, "read", lambda *_: pytest.fail("the words were read"))
    builder.mounted.session.generate(builder.text.input_value(), "none")
    expect(builder.element.locator(".body")).to_have_count(0)  # the rounds show in place of the ghosts
    wait_until(builder.page, lambda: (builder.mounted.folder / "rounds" / "000").exists())
    assert builder.mounted.json("task.json")["planned"] == GOALS


def test_the_same_task_is_built_and_put_in_another_order_by_keys_alone(builder: Builder):
    keys = builder.page.keyboard
    builder.text.focus()
    for pressed in ("Tab", "Enter", "Tab", *["ArrowRight"] * 3, "Enter"):  # to "stack"
        keys.press(pressed)
    for pressed in ("2", "3", "ArrowDown", "y", "Enter"):  # numbers of objects, then the menu
        keys.press(pressed)
    expect(builder.goals.locator(".word")).to_have_text(["blue block", "green cylinder", "yellow cube"])
    for pressed in (*["Shift+Tab"] * 8, "ArrowLeft", "Enter", "1", "5"):
        keys.press(pressed)
    expect(builder.text).to_have_value(BUILT)
    assert builder.kept() == GOALS
    builder.element.locator(".word", has_text="yellow").focus()
    keys.press("ArrowLeft")
    expect(builder.text).to_have_value(re.compile("yellow cube and the green cylinder"))
    keys.press("Delete")
    builder.element.locator(".handle").first.focus()
    keys.press("ArrowDown")
    expect(builder.element.locator("h4")).to_have_count(0)
    keys.press("ArrowDown")
    expect(builder.text).to_have_value(re.compile(r"^Put the red cube .*, then stack the blue block and the green"))
    expect(builder.element.locator("h4")).to_have_text(["Step 1", "Step 2"])
    for _ in range(4):
        keys.press("Control+z")
    expect(builder.text).to_have_value(BUILT)


def test_proposed_and_typed_tasks_open_in_it_and_words_that_are_not_read_say_why(builder: Builder):
    proposed = builder.mounted.session.project.tasks()
    for card, task in enumerate(proposed):
        builder.page.locator(".task-cards .edit").nth(card).click()
        expect(builder.text).to_have_value(task.instruction)
        carried = {goal.names[0].replace("_", " ") for goal in task.planned if goal.carried}
        wait_until(builder.page, lambda carried=carried: carried <= {*chain.from_iterable(builder.names())})
    builder.text.fill("move the red cube into the zone on the left; put the green cylinder in the bin")
    expect(builder.goals).to_have_count(2)
    assert builder.names() == [["red cube"], ["green cylinder"]]
    assert builder.kept()[0][0] == {"goal": "in_zone", "names": ["red_cube", "left_zone"]}
    builder.text.fill("put the elephant in the fridge")
    expect(builder.verdict).to_contain_text(re.compile("elephant"))
    expect(builder.goals).to_have_count(0)
    builder.element.get_by_role("button", name="Undo").click()
    expect(builder.goals).to_have_count(2)
    expect(builder.text).to_have_value(re.compile("^Move the red cube into the zone on the left and put the green"))


def test_goals_are_dragged_and_why_one_cannot_be_reached_is_said_before_anything_runs(builder: Builder):
    builder.open()
    builder.text.fill("put the red cube on the table, then put the yellow cube and the green cylinder in the bin")
    expect(builder.goals).to_have_count(2)
    builder.element.locator(".word", has_text="green").drag_to(builder.element.locator(".word", has_text="red"))
    assert builder.names() == [["green cylinder", "red cube"], ["yellow cube"]]
    builder.element.locator(".handle").last.drag_to(builder.goals.first)
    expect(builder.text).to_have_value(re.compile("^Put the yellow cube into the white bin and put the green cylinder"))
    builder.click(builder.form("in_zone"), builder.object("blue block"))
    left, near = (builder.element.locator(f".{side}_zone").bounding_box() for side in ("left", "near"))
    builder.page.mouse.move(left["x"] + 9, left["y"] + 9)
    builder.page.mouse.down()
    builder.page.mouse.move(near["x"] + 9, near["y"] + 9, steps=4)
    builder.page.mouse.up()
    expect(builder.text).to_have_value(re.compile("blue block into the zone at the front"))
    for _ in range(3):
        builder.element.get_by_label("Remove this goal").first.click()
    expect(builder.text).to_have_value("")
    builder.click(builder.form("at"), builder.object("blue block"))
    marker = builder.element.locator(".marker")
    expect(builder.text).to_have_value(re.compile(r"^Move the blue block to \("))
    x, y = builder.kept()[0][0]["xy"]
    marker.press("ArrowLeft")
    expect(builder.text).not_to_have_value(f"Move the blue block to ({x:.3f}, {y:.3f}).")
    moved = builder.kept()[0][0]["xy"]
    assert math.dist(moved, (x, y)) == pytest.approx(0.01, abs=0.002)
    builder.click(builder.form("on"), builder.object("red cube"), builder.object("red cube"))
    expect(builder.verdict).to_have_text("✕ the red cube cannot stand on itself")
