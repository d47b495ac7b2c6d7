"""Tasks to choose from: proposed ones as cards, generated ones on a map, corrections of an unclear one, conditions."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from browser.app_page import NEXT_DRAWN_FRAME
from browser.bare_page import Mount, Mounted
from browser.watched_page import expect_texts, press_buttons, wait_until
from playwright.sync_api import expect
from ready_projects import ready_project

from pipeline.assets.library import BUILTIN_LIBRARY, Library
from pipeline.planner import PlannerModel
from pipeline.task_generation import generate as generation
from pipeline.task_generation.candidates import SceneFacts
from pipeline.task_generation.task_files import TriedTask, read_tried, tried_file
from pipeline.task_generation.validity import Validity

FIELD = "#task-text textarea"


def task(name: str, kind: str = "stack", **more: Any) -> dict[str, Any]:
    """A card's task: not tried, solvable for all that is known."""
    known = {
        "name": name, "instruction": name, "text": f"{name}!", "words": f"{name} words", "kind": kind, "level": "easy",
        "goals": [f"{name} goal"], "objects": ["cube"], "uncertain": [], "doubts": [], "source": "rules",
        "tried": False, "feasible": None, "why": "", "refusal": "", "moves": 0, "picture": "",
    }  # fmt: skip
    return known | more


SOLVED = {"tried": True, "feasible": True, "moves": 3, "picture": "static/viewer/icon.svg"}
UNSOLVED = {"tried": True, "feasible": False, "why": "no grasp fits"}


@pytest.fixture
def cards(mount: Mount) -> "Cards":
    return Cards(mount("", "task-text", "task-cards"))


class Cards:
    def __init__(self, mounted: Mounted):
        self.mounted, self.page = mounted, mounted.page
        self.element, self.field = mounted.page.locator(".task-cards"), mounted.page.locator(FIELD)
        self.all = self.element.locator(".task")

    def show(self, *tasks: dict[str, Any], **record: Any) -> None:
        known = {"chosen": tasks[0]["instruction"] if tasks else "", "decided": False, "current_trial": "", "offer": ""}
        self.mounted.set_value("task-cards", known | {"tasks": tasks, "fills": FIELD, "waiting": ""} | record)

    def names(self) -> list[str]:
        return [text.removesuffix(" words") for text in self.element.locator("strong").all_inner_texts()]


def test_a_card_says_what_the_trial_found(cards: Cards):
    tasks = [task("a", **SOLVED), task("b", **UNSOLVED, level="hard", picture="static/viewer/icon.svg")]
    tasks.append(task("c", tried=True, why="stopped"))
    tasks.append(task("d", level="", uncertain=["block"], doubts=["It is uncertain."]))
    tasks.append(task("e", refusal="out of reach", goals=["in grey_tray, set out on the table"]))
    tasks.append(task("f", tried=True, feasible=True, moves=1, objects=["cube", "bin"]))
    cards.show(*tasks, current_trial="d")
    verdicts = ["✓ 3 moves", "✕ Not solved", "? Not tested", " Testing …", "✕ Not with this robot", "✓ 1 move"]
    why, blank = ["no grasp fits", "out of reach"], ["No picture", "", "", "No picture"]
    expect_texts(cards.element, {".verdict": verdicts, ".why": why, ".blank": blank})
    pictures = [one.get_attribute("alt") for one in cards.element.locator("img").all()]
    assert pictures == ["The table when solved", "The table after the test"]
    for number, selector, texts in (
        (0, ".tag.good", ["✓ 3 moves", "easy"]), (1, ".tag.warn", ["hard"]), (5, ".faint", ["2 objects: cube, bin"]),
        (3, ".faint", ["Uncertain what it is: block", "1 object: cube"]),
        (4, ".faint", ["1 object: cube, plus an added grey tray"]),
    ):  # fmt: skip
        expect(cards.all.nth(number).locator(selector)).to_have_text(texts)
    cards.show(waiting="Tasks are proposed here later.")
    expect(cards.element).to_have_text("Tasks are proposed here later.")


