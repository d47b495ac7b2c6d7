"""The Review page: whether the task was solved, on which seeds, by which robot, and what is exported and shared."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser.bare_page import Mount
from browser.watched_page import wait_until
from playwright.sync_api import Page, expect

from pipeline.feasibility import feasibility_file
from pipeline.store import write_json

TASK = "put the green_cylinder on the left"


@pytest.fixture(autouse=True)
def films(page: Page) -> Iterator[None]:
    """Answers for the films of made-up results."""
    page.route("**/*.mp4", lambda route: route.fulfill(body=b""))
    yield
    page.unroute("**/*.mp4")


def test_a_solution_is_reviewed_and_another_robot_refuses_the_tasks_that_are_not_for_it(mount: Mount, page: Page):
    page.route("**/start_trials", lambda route: route.fulfill(json={}))
    mounted = mount("stack", "results", "task-cards", until="solution", task=TASK)
    session, results = mounted.session, page.locator(".results")
    expect(results.locator(".verdict.good")).to_have_text(re.compile("^✓ Solved. .*8 of 8 seeds solved"))
    expect(results.locator(".seed .faint")).to_have_text([f"✓ {seed}" for seed in range(8)])
    expect(results.locator(".wide .tag.good")).to_have_text(["✓ Done"] * 8)
    results.locator(".provenance summary").click()
    expect(results.locator(".provenance tbody tr")).to_have_count(len(mounted.decisions))
    expect(results.get_by_role("link", name="Download zip")).to_have_attribute("href", re.compile("/export/zip$"))
    planted = session.project.tasks()[-1]  # the arm can do all others of this scene
    write_json(feasibility_file(planted, mounted.folder, "arm"), {"why": "no grasp fits between its neighbours"})
    trials = [name for name, _ in mounted.sent]
    for title in ("UR5e arm, 2F-85", "Floating gripper"):
        robot = results.get_by_role("button", name=re.compile(re.escape(title)))
        expect(robot).to_be_enabled()
        robot.click()
        expect(robot).to_have_attribute("aria-pressed", "true")
        expect(results.locator(".robot").first).to_be_disabled()  # it works
        session.runner.stop()
        refused = page.locator(".task", has_text="Not with this robot")
        expect(refused).to_have_count(1 if title.startswith("UR5e") else 0)
        if refused.count():
            expect(refused.locator(".why")).to_contain_text("no grasp fits")
    assert mounted.kinds == ["task", "robot", "robot"]
    wait_until(page, lambda: len(mounted.sent) > len(trials) + 2)  # tested again for each robot
    page.unroute("**/start_trials")


def record(**more: Any) -> dict[str, Any]:
    seeds = [
        {"seed": seed, "reward": 0.25 * seed, "success": seed > 3, "crash": "", "why": f"why {seed}"}
        for seed in range(6)
    ]
    seeds[0] |= {"crash": "boom", "why": ""}
    format = {"title": "Title", "missing": "", "holds": "all", "lacks": "", "address": "export/x"}
    known = {
        "solved": False, "sentence": "2 of 6", "seeds": seeds, "busy": False, "ready": True, "token": "t",
        "robots": [{"name": "arm", "title": "Arm", "note": "with six joints", "chosen": False}], "video": "film.mp4",
        "failure": {"video": "failure.mp4", "seed": 1, "instant": 2.34}, "shares": True,
        "decisions": [{"at": "1", "by": "Ann", "text": "x"}],
        "exports": [format | {"name": name} for name in ("zip", "mp4", "glb")]
        + [format | {"name": "usd", "title": "USD", "missing": "solve first", "lacks": "joints"}],
        "stages": [{"stage": "Frame", "state": "✓ Done", "tone": "good", "source": "measured", "note": "n"}],
    }  # fmt: skip
    return known | more


def test_an_unsolved_task_says_which_seeds_failed_and_keeps_what_a_person_opened(mount: Mount, page: Page):
    page.route("**/*.mp4", lambda route: route.fulfill(status=204))
    mounted = mount("", "results")
    results = page.locator(".results")
    mounted.set_value("results", record())
    expect(results.locator(".verdict.warn")).to_have_text("! Not solved. 2 of 6")
    expect(results.locator(".seed .faint")).to_have_text(["✕ 0", "✕ 1", "✕ 2", "✕ 3", "✓ 4", "✓ 5"])
    expect(results.locator(".seed .number")).to_have_text(["✕", "0.25", "0.50", "0.75", "1.00", "1.25"])
    assert [one.get_attribute("style") for one in results.locator(".level").all()][:3] == [
        "height: 2%;", "height: 25%;", "height: 50%;",
    ]  # fmt: skip
    expect(results.locator(".failed li")).to_have_text(["Seed 0: boom", *(f"Seed {n}: why {n}" for n in (1, 2, 3))])
    expect(results.locator(".caption")).to_have_text("✕ First failed seed: 1, at 2.3 s")
    expect(results.locator(".links").first.locator("a")).to_have_text(
        ["Download zip", "Share as video", "Download video"]
    )
    formats = results.locator(".formats")
    expect(formats.locator("a")).to_have_text("Download glb")
    formats.locator("select").select_option("usd")
    results.locator(".provenance summary").click()
    expect(results.locator(".provenance table")).to_be_visible()
    mounted.set_value("results", record(solved=True, sentence="all"))
    expect(formats.get_by_role("button", name="Download usd")).to_be_disabled()
    expect(formats.locator("p")).to_have_text(["Contains: all", "Not included: joints", "Not available: solve first"])
    expect(results.locator(".provenance")).to_have_attribute("open", "")
    expect(results.locator(".caption").first).to_have_text("✓ First solved seed")
    results.get_by_role("button", name="Arm").click()
    mounted.set_value(
        "results", record(ready=False, seeds=[], waiting="Generate a task first.", video=None, failure=None)
    )
    expect(results.get_by_role("button", name="Arm")).to_be_disabled()
    expect(results.locator(".muted")).to_have_text("Generate a task first.")
    expect(results.locator("video")).to_have_count(0)
    assert mounted.sent == [("solve", {"robot": "arm"})]


def test_links_to_a_project_are_made_shown_once_and_revoked(mount: Mount, page: Page):
    asked: list[dict[str, Any]] = []
    answers = {
        "links": {"links": []},
        "share": {"token": "secret", "links": [{"id": "7", "expires": 1_800_000_000, "by": "Ann"}]},
        "revoke": {"error": "Not yours."},
    }

    def answer(route: Any) -> None:
        asked.append(route.request.post_data_json)
        route.fulfill(json=answers[asked[-1]["kind"]])

    page.route("**/bare/ask/results", answer)
    mounted = mount("", "results")
    share = page.locator(".share")
    mounted.set_value("results", record(shares=False))
    expect(share).to_be_hidden()
    mounted.set_value("results", record())
    share.get_by_label("Lasts").select_option("30")
    share.get_by_role("button", name="Create link").click()
    expect(share.get_by_label("New link")).to_have_value(re.compile("/link/secret$"))
    expect(share.locator(".kept-link")).to_contain_text("by Ann")
    share.get_by_role("button", name="Revoke").click()
    expect(share.get_by_role("alert")).to_have_text("Not yours.")
    mounted.set_value("results", record(token="another"))
    expect(share.get_by_label("New link")).to_have_count(0)
    assert [{**one, "token": ""} for one in asked] == [
        {"kind": "links", "token": ""}, {"kind": "share", "days": 30, "token": ""},
        {"kind": "revoke", "id": "7", "token": ""}, {"kind": "links", "token": ""},
    ]  # fmt: skip
    page.unroute("**/bare/ask/results")
