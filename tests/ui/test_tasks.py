"""Choosing a task, being asked back, and stepping into rounds: branches, a comparison, the round that counts."""

import json
import os
import re
from pathlib import Path

from conftest import Studio
from playwright.sync_api import Page, expect

SCENE = "stack"
expect.set_options(timeout=150_000)
shots = os.environ.get("GRS_SHOTS")


def shot(page: Page, name: str) -> None:
    if shots:
        page.screenshot(path=Path(shots) / f"{name}.png")


def settled(page: Page) -> None:
    expect(page.locator(".status-bar .spin")).to_have_count(0)


def halted(page: Page) -> None:
    """Ends what still runs: the solving of eight seeds is looked at elsewhere."""
    stop = page.locator(".status-bar .stop")
    if stop.count():
        stop.dispatch_event("click")
    settled(page)


def words(page: Page):
    return page.locator("#task-text textarea, #task-text input")


def test_cards_show_the_goal_how_hard_it_looks_and_whether_the_robot_managed_it(studio: Studio, page: Page):
    page.goto(studio.address)
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    page.get_by_role("tab", name=re.compile("^Task")).click()
    cards = page.locator(".task-cards")
    expect(cards.locator(".task").nth(7)).to_be_visible()
    assert len({card.get_attribute("data-kind") for card in cards.locator(".task").all()}) >= 5
    first = cards.locator(".task").first
    expect(first).to_contain_text(re.compile("easy|medium|hard"))
    expect(first.locator(".verdict")).to_contain_text(re.compile(r"✓ \d+ move|✕"))
    picture = first.locator("img")
    expect(picture).to_be_visible()
    page.wait_for_function("() => document.querySelector('.task-cards img').naturalWidth === 360")
    cards.get_by_role("button", name="Stop trying").click()
    expect(cards.get_by_role("button", name="Try the rest in the twin")).to_be_visible()
    shot(page, "tasks_1_cards")


def test_cards_are_filtered_by_kind(page: Page):
    cards = page.locator(".task-cards")
    count = cards.locator(".task").count()
    cards.get_by_role("button", name=re.compile("^Stack")).click()
    kinds = {card.get_attribute("data-kind") for card in cards.locator(".task").all()}
    assert kinds == {"stack"}
    cards.get_by_role("button", name=re.compile("^All")).click()
    assert cards.locator(".task").count() == count


def test_words_that_do_not_fit_are_asked_back_about_and_corrected_at_a_click(page: Page):
    words(page).fill("put the green brick on the yellow cube")
    page.locator("#generate").click()
    asked = page.locator(".asked-back")
    expect(asked).to_contain_text("There is no brick here")
    expect(asked).to_contain_text('did you mean "green_cylinder"?')
    shot(page, "tasks_2_asked")
    asked.get_by_role("button").click()
    expect(words(page)).to_have_value("put the green_cylinder on the yellow cube")
    settled(page)


def test_a_round_is_edited_and_goes_on_as_a_branch_of_its_own(studio: Studio, page: Page):
    page.locator("#generate").click()
    timeline = page.locator(".round-timeline")
    expect(timeline.locator("[data-round='0']")).to_contain_text(re.compile(r"✓ \d+ of \d+ checks"))
    expect(page.locator(".asked-back")).to_be_hidden()
    halted(page)
    timeline.get_by_role("button", name="Edit and branch").click()
    task = page.locator("#edited-task textarea, #edited-task input")
    expect(task).to_have_value("put the green_cylinder on the yellow cube")
    task.fill("put the green_cylinder on the red_box")
    page.get_by_role("button", name="Run from here").click()
    expect(timeline.locator(".lane")).not_to_have_count(1)
    expect(timeline.locator("[data-round]").last).to_contain_text("✓")
    halted(page)
    expect(timeline.locator(".branch").last).to_contain_text("from 0")
    task = json.loads((studio.workspace / SCENE / "task.json").read_text())
    assert task["instruction"] == "put the green_cylinder on the red_box" and "red_box" in task["objects"]
    shot(page, "tasks_3_branch")


def test_two_rounds_are_compared_and_one_is_pinned(studio: Studio, page: Page):
    timeline = page.locator(".round-timeline")
    timeline.locator(".compare").select_option("0")
    expect(timeline.locator(".comparison")).to_contain_text("Round 0 beside round")
    expect(timeline.locator(".comparison .code-diff").first).to_be_visible()
    shot(page, "tasks_4_compare")
    timeline.locator(".comparison").get_by_role("button", name="Close").click()
    expect(timeline.locator(".comparison")).to_have_count(0)
    timeline.locator("[data-round='1']").click()
    timeline.get_by_role("button", name="Pin").click()
    expect(timeline.locator("[data-round='1']")).to_contain_text("★")
    halted(page)
    log = (studio.workspace / SCENE / "decisions.jsonl").read_text().splitlines()
    assert json.loads(log[-1])["kind"] == "pin" and json.loads(log[-1])["data"] == {"round": 1}


def test_checks_stand_beside_rounds_in_a_table(page: Page):
    timeline = page.locator(".round-timeline")
    timeline.get_by_role("button", name="Checks by round").click()
    table = timeline.locator(".matrix table")
    expect(table).to_contain_text("oracle solves it")
    expect(table.locator("td.passed").first).to_be_visible()
    shot(page, "tasks_5_matrix")