def test_solved_tasks_come_first_and_cards_are_filtered_but_none_moves_while_tasks_are_tested(cards: Cards):
    tasks = [task("a", **UNSOLVED), task("b", kind="sort_by_size", **SOLVED), task("c", refusal="no")]
    tasks += [task("d", "put_in"), task("e", "swap", **SOLVED)]
    cards.show(*tasks, current_trial="d")
    assert cards.names() == ["a", "b", "c", "d", "e"]
    expect(cards.element.locator(".state")).to_contain_text("Testing tasks: 3 of 5")
    cards.show(*tasks)
    assert cards.names() == ["b", "d", "e", "a", "c"]
    filters = cards.element.locator(".filter")
    expect(filters).to_have_text(["All5", "Stack2", "Sort1", "Place1", "Rearrange1"])
    filters.nth(1).click()
    assert cards.names() == ["a", "c"]
    expect(cards.element.locator(".filter[aria-pressed=true]")).to_have_text("Stack2")
    cards.element.get_by_label("Solvable only").check()
    expect(cards.element.locator(".cards")).to_have_text("No tasks match this filter.")
    filters.first.click()
    assert cards.names() == ["b", "e"]
    cards.show(task("a", **UNSOLVED), task("b", **SOLVED))
    expect(cards.element.locator(".state")).to_have_text("1 of 2 solvable")


def test_the_first_task_is_suggested_or_one_that_was_solved_until_a_person_chooses(cards: Cards):
    cards.show(task("a"), task("b"))
    expect(cards.field).to_have_value("a!")
    expect(cards.element.locator(".suggested")).to_contain_text("Suggested")
    cards.show(task("a", **UNSOLVED), task("b"), task("c", **SOLVED))
    expect(cards.field).to_have_value("c!")
    expect(cards.element.locator(".suggested strong")).to_have_text("c words")
    click = "field => (document.querySelectorAll('.task')[0].click(), document.querySelector(field).value)"
    assert cards.page.evaluate(click, FIELD) == "b!"  # at once: Generate may be pressed next
    expect(cards.element.locator(".on .chosen")).to_have_text("Chosen")
    expect(cards.element.locator(".suggested")).to_have_count(0)
    cards.field.fill("my own")
    cards.show(task("a", **UNSOLVED), task("b"), task("c", **SOLVED), chosen="b", decided=True)  # generated
    expect(cards.element.locator(".on strong")).to_have_text("b words")
    cards.show(task("a"), task("b"), chosen="b")
    expect(cards.field).to_have_value("my own")  # what a person wrote stays
    cards.field.fill("")
    cards.show(task("a"), task("b"), chosen="a")
    expect(cards.field).to_have_value("")  # a person writes in it
    cards.show(task("a", refusal="no"), task("b"), chosen="")
    expect(cards.element.locator(".task[aria-pressed=true]")).to_have_count(0)


def test_tasks_are_tested_once_for_each_offer_while_their_cards_are_seen_and_until_a_person_stops(cards: Cards):
    sent = lambda: [name for name, _ in cards.mounted.take_sent()]  # noqa: E731
    cards.show(task("a", **SOLVED), offer="1")  # all are tried
    cards.page.evaluate("document.querySelector('#task-cards').style.display = 'none'")
    cards.show(task("a"), task("b"), offer="1")
    assert sent() == []
    cards.page.evaluate(NEXT_DRAWN_FRAME)  # in which the browser notes that they are hidden
    cards.page.evaluate("document.querySelector('#task-cards').style.display = ''")
    wait_until(cards.page, lambda: cards.page.evaluate("bare.sent.length"))
    cards.show(task("a"), task("b", level=""), offer="1")
    assert sent() == ["start_trials"]
    cards.show(task("a"), task("b"), offer="2")
    cards.show(task("a"), task("b"), current_trial="a")
    cards.element.get_by_role("button", name="Stop").click()
    assert sent() == ["start_trials", "stop_trials"]
    cards.show(task("a"), task("b"), offer="3")
    assert sent() == []
    press_buttons(cards.element, "Test all tasks")
    cards.show(task("a", **SOLVED), task("b"), offer="3")
    press_buttons(cards.element, "Test remaining tasks")
    assert sent() == ["start_trials", "start_trials"]


# Corrections


def test_an_unclear_instruction_is_corrected_with_one_click(mount: Mount):
    mounted = mount("stack", "task-text", "clarification")
    session, shown = mounted.session, mounted.page.locator(".clarification")
    expect(shown).to_be_hidden()
    session.generate("put the green_cylindre on the left", "none")
    expect(shown.get_by_role("alert")).to_have_text(re.compile(r"^\? Not understood: .green_cylindre."))
    shown.get_by_role("button", name="Use: put the green cylinder on the left").click()
    expect(mounted.page.locator(FIELD)).to_have_value("put the green cylinder on the left")
    session.generate("put the elephant in the fridge", "none")
    expect(shown).to_contain_text(re.compile("elephant|fridge"))
    expect(shown.locator(".label")).to_have_text("Try:")
    suggestion = shown.get_by_role("button").first
    suggestion.click()
    expect(mounted.page.locator(FIELD)).to_have_value(suggestion.inner_text())


