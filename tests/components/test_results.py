"""The Review page: whether the task was solved, on which seeds, by which robot, and what is exported and shared; and
the card that says how well the twin explains the photograph."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from browser.bare_page import Mount
from browser.watched_page import PAGE_LOGS, expect_texts, wait_until
from playwright.sync_api import Page, Route, expect

from pipeline.feasibility import feasibility_file
from pipeline.store import write_json

TASK = "put the green_cylinder on the left"


@pytest.fixture(autouse=True)
def films(page: Page) -> None:
    page.route("**/*.mp4", lambda route: route.fulfill(body=b""))


def test_a_solution_is_reviewed_and_another_robot_refuses_the_tasks_that_are_not_for_it(mount: Mount, page: Page):
    mounted = mount("stack", "results", "task-cards", until="solution", task=TASK)
    session, results = mounted.session, page.locator(".results")
    expect(results.locator(".verdict.good")).to_have_text(re.compile("^✓ Solved. .*8 of 8 seeds solved"))
    expect_texts(results, {".seed .faint": [f"✓ {n}" for n in range(8)], ".wide .tag.good": ["✓ Done"] * 8})
    results.locator(".provenance summary").click()
    expect(results.locator(".provenance tbody tr")).to_have_count(len(mounted.decisions))
    expect(results.get_by_role("link", name="Download zip")).to_have_attribute("href", re.compile("/export/zip$"))
    planted = session.project.tasks()[-1]  # the arm can do all others of this scene
    write_json(feasibility_file(planted, mounted.folder, "arm"), {"why": "no grasp fits between its neighbours"})
    mounted.take_sent()
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
            wait_until(page, lambda: ("start_trials", {}) in mounted.sent)  # with this robot
    assert mounted.kinds == ["task", "robot", "robot"]


TINTED = """img => { const canvas = new OffscreenCanvas(img.naturalWidth, img.naturalHeight).getContext('2d');
    canvas.drawImage(img, 0, 0);
    const data = canvas.getImageData(0, 0, img.naturalWidth, img.naturalHeight).data;
    return data.filter((value, i) => i % 4 === 3 && value > 0).length; }"""


def test_the_card_believes_a_good_twin_names_doubts_and_tints_what_is_unexplained(mount: Mount, page: Page):
    mounted = mount("blocks", "frame-evidence", "results", until="solution")
    card, project = page.locator(".evidence-card"), mounted.session.project
    expect(card.locator("h3")).to_have_text("✓ The twin explains the photograph")
    expect(card.locator("dl")).to_contain_text(re.compile("Explained(9\\d|100)% of the pixels"))
    expect(page.locator(".verdict.good")).to_contain_text("✓ Solved.")
    tint = np.zeros((60, 80), bool)
    tint[10:20, 30:40] = True
    doubtful = {"red_cube": "red_cube is cut off by the picture's edge"}
    doubts = {"edges": 1.1, "size_ratio": 4.0, "objects": doubtful, "unexplained": tint}
    project.save_evidence(replace(project.evidence(), **doubts))
    mounted.session.log.add("measured", "person")
    expect_texts(card, {"h3": "? The twin may not show the photograph", ".doubt": 2, "dd.low": 2})
    expect(card.locator(".doubt").first).to_contain_text("edges agree 1.1 times as well as by chance. Check that")
    expect(card.locator(".object")).to_contain_text("cut off by the picture's edge.")
    page.wait_for_function("() => document.querySelector('.evidence-card .tint').complete")
    assert card.locator(".tint").evaluate(TINTED) == 100
    expect(page.locator(".verdict.warn")).to_contain_text("? Doubtful.")
    expect(page.locator(".verdict.warn p")).to_have_count(2)


def record(**more: Any) -> dict[str, Any]:
    seeds = [{"seed": n, "reward": 0.25 * n, "success": n > 3, "crash": "", "why": f"why {n}"} for n in range(6)]
    seeds[0] |= {"crash": "boom", "why": ""}
    format = {"title": "Title", "missing": "", "holds": "all", "lacks": "", "address": "export/x"}
    known = {
        "solved": False, "sentence": "2 of 6", "seeds": seeds, "busy": False, "ready": True, "token": "t",
        "robots": [{"name": "arm", "title": "Arm", "note": "with six joints", "chosen": False}], "video": "film.mp4",
        "failure": {"video": "failure.mp4", "seed": 1, "instant": 2.34}, "shares": True,
        "decisions": [{"at": "1", "by": "Ann", "text": "x"}],
        "exports": [format | {"name": name, "address": f"export/{name}"} for name in ("zip", "mp4", "glb")]
        + [format | {"name": "usd", "title": "USD", "missing": "solve first", "lacks": "joints"}],
        "stages": [{"stage": "Frame", "state": "✓ Done", "tone": "good", "source": "measured", "note": "n"}],
    }  # fmt: skip
    return known | more


def test_an_unsolved_task_says_which_seeds_failed_and_keeps_what_a_person_opened(mount: Mount, page: Page):
    mounted, results = mount("", "results"), page.locator(".results")
    mounted.set_value("results", record())
    seeds = {".seed .faint": ["✕ 0", "✕ 1", "✕ 2", "✕ 3", "✓ 4", "✓ 5"]}
    seeds |= {".seed .number": ["✕", "0.25", "0.50", "0.75", "1.00", "1.25"]}
    failed = {".failed li": ["Seed 0: boom", *(f"Seed {n}: why {n}" for n in (1, 2, 3))]}
    failed |= {".verdict.warn": ["! Not solved. 2 of 6"], ".caption": ["✕ First failed seed: 1, at 2.3 s"]}
    expect_texts(results, seeds | failed | {".formats a": ["Download glb"]})
    levels = results.locator(".level").all()[:3]
    assert [one.get_attribute("style") for one in levels] == [f"height: {share}%;" for share in (2, 25, 50)]
    links, formats = results.locator(".links").first.locator("a"), results.locator(".formats")
    expect(links).to_have_text(["Download zip", "Share as video", "Download video"])
    asked: list[Route] = []
    page.route("**/export/zip", lambda route: asked.append(route))
    links.first.click()
    writing = results.get_by_role("button", name="Writing… Stop")
    expect(writing).to_have_attribute("title", "Stop: Download zip")
    writing.click()
    expect(links).to_have_text(["Download zip", "Share as video", "Download video"])
    links.first.click()
    expect(writing).to_be_visible()
    wait_until(page, lambda: len(asked) == 2)
    asked[1].fulfill(status=404, body="The disk is full.")
    expect(results.locator(".fault")).to_have_text("The disk is full.")
    with page.expect_download() as download:
        links.first.click()
        wait_until(page, lambda: len(asked) == 3)
        asked[2].fulfill(body="x", headers={"content-disposition": 'attachment; filename="table.zip"'})
    assert download.value.suggested_filename == "table.zip"
    assert ["404" in one for one in PAGE_LOGS[page].take_errors()] == [True]
    expect(results.locator(".fault")).to_have_count(0)
    formats.locator("select").select_option("usd")
    results.locator(".provenance summary").click()
    expect(results.locator(".provenance table")).to_be_visible()
    mounted.set_value("results", record(solved=True, sentence="all"))
    expect(formats.get_by_role("button", name="Download usd")).to_be_disabled()
    expect(formats.locator("p")).to_have_text(["Contains: all", "Not included: joints", "Not available: solve first"])
    expect(results.locator(".provenance")).to_have_attribute("open", "")
    expect(results.locator(".caption").first).to_have_text("✓ First solved seed")
    results.get_by_role("button", name="Arm").click()
    nothing = {"ready": False, "seeds": [], "waiting": "Generate a task first.", "video": None, "failure": None}
    mounted.set_value("results", record(**nothing))
    expect(results.get_by_role("button", name="Arm")).to_be_disabled()
    expect(results.locator(".muted")).to_have_text("Generate a task first.")
    expect(results.locator("video")).to_have_count(0)
    assert mounted.sent == [("solve", {"robot": "arm"})]


def test_links_to_a_project_are_made_shown_once_and_revoked(mount: Mount, page: Page):
    mounted, share = mount("", "results"), page.locator(".share")
    made = {"token": "secret", "links": [{"id": "7", "expires": 1_800_000_000, "by": "Ann"}]}
    answers = {"links": {"links": []}, "share": made, "revoke": {"error": "Not yours."}}
    asked = mounted.answer("results", answers)
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
    sent = [{"kind": "links"}, {"kind": "share", "days": 30}, {"kind": "revoke", "id": "7"}, {"kind": "links"}]
    assert [{key: one[key] for key in one if key != "token"} for one in asked] == sent
