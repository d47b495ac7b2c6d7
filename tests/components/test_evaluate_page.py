"""The Evaluate page: policies by conditions, what that says in words, and the episodes of a row on one clock."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.axe import findings
from browser.bare_page import BareStudio, Mount
from browser.watched_page import press_keys, wait_until
from playwright.sync_api import Locator, Page, expect

from pipeline.divergence import ArmJoints, Episode, compare
from pipeline.divergence.report import drawn_result
from studio.viewer import Trajectory

BALL = """<mujoco><worldbody><camera name='photo' pos='0 -1 0' xyaxes='1 0 0 0 0 1'/><body name='b'><freejoint/>
<geom size='.1'/><camera name='wrist' pos='0 0 1'/></body></worldbody></mujoco>"""
SOLVED = {"success": True, "seconds": 3.25, "failure": None, "reason": ""}
MISSED = {"success": False, "seconds": 30, "failure": "missed_grasp", "reason": "0 % of the goals met"}
UNBUILT = {"success": False, "seconds": 0, "failure": None, "reason": "red_cube is too large"}


def policy(name: str, *cells: dict[str, Any] | None) -> dict[str, Any]:
    return {"name": name, "cells": cells}


class Evaluated:
    def __init__(self, mount: Mount, studio: BareStudio, page: Page):
        self.page, self.element, self.studio = page, page.locator(".evaluate"), studio
        self.record: dict[str, Any] = {
            "task": "put it left", "can_learned": False, "job": None,
            "shown": {
                "is_present": True, "seed": 4, "report": True,
                "conditions": ["4-0000", "4-0001", "4-0002", "4-0003"], "words": ["2 of 3", "hold is worse"],
                "policies": [policy("demonstration", SOLVED, SOLVED, UNBUILT, None),
                             policy("hold", SOLVED, MISSED, MISSED, None)],
                "real": [None] * 4,
            },
        }  # fmt: skip
        self.mounted = mount("", "top-bar", "evaluate")
        answers = {"play": self._play, "differences": self._differences, "add_log": self._add_log}
        answers |= dict.fromkeys(("status", "start"), lambda _: self.record)
        self.asked = self.mounted.answer("evaluate", answers)
        bar = {"ready": True, "services": [], "project": "stack", "title": "Stack"}
        self.mounted.set_value("top-bar", bar)
        self.set_value()
        page.get_by_role("button", name="Evaluate", exact=True).click()
        expect(self.element).to_be_visible()

    def set_value(self, **more: Any) -> None:
        self.mounted.set_value("evaluate", {"project": "token", "may_work": True, "may_run_code": True} | more)

    def _play(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["condition"] == "4-0002":
            return {"error": "Nothing of this condition was recorded yet."}
        known = self.record["shown"]["real"][1]
        names, ends = ["demonstration", "hold"] + ["Real log"] * bool(known), (3.25, 9.0, 5.0)
        tokens = [
            self.studio.views.open(BALL, trajectory=Trajectory(np.array([0.0, end]), np.eye(2, 7, 3)))
            for end, _ in zip(ends, names, strict=False)
        ]
        for token in tokens[::2]:
            self.studio.views.get(token).follow(self.studio.views.get(tokens[1]))
        panes = [{"name": f"pane-{number}", "title": name, "token": tokens[number], "is_real": number == 2, "note": "",
                  "events": [[1.5, "grasp"], [2.5, "lift"]] if not number else []}
                 for number, name in enumerate(names)]  # fmt: skip
        return {
            "condition": request["condition"],
            "values": {"red_cube.mass": 0.123456, "table": "plain"},
            "panes": panes,
        }

    def _differences(self, request: dict[str, Any]) -> dict[str, Any]:
        times = np.arange(0, 3.25, 0.05)
        arms = {"arm": ArmJoints(("lift", "turn"))}
        first, second = (
            Episode.from_arrays(times, np.stack([times, turn * times**2], 1), ("lift", "turn"), arms)
            for turn in (0.1, 0.3)
        )
        return {"result": drawn_result(compare(first, second, None, "none"), first, second)}

    def _add_log(self, request: dict[str, Any]) -> dict[str, Any]:
        self.record["shown"]["real"][1] = {"file": "arm.bag", "seconds": 5.0, "success": None, "reason": "no poses"}
        return self.record

    def requests(self, count: int) -> list[dict[str, Any]]:
        sent = lambda: [one for one in self.asked if one["kind"] != "status"]  # noqa: E731
        wait_until(self.page, lambda: len(sent()) >= count)
        taken = [{key: one[key] for key in one if key != "token"} for one in sent()]
        self.asked.clear()
        return taken

    def cell(self, name: str) -> Locator:
        return self.element.get_by_role("button", name=name)

    def clocks(self, time: str) -> None:
        for number in (0, 1):
            frame = self.element.locator(f"[data-pane=pane-{number}] iframe").content_frame
            expect(frame.locator("#clock")).to_have_text(time, timeout=30_000)


@pytest.fixture
def evaluated(mount: Mount, studio: BareStudio, page: Page) -> Evaluated:
    return Evaluated(mount, studio, page)


def test_the_page_says_who_is_better_and_a_rows_episodes_play_on_one_clock(evaluated: Evaluated):
    page, element = evaluated.page, evaluated.element
    expect(element.locator(".words li")).to_have_text(["2 of 3", "hold is worse"])
    rows = [["✓ 3.3 s", "✓ 3.3 s"], ["✓ 3.3 s", "✗ missed grasp"], ["✗ did not run", "✗ missed grasp"], ["·", "·"]]
    expect(element.locator("tbody .cell")).to_have_text([text for row in rows for text in row])
    expect(evaluated.cell("4-0002, demonstration")).to_have_attribute("title", "red_cube is too large")
    menu = element.get_by_label("Filter")
    offered = ["All conditions (4)", "Policies differ (1)", "Failed (2)", "missed grasp (2)"]
    expect(menu.locator("option")).to_have_text(offered)
    menu.select_option("missed_grasp")
    expect(element.locator("tbody tr")).to_have_count(2)
    evaluated.cell("4-0001, demonstration").focus()
    press_keys(page, "ArrowUp", "ArrowRight", "Enter")  # there is no row above
    expect(evaluated.cell("4-0001, hold")).to_be_focused()
    expect(element.locator("tr.on[data-condition]")).to_contain_text("4-0001")
    expect(element.locator("figcaption")).to_have_text(["demonstration · ✓ 3.3 s", "hold · ✗ missed grasp"])
    element.get_by_role("button", name="2.5 s lift").click()
    evaluated.clocks("2.50 s")
    insets = element.locator("[data-pane=pane-1] iframe").content_frame.locator("#insets figure")
    expect(insets).to_have_text(["photo", "wrist"])
    expect(element.locator(".differences .cursor")).to_have_attribute("data-time", "2.50")
    expect(element.locator(".y2title")).to_contain_text("turn")  # it differs most
    element.locator("[data-table=joints]").get_by_role("button", name="lift").click()
    expect(element.locator(".y2title")).to_contain_text("lift")
    expect(element.locator("dl")).to_contain_text("red_cube.mass0.123")
    assert not findings(page)
    menu.select_option("all")
    evaluated.cell("4-0002, hold").click()
    expect(element.get_by_role("alert")).to_have_text("Nothing of this condition was recorded yet.")
    assert [one["condition"] for one in evaluated.requests(3)] == ["4-0001", "4-0001", "4-0002"]
    made = "“stack, condition 4-0002” is in the "
    evaluated.mounted.answer("evaluate", {
        "make_project": lambda one: {"name": f"stack_{one['condition']}", "title": "stack, condition 4-0002"},
        "unmake_project": lambda one: {}, "status": lambda _: evaluated.record, "play": evaluated._play,
    })  # fmt: skip
    evaluated.cell("4-0001, hold").click()
    element.get_by_role("button", name="Make this condition a project").click()
    said = element.get_by_role("status").filter(has_text=made)
    expect(said).to_contain_text(f"{made}gallery: a copy of this project")
    expect(element.get_by_role("link", name="Open it")).to_have_attribute("href", "?project=stack_4-0001")
    element.get_by_role("button", name="Undo").click()
    expect(said).to_have_text(f"{made}trash of the gallery.")
    evaluated.record["shown"] |= {"is_present": False}
    page.keyboard.press("Escape")
    expect(element).to_be_hidden()
    page.get_by_role("button", name="Evaluate", exact=True).click()
    expect(element).to_contain_text("These episodes are of an earlier twin or task; evaluate again.")


def test_a_real_log_is_a_column_and_plays_beside_the_policies_without_a_success_that_is_not_known(
    evaluated: Evaluated, tmp_path: Path
):
    element, log = evaluated.element, tmp_path / "arm.bag"
    log.write_bytes(b"log")
    evaluated.cell("4-0001, hold").click()
    element.get_by_label("Real log: File …").set_input_files(log)
    expect(element.locator(".grid thead th")).to_have_text(["Condition", "demonstration", "hold", "Real log"])
    expect(evaluated.cell("4-0001, Real log")).to_have_text("? not known")
    expect(evaluated.cell("4-0001, Real log")).to_have_attribute("title", "no poses")
    expect(element.locator("figcaption").last).to_have_text("Real log · ? not known")
    compared = element.get_by_label("Episodes that are compared").locator("option")
    expect(compared).to_have_text(["Real log · demonstration", "Real log · hold", "demonstration · hold"])
    added = next(one for one in evaluated.requests(5) if one["kind"] == "add_log")
    assert added["condition"] == "4-0001" and [file["name"] for file in added["files"]] == ["arm.bag"]
    expect(element.get_by_text("Real log: arm.bag")).to_be_visible()


def test_an_evaluation_is_started_with_what_a_person_chose_followed_and_stopped(evaluated: Evaluated):
    element = evaluated.element
    expect(element.get_by_label("Seed")).to_have_value("4")  # as the newest evaluation was started
    expect(element.get_by_label("Hold still")).to_be_checked()
    expect(element.get_by_label("Learned")).to_be_disabled()
    element.get_by_label("Hold still").uncheck()
    element.get_by_label("Servers and functions").fill("groot://127.0.0.1:5555\n\n my.py:act ")
    element.get_by_label("Number of conditions").fill("50")
    evaluated.record |= {"job": {"id": "7", "state": "running", "message": "starting"}}
    element.locator("[data-act=start]").click()
    expect(element.locator(".progress-text")).to_have_text("6 of 8 episodes")
    expect(element.get_by_role("link", name="Report")).to_be_hidden()
    chosen = ["demonstration", "groot://127.0.0.1:5555", "my.py:act"]
    assert evaluated.requests(1) == [
        {"kind": "start", "policies": chosen, "count": 50, "seed": 4, "uncertainty": False}
    ]
    evaluated.record["shown"]["policies"][1] = policy("hold", SOLVED, MISSED, MISSED, SOLVED)
    evaluated.mounted.tell_job("evaluation")
    expect(evaluated.cell("4-0003, hold")).to_have_text("✓ 3.3 s")
    element.locator("[data-act=stop]").click()
    evaluated.record["job"] = {"state": "stopped", "message": ""}
    evaluated.mounted.tell_job("evaluation")
    expect(element).to_contain_text("Stopped. Finished episodes are kept; Evaluate goes on there.")
    expect(element.get_by_label("Seed")).to_be_enabled()
    expect(element.get_by_role("link", name="Report")).to_have_attribute("href", "project/token/evaluation.html")
    evaluated.record |= {"job": {"state": "failed", "message": "no server answers"}, "shown": None}
    evaluated.set_value(project="other", may_run_code=False)
    expect(element.get_by_role("alert")).to_have_text("no server answers")
    expect(element.get_by_label("Servers and functions")).to_be_disabled()
    expect(element).to_contain_text("each one is tried under the same conditions")
    evaluated.set_value(project="")
    expect(element).to_be_hidden()