# Generated tasks


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project with six generated tasks whose measurements are made up."""
    folder = Path(shutil.copytree(ready_project("stack"), tmp_path_factory.mktemp("many") / "stack"))
    library = Library.open([BUILTIN_LIBRARY])
    inputs = generation.GenerationInputs(folder, library, PlannerModel(), None, SceneFacts({}, {}, {}))
    made_up = lambda one, *_: Validity("", 8, 8 - len(one.simulation) % 4, 0, 4.0 + len(one.checks) % 3, 2)  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "measure_validity", made_up)
        list(generation.generate(inputs, generation.GenerationOptions(6)))
    lines = [json.loads(line) for line in tried_file(folder).read_text().splitlines()]
    lines[0] |= {"worth": 0.35, "worth_layouts": 20, "worth_reason": ""}
    tried_file(folder).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


def kept(folder: Path) -> list[TriedTask]:
    return [one for one in read_tried(folder) if one.state == "kept"]


def test_a_used_task_of_the_map_brings_its_objects_and_more_are_generated_until_a_stop(mount: Mount, many: Path):
    mounted = mount(many, "task-text", "task-map", "object-list", "inspector")
    shown, rows = mounted.page.locator(".task-map"), mounted.page.locator(".object-list .row")
    shown.locator("summary").click()
    expect(shown).to_contain_text("6 tasks kept")
    points, details = shown.locator(".point"), shown.locator(".details")
    expect(points).to_have_count(6)
    points.nth(2).press("Enter")  # points may lie on each other
    expect(details).to_have_attribute("data-task", kept(many)[2].key)
    expect(details).to_contain_text(re.compile(r"Oracle\d of 8 new layouts"))
    expect(details).to_contain_text("Not measured")
    expect(points.first).to_contain_text("35 %")
    points.first.press(" ")
    expect(details).to_contain_text("Learner35 % of 20 new layouts")
    number, one = next((i, one) for i, one in enumerate(kept(many)) if set(one.brought) & set(one.task.objects))
    name, before = next(iter(set(one.brought) & set(one.task.objects))).replace("_", " "), rows.count()
    points.nth(number).press("Enter")
    shown.get_by_role("button", name="Use task").click()
    expect(mounted.page.locator(FIELD)).to_have_value(re.compile(r"\w+"))
    expect(rows.filter(has_text=name)).to_have_count(1, timeout=60_000)
    expect(mounted.page.locator(".object-list")).to_contain_text("From the library")
    assert "bring" in mounted.kinds and rows.count() > before
    rows.filter(has_text=name).click()
    expect(mounted.page.locator(".inspector")).to_contain_text("brought from the library")
    shown.get_by_role("spinbutton").fill("101")
    press_buttons(shown, "Generate more")
    wait_until(mounted.page, lambda: mounted.notices == ["Give a number of tasks from 1 to 100."])
    shown.get_by_role("spinbutton").fill("5")
    press_buttons(shown, "Generate more")
    expect(shown).to_contain_text(re.compile(r"\d of 5 kept"))
    press_buttons(shown, "Stop")
    expect(shown.get_by_role("button", name="Generate more")).to_be_enabled(timeout=60_000)
    assert len(kept(mounted.folder)) >= 6


def test_a_map_places_tasks_by_difficulty_and_novelty_and_sends_what_a_person_asks_for(mount: Mount):
    mounted = mount("", "task-text", "task-map")
    shown = mounted.page.locator(".task-map")
    mounted.page.evaluate("""() => {
      document.querySelector("#task-map summary").click();
      bare.show("task-map", JSON.stringify({ ...JSON.parse(bare.shown("task-map")), summary: "newer" }));
    }""")
    expect(shown.locator("summary")).to_contain_text("newer")
    mounted.page.evaluate(NEXT_DRAWN_FRAME)
    expect(shown.locator("details")).to_have_attribute("open", "")  # although an update came at that moment
    facts = {"words": "w", "text": "stack it", "goals": ["g"], "level": 1, "demands": "1 object", "solved": 6,
             "layouts": 8, "worth": None, "worth_layouts": 0, "worth_reason": "", "nearest": "", "brought": [],
             "distractors": [], "brings": []}  # fmt: skip
    tasks = [
        facts | {"id": "a", "difficulty": 0.1, "novelty": 0.9, "worth": 0.5},
        facts | {"id": "b", "difficulty": 0.8, "novelty": 0.2, "worth_reason": "too long", "nearest": "a",
                 "brought": ["mug"], "distractors": ["cup", "pan"], "brings": ["mug"], "level": 3},
    ]  # fmt: skip
    about = {"dropped": [{"words": "lift it", "reason": "no grasp"}], "running": None, "can_start": True}
    record = {"tasks": tasks, "can_learn": True, "n": 12, "summary": "", "fills": FIELD} | about
    mounted.set_value("task-map", record)
    easy, hard = (one.bounding_box() for one in shown.locator(".point").all())
    assert easy["x"] < hard["x"] and easy["y"] < hard["y"]
    details = shown.locator(".details")
    shown.locator(".point").last.press("x")
    expect(details).to_have_text("Choose a task on the map.")
    shown.locator(".point").last.click()
    known = ["Level3: 1 object", "Goalsg", "Oracle6 of 8 new layouts", "Difficulty0.8", "Learnertoo long"]
    known += ["Novelty0.2 (nearest: a)", "Broughtmug", "Distractorscup, pan"]
    expect(details.locator(".fact")).to_have_text(known)
    expect(shown.locator(".point[aria-pressed=true]")).to_have_attribute("aria-label", "Level 3: w")
    press_buttons(details, "Use task")
    expect(mounted.page.locator(FIELD)).to_have_value("stack it")
    shown.locator(".point").first.click()
    expect(details.locator(".fact")).to_have_count(6)
    press_buttons(details, "Use task")  # has all that it needs
    shown.get_by_label("1 task was not kept").check()
    expect(shown.locator(".dropped li")).to_have_text("lift it no grasp")
    shown.get_by_role("spinbutton").fill("7")
    shown.locator("select").select_option("2")
    shown.get_by_label("Try with a learner").check()
    press_buttons(shown, "Generate more")
    shown.locator("select").select_option("")
    press_buttons(shown, "Generate more")
    running = {"kept": 1, "wanted": 4, "message": "measures"}
    mounted.set_value("task-map", record | {"running": running, "can_start": False})
    expect(shown.locator(".controls")).to_have_text("1 of 4 keptStopmeasures")
    expect(shown.locator(".track .fill")).to_have_attribute("style", "width: 25%;")
    generated = [("generate", {"count": 7, "level": level, "worth": True}) for level in (2, None)]
    assert mounted.sent == [("bring", {"id": "b"}), *generated]
    mounted.set_value("task-map", record | {"tasks": [], "can_start": False, "can_learn": False})
    expect(shown.get_by_role("button", name="Generate tasks")).to_be_disabled()
    expect(shown.get_by_label("Try with a learner")).to_have_count(0)
    expect(shown.locator("details")).to_have_attribute("open", "")


# Failed conditions


def test_conditions_are_listed_by_study_and_one_is_watched_at_a_time(mount: Mount):
    mounted = mount("", "condition-table")
    table = mounted.page.locator(".condition-table")
    failures = [{"id": "0-1", "reward": 0.456, "reason": "dropped", "values": [0.12345, "red"]},
                {"id": "0-2", "reward": 0.0, "reason": "late", "values": [2, "blue"]}]  # fmt: skip
    success = {"successes": 3, "count": 5, "low": 0.231, "high": 0.882}
    study = {"title": "the arm", "success": success, "factors": ["mug.mass", "colour"], "failures": failures}
    studies = [study | {"name": "one"}, study | {"name": "two"}]
    mounted.set_value("condition-table", {"studies": studies, "watched": None})
    expect(table.locator("summary").first).to_have_text("one: 3 of 5 conditions solved by the arm (23 to 88 %)")
    table.locator("summary").first.click()
    expect(table.locator("details[open] th")).to_have_text(["Condition", "Reward", "Reason", "mug.mass", "colour"])
    first = table.locator("details[open] tbody tr").first
    expect(first.locator("td")).to_have_text(["▶ Watch 0-1", "0.46", "dropped", "0.123", "red"])
    press_buttons(first, "▶ Watch 0-1")
    mounted.set_value("condition-table", {"studies": studies, "watched": {"study": "two", "id": "0-2"}})
    expect_texts(table, {"details[open]": 2, ".watched": 1})
    press_buttons(table.locator(".watched"), "■ Close")
    assert mounted.sent == [("watch", {"study": "one", "id": "0-1"}), ("watch", {})]
