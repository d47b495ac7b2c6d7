"""Ten frames reviewed from the gallery by keyboard alone, and what the projects then say."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from browser.app_page import open_masks, screenshot
from browser.studio_process import Studio
from playwright.sync_api import Locator, Page, Request, expect

from tests.ui.test_accessibility import findings

SCENE = "blocks"
COUNT = 10
KEYS = {"accepted": "Shift+A", "rejected": "Shift+R", "skipped": "Shift+S"}
VERDICTS = ["accepted", "rejected", "skipped", "accepted", "rejected", "accepted", "accepted", "skipped", "accepted"]
"""On the frames after the first, whose objects are reviewed one by one."""


def reviews(folder: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]
    return [line["data"] for line in lines if line["kind"] == "review"]


def frame_is(bar: Locator, number: int) -> None:
    expect(bar.locator(".where")).to_have_text(f"Review {number} of {COUNT}")
    expect(bar.get_by_role("button", name=re.compile("^Accept"))).to_be_enabled()


def test_ten_frames_are_reviewed_by_keyboard_alone(studio: Studio, ready_project: Path, page: Page):
    folders = [studio.workspace / f"table_{number}" for number in range(COUNT)]
    for folder in folders:
        shutil.copytree(ready_project, folder)
    page.goto(studio.address)
    page.get_by_label("Search projects").focus()
    page.keyboard.type("table_")
    expect(page.locator(".board .project")).to_have_count(COUNT)
    page.get_by_role("button", name="Review lowest confidence first").focus()
    page.keyboard.press("Enter")
    bar = page.locator(".review-queue")
    frame_is(bar, 1)
    objects = review_first_frame(page, bar)
    for number, verdict in enumerate(VERDICTS, 2):
        frame_is(bar, number)
        page.keyboard.press(KEYS[verdict])
        if verdict == "rejected":
            page.keyboard.type("the table is cut off")
            page.keyboard.press("Enter")
    expect(bar.locator(".where")).to_contain_text("Review finished: 6 accepted, 2 rejected, 2 skipped")
    expect(page.locator(".gallery .board")).to_be_visible()
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()

    of_frames = [next(one for one in reviews(folder) if "id" not in one) for folder in folders]
    assert sorted(one["verdict"] for one in of_frames) == ["accepted"] * 6 + ["rejected"] * 2 + ["skipped"] * 2
    for folder, one in zip(folders, of_frames, strict=True):
        said = json.loads(path.read_text()) if (path := folder / "curation.json").exists() else {}
        assert said.get("verdict", "skipped") == one["verdict"] and said.get("reason", "") == one.get("reason", "")
        assert one["seconds"] > 0 and one["key_presses"] > 0 and one["pointer_presses"] == 0
    (first,) = (folder for folder in folders if len(reviews(folder)) > 1)
    by_object = [one for one in reviews(first) if "id" in one]
    assert {one["id"] for one in by_object} == objects
    scores = json.loads((first / "confidence.json").read_text())["scores"]
    shown = [scores[str(one["id"])] for one in by_object]
    assert shown == sorted(shown), "the least sure object comes first"


def test_quick_verdicts_are_sent_with_their_order_and_recorded_in_it(studio: Studio, ready_project: Path, page: Page):
    folder = studio.workspace / "quick"
    shutil.copytree(ready_project, folder)
    orders: list[dict[str, Any]] = []

    def note_order(request: Request) -> None:
        body = json.loads(request.post_data or "{}") if "queue/join" in request.url else {}
        if (body.get("event_data") or {}).get("verdict"):
            orders.append(body["event_data"])

    page.goto(studio.address)
    page.get_by_label("Search projects").focus()
    page.keyboard.type("quick")
    expect(page.locator(".board .project")).to_have_count(1)
    page.on("request", note_order)
    page.get_by_role("button", name="Review lowest confidence first").focus()
    page.keyboard.press("Enter")
    bar = page.locator(".review-queue")
    expect(bar.get_by_role("button", name=re.compile("^Accept"))).to_be_enabled()
    accepted: list[int] = []
    while "frame as a whole" not in bar.inner_text():
        accepted.append(int(bar.locator(".chip").inner_text()))
        page.keyboard.press("a")
    expect(bar).to_contain_text(f"{len(accepted)} of {len(accepted)} objects accepted")
    page.remove_listener("request", note_order)
    assert [one["id"] for one in sorted(orders, key=lambda one: one["sent"]["number"])] == accepted
    assert all(one["sent"]["seconds_after"] < 60 for one in orders)
    assert [one["id"] for one in reviews(folder)] == accepted


def review_first_frame(page: Page, bar: Locator) -> set[int]:
    """Accept, fix, reject and skip its objects; return their ids."""
    done: set[int] = set()
    for key in ("a", "fix", "r", "s", *"aaaaaaaa"):
        if "frame as a whole" in bar.inner_text():
            break
        object_id = int(bar.locator(".chip").inner_text())
        expect(page.locator(f".object-list [data-id='{object_id}']")).to_have_class(re.compile("selected"))
        done.add(object_id)
        if key == "fix":
            page.keyboard.press("f")
            open_masks(page)
            page.keyboard.press("a")
            expect(bar).to_contain_text("Back to the review")
            page.keyboard.press("q")
            key = "a"
        page.keyboard.press(key)
        if key == "r":
            screenshot(page, "review_reason")
            page.keyboard.type("wrong colour")
            page.keyboard.press("Enter")
        expect(bar.locator(".item")).not_to_contain_text(re.compile(rf"^\s*{object_id}\b"))
    screenshot(page, "review_frame")
    assert not findings(page)
    expect(bar).to_contain_text("frame as a whole")
    page.keyboard.press("Control+z")  # the last verdict on an object is taken back: it is asked for again
    expect(bar.locator(".chip")).to_have_text(str(object_id))
    page.keyboard.press("a")
    expect(bar).to_contain_text("frame as a whole")
    page.keyboard.press("a")
    return done
