"""The rounds of a task: their branches, what a person opens, plays, compares and edits, and the viewers beside them."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import offline_studio
import pytest
from browser.app_page import LONG, on_screen
from browser.bare_page import BareStudio, Mount, Mounted
from browser.watched_page import expect_texts, press_buttons, wait_until
from playwright.sync_api import FrameLocator, expect
from ready_projects import ready_project

from studio.sessions.project_work import EditedRound
from studio.task.round_records import timeline_record
from studio.viewer import PhotoCamera

TASK = "put the green_cylinder on the left"
END_TIME_S, VIEWER = 1e6, "#round iframe"
LINKED = "/static/viewer/frame/linked_viewers.js"


def wait_until_shown(view: FrameLocator, caption: str | re.Pattern[str]) -> None:
    expect(view.locator("#caption")).to_have_text(caption, timeout=LONG)
    expect(view.locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)


def opened_copy(studio: BareStudio, name: str) -> Any:
    shutil.copytree(ready_project("stack", "solution", TASK), studio.workspace / name)
    return studio.shell.sessions.open(name)


@pytest.fixture(scope="module")
def branched(studio: BareStudio) -> Path:
    """The folder of a project in which an edit of the round that passed has failed."""
    session = opened_copy(studio, "branched")
    folder, program = session.project.folder, session.project.rounds()[0].program
    wrong = program.simulation.replace('"green_cylinder"', '"yellow_cube"')
    session.continue_from(EditedRound(0, wrong, program.checks, TASK), "none")
    offline_studio.wait_until(lambda: session.idle, "the end of the work")
    studio.shell.sessions.take_out("branched", lambda: None)
    return folder


@pytest.fixture(scope="module")
def record(studio: BareStudio) -> dict[str, Any]:
    """What the studio shows of a project whose one round has passed."""
    session = opened_copy(studio, "one_round")
    shown = timeline_record(session)
    studio.shell.sessions.take_out("one_round", lambda: None)
    return shown


@pytest.fixture
def timeline(mount: Mount, record: dict[str, Any]) -> "Timeline":
    return Timeline(mount("", "round-timeline", "edited-task"), record)


class Timeline:
    def __init__(self, mounted: Mounted, record: dict[str, Any]):
        self.mounted, self.page, self.record = mounted, mounted.page, record
        self.element, self.take_sent = mounted.page.locator(".round-timeline"), mounted.take_sent

    def show(self, *rounds: dict[str, Any], **record: Any) -> None:
        (real,) = self.record["rounds"]
        made = [real | {"number": number} | one for number, one in enumerate(rounds)]
        lanes = [[one["number"] for one in made]]
        self.mounted.set_value("round-timeline", self.record | {"rounds": made, "lanes": lanes} | record)

    def press(self, name: str, **how: Any) -> None:
        self.element.get_by_role("button", name=name, exact=True, **how).first.click()


def check(title: str, **more: Any) -> dict[str, Any]:
    passed = {"name": f"check_{title}", "title": title, "passed": True, "message": "", "line": None, "instant": None}
    return passed | more


CHECKS = [check("in_bowl"), check("bowl_upright", passed=False, message="the bowl tips over", line=5, instant=1.54)]
FAILED: dict[str, Any] = {"clean": False, "checks": CHECKS, "passed": 1, "route": "fix_checks"}


def test_each_round_says_how_it_ended_and_what_follows(timeline: Timeline):
    faults = ({"crash": "no such object"}, {"violation": "import os"}, {"timed_out": True, "route": "ask"})
    ended = [{"clean": False, "reward": []} | fault for fault in faults]
    timeline.show(FAILED | {"reward": [0.5, 0.25]}, *ended, {"reward": [1.0, 0.5]}, best=4, pinned=False)
    buttons = timeline.element.locator(".lanes .round")
    texts = ["0 reward 0.38! 1 of 2 checks → repair the checks", "1✕ Crashed → done", "2✕ Refused → done"]
    texts += ["3✕ Timed out → ask you", "4 ☆ reward 0.75✓ 5 of 5 checks"]
    expect(buttons).to_have_text([f"Round {text}" for text in texts])
    expect(buttons).to_have_class(["round warn", *["round bad"] * 3, re.compile("round")])
    seconds = re.compile(r"^\d+\.\d s$")
    newest = {".round.on": re.compile("Round 4"), ".detail .faint": ["reward 1.00, 0.50", seconds]}
    expect_texts(timeline.element, newest | {"[aria-current=true]": 1})
    timeline.show({}, best=0, pinned=True)
    expect_texts(timeline.element, {".lanes .round": re.compile("Round 0 ★"), ".changed": 0})
    timeline.show({"changed": ["the red cube is left out", "the can starts 9 cm from where it was photographed"]})
    told = "Changed from the photograph: the red cube is left out; the can starts 9 cm from where it was photographed."
    expect(timeline.element.locator(".changed")).to_have_text(told)


def test_a_branch_names_the_round_that_it_continues_and_work_shows_in_the_last(timeline: Timeline):
    three = ({}, {"parent": 0}, {"parent": None}, {"parent": 0})
    timeline.show(*three, lanes=[[0, 1], [2], [3]], running=True, judging=None)
    expect_texts(timeline.element, {".branch": ["First", "New task", "↳ from 0"], ".running": "Working …"})
    expect(timeline.element.locator(".branch-row").last.locator(".running")).to_have_count(1)
    expect(timeline.element.locator(".detail .top")).to_contain_text("from round 0")
    timeline.show({}, running=True, judging={"number": 1, "parent": 0, "change": "", "changes": {}})
    nothing_changed = {".running": "Judging round 1 …", ".branch": 0, ".judging": 0}  # one branch needs no name
    expect_texts(timeline.element, nothing_changed)
    row = ["change", 1, "old", 1, "new"]
    judged = {"number": 1, "parent": 0, "change": "a larger zone", "changes": {"checks.py": [row]}}
    timeline.show({}, running=True, judging=judged)
    expect(timeline.element.locator(".judging")).to_contain_text("Round 1repairs round 0, being judgeda larger zone")
    timeline.show({}, running=True, judging=judged | {"change": ""})
    expect(timeline.element.locator(".judging .faint")).to_have_text("edit of round 0, being judged")
    timeline.show(running=True, rounds=[], lanes=[])
    expect(timeline.element.locator(".running")).to_have_text("Writing the simulation and its checks …")
    timeline.show(rounds=[], lanes=[])
    expect(timeline.element).to_have_text("")


def test_the_round_that_a_person_chose_stays_until_new_work_begins_and_plays_beside_an_open_replay(timeline: Timeline):
    chosen = timeline.element.locator(".detail strong")
    timeline.show({}, {})
    timeline.element.locator("[data-round='0']").click()
    timeline.show({}, {}, {})
    expect(chosen).to_have_text("Round 0")
    timeline.show({}, {}, {}, running=True)
    expect(chosen).to_have_text("Round 2")
    timeline.show(*[{}] * 40, lanes=[[number] for number in range(40)])
    expect(timeline.element.locator("[data-round='39']")).to_be_in_viewport()  # a long list scrolls to it
    timeline.element.locator("[data-round='38']").click()
    assert timeline.take_sent() == []  # no replay is open
    rounds = ({}, FAILED, {})
    timeline.show(*rounds, replayed_round=2)
    for number in (1, 0, 2):
        timeline.element.locator(f"[data-round='{number}']").click()
    played = {"number": 1, "instant": 1.54}, {"number": 0, "instant": END_TIME_S}
    assert timeline.take_sent() == [("play", one) for one in played]
    comparing = {"titles": ["a", "b"], "reasons": [], "outcomes": [], "changes": None}
    for busy in ({"arranging": True}, {"comparing": comparing}):
        timeline.show(*rounds, replayed_round=2, **busy)
        timeline.element.locator("[data-round='0']").click()
    assert timeline.take_sent() == []


def test_the_tools_of_a_round_send_what_they_say(timeline: Timeline):
    timeline.show({}, {"layouts": [1, 2]}, best=0, pinned=False)
    for name in ("▶ Replay", "☆ Pin", "Set goal layout", "Edit and branch"):
        timeline.press(name)
    expect(timeline.page.locator("#edited-task textarea")).to_be_focused()
    menu = timeline.element.locator(".compare")
    groups = menu.locator("optgroup").evaluate_all("all => all.map(one => one.label)")
    assert groups == ["Rounds", "As photographed beside"]
    menu.select_option("round 0")
    menu.select_option("layout 2")
    of_the_round = [(name, {"number": 1}) for name in ("play", "pin", "arrange_goal", "edit")]
    compared = [("compare", {"a": 0, "b": 1}), ("compare", {"a": 1, "seed": 2})]
    assert timeline.take_sent() == [*of_the_round, *compared]
    timeline.show({}, {"layouts": []}, best=1, pinned=True, replayed_round=1, running=True)
    for name in ("★ Pinned", "■ Close replay"):
        timeline.press(name)
    assert timeline.take_sent() == [("pin", {"number": None}), ("close_replay", {})]
    expect(timeline.element.get_by_role("button", name="Set goal layout")).to_be_disabled()
    expect(menu.locator("optgroup")).to_have_count(1)
    timeline.show({"layouts": []}, replayed_round=0, replaying=True, running=True, best=None)
    expect(timeline.element.get_by_role("button", name="Replaying …")).to_be_visible()
    expect(timeline.element.get_by_role("button", name="☆ Pin")).to_be_disabled()
    expect(menu).to_have_count(0)  # nothing to compare with
    timeline.show({}, replayed_round=0, arranging=True, replaying=True)
    panel = timeline.element.locator(".goal-layout")
    expect(panel).to_contain_text("Replaying the round to its end")
    expect(panel.get_by_role("button", name="Use as goal")).to_be_disabled()
    timeline.show({}, replayed_round=0, arranging=True)
    expect(panel).to_contain_text("Drag objects to their goal positions")
    press_buttons(panel, "Use as goal", "Cancel")
    assert timeline.take_sent() == [("use_as_goal", {"number": 0}), ("close_replay", {})]
    expect(timeline.element.get_by_role("button", name="▶ Replay")).to_be_visible()
    expect(timeline.element.get_by_role("button", name="Set goal layout")).to_be_disabled()


def test_a_failed_round_says_why_where_in_the_code_and_what_to_try(timeline: Timeline):
    page, element = timeline.page, timeline.element
    note = f"import('{LINKED}').then((one) => one.measuredCheck.subscribe((name) => hovered.push(name)))"
    page.evaluate(f"window.hovered = []; {note}")
    facts = [{"text": "The bowl tipped over", "instant": 1.54}, {"text": "It was late", "instant": None}]
    remedies = [{"kind": "widen", "title": "Widen the goals", "instruction": ""}]
    remedies.append({"kind": "other object", "title": "Try another object", "instruction": "put the cube left"})
    functions = ["def check_in_bowl(sim):", "    assert sim.at_start", "def check_bowl_upright(sim):", "    x"]
    code = "\n".join(["import kit", *functions, "", "END = 1", ""])
    round_ = FAILED | {
        "parent": 0, "route": "ask", "confidence": 0.6, "reason": "the bowl tips", "change": "a wider bowl",
        "causes": {"facts": facts, "remedies": remedies}, "code": {"simulation.py": "import kit", "checks.py": code},
        "mutations": {"inverted": "check_in_bowl", "strange": "check_gone"},
        "changes": {
            "simulation.py": [["same", 1, "a", 1, "a"], ["change", 2, "old", 2, "new"], ["change", 3, "x", None, None]],
            "checks.py": [["gap", None, "12 lines", None, None]],
        },
    }  # fmt: skip
    round_["checks"] = [*FAILED["checks"], check("late", passed=False, message="late"),
                        check("", name="meaning displaced", passed=False, message="not caught"),
                        check("", name="meaning goals", passed=False)]  # fmt: skip
    timeline.show({}, round_)
    causes, failed = element.locator(".causes"), element.locator(".check.failed")
    expect(causes.locator("li")).to_have_text(["The bowl tipped over▶ 1.5 s", "It was late"])
    press_buttons(causes, "▶ 1.5 s", "Widen the goals", "Try another object put the cube left")
    texts = ["bowl_uprightthe bowl tips over checks.py, line 5 ▶ Replay at 1.5 s", "latelate ▶ Replay end"]
    texts.append("Checks detect the fault: Ends with an object elsewherenot caught ▶ Replay end")
    expect(failed).to_have_text([f"✕{text}" for text in (*texts, "Tolerances are strict enough ▶ Replay end")])
    play = ("play", {"number": 1, "instant": 1.54})
    widen = ("remedy", {"number": 1, "kind": "widen", "instruction": ""})
    other = ("remedy", {"number": 1, "kind": "other object", "instruction": "put the cube left"})
    assert timeline.take_sent() == [play, widen, other]
    timeline.press("▶ Replay at 1.5 s")
    timeline.press("▶ Replay end")
    assert timeline.take_sent() == [play, ("play", {"number": 1, "instant": END_TIME_S})]
    failed.first.hover()
    element.locator(".route").hover()
    assert page.evaluate("hovered.slice(-2)") == ["check_bowl_upright", ""]
    expect(element.locator(".route.warning")).to_have_text("Router: ask you (60 % confidence). The bowl tips")
    mutations = ["Does the opposite✓ in_bowl", "strange✓ check_gone", "Ends with an object elsewhere✕ No check"]
    expect(element.locator(".mutations tbody tr")).to_have_text(mutations)
    heads = ["Changes in simulation.py since round 0: a wider bowl", "Changes in checks.py since round 0", "Code"]
    expect(element.locator(".detail > details > summary")).to_have_text(heads)
    diff = {"code": ["a", "a", "old", "new", "x", ""], ".was": ["old", "x"], ".now": ["new"], ".none": 1}
    expect_texts(element.locator(".code-diff").first, diff)
    expect(element.locator(".gap-row")).to_have_text("12 lines")
    element.locator(".code summary").click()
    lines = element.locator(".lines .line")
    expect_texts(element, {".lines .line": functions, ".line.failing": ["    x"]})
    lines.nth(1).click()
    lines.nth(3).click()
    assert timeline.take_sent() == [("play", {"number": 1, "instant": 0}), play]
    timeline.show({}, round_ | {"crash": "boom", "violation": "import os"}, running=True)
    expect(element.locator(".fault")).to_have_text(["Refused: import os", "Crashed: boom"])
    expect(causes.get_by_role("button", name="Widen the goals")).to_be_disabled()


def test_the_checks_of_all_rounds_of_a_task_stand_in_one_table(timeline: Timeline):
    rounds = ({"task": "another"}, FAILED, {"checks": [check("in_bowl")], "reward": []})
    timeline.show(*rounds[:1])
    expect(timeline.element.locator(".tabs")).to_have_count(0)  # one round needs no table
    timeline.show(*rounds)
    timeline.press("Checks by round")
    table, rows = timeline.element.locator(".matrix"), ["in_bowl✓✓", "bowl_upright✕·", "Reward1.00–"]
    expect_texts(table, {"thead th": ["Check", "Round 1", "Round 2"], "tbody tr": rows})
    table.get_by_role("button", name="bowl_upright failed in round 1: replay").click()
    expect(table.locator("th.on")).to_have_text("Round 1")
    table.get_by_role("button", name="Round 2").click()
    expect(table.locator("th.on")).to_have_text("Round 2")
    timeline.show(*rounds, charts=True)
    timeline.press("Round")
    expect(table).to_have_count(0)
    play = ("play", {"number": 1, "instant": 1.54})
    assert timeline.take_sent() == [("chart", {"on": True}), play, ("chart", {"on": False})]


def test_a_comparison_says_what_differs_and_is_closed(timeline: Timeline):
    compared = {
        "titles": ["Round 0", "Round 1"], "reasons": [["Round 0", "the bowl tips"]], "changes": {},
        "outcomes": [["Check upright", "met", "not met"], ["Goal left", "absent", "met"], ["Reward", "0.50", "1.00"]],
    }  # fmt: skip
    timeline.show({}, {}, comparing=compared)
    panel, rows = timeline.element.locator(".comparison"), ["Check upright✓ Met✕ Not met", "Goal left–✓ Met"]
    heads = {"strong": "Round 0 and Round 1", "th[scope=col]": ["Outcome", "Round 0", "Round 1"]}
    cells = {"tbody tr": [*rows, "Reward0.501.00"], "td.passed": ["✓ Met"] * 2, "td.failed": ["✕ Not met"]}
    expect_texts(panel, heads | cells | {".route": ["Round 0: The bowl tips", "Same code."]})
    timeline.show({}, {}, comparing=compared | {"outcomes": [], "changes": {"checks.py": [["same", 1, "a", 1, "a"]]}})
    expect(panel.locator(".route").first).to_have_text("Same outcome.")
    expect(panel.locator("details")).to_have_text(re.compile("checks.py"))
    timeline.press("Close")
    assert timeline.take_sent() == [("compare", {"a": None})]


def test_whether_rounds_play_is_kept_in_the_browser_which_may_ask_for_less_motion(timeline: Timeline):
    page, box = timeline.page, timeline.element.get_by_label("Play rounds")
    timeline.show({}, plays=True)
    assert timeline.take_sent() == []  # the server agrees
    box.uncheck()
    assert timeline.take_sent() == [("autoplay", {"on": False})]
    for plays, sent in ((True, [("autoplay", {"on": False})]), (False, [])):
        page.reload()
        timeline.mounted.wait_until_drawn()
        timeline.show({}, plays=plays)
        assert timeline.take_sent() == sent
        page.evaluate("localStorage.clear()")
        page.emulate_media(reduced_motion="reduce" if plays else "no-preference")


def test_a_failed_round_is_replayed_held_at_its_failed_check_and_sought_from_its_code(mount: Mount, branched: Path):
    mounted = mount(branched, "round", "round-timeline", "status-bar")
    page, timeline, view = mounted.page, mounted.page.locator(".round-timeline"), mounted.page.frame_locator(VIEWER)
    expect(timeline.locator(".branch")).to_have_text(["First", "↳ from 0"])
    expect(timeline.locator(".causes")).to_contain_text("Why it failed")
    expect(page.locator("#round iframe")).to_be_hidden()
    timeline.get_by_role("button", name="▶ Replay", exact=True).click()
    wait_until_shown(view, "Round 1")
    expect(view.locator("#kind")).to_have_text("recording")
    expect(view.locator("body")).to_have_attribute("data-held", re.compile("check_"), timeout=LONG)
    expect(view.locator("#labels .note")).to_contain_text("✕")
    view.locator("#bands canvas").hover()
    expect(view.locator("#measure")).to_contain_text("tolerance 0 cm")
    timeline.locator(".check.failed", has_text="green cylinder ends").first.hover()
    expect(view.locator("#measure")).to_contain_text("height of green cylinder · 3.5 cm at the end")
    timeline.locator("details.code summary").click()
    timeline.locator(".lines .line", has_text="reward_at_start").click()
    expect(view.locator("#clock")).to_have_text("0.00 s")
    timeline.get_by_role("button", name="■ Close replay").click()
    expect(page.locator("#round iframe")).to_be_hidden()


def test_two_rounds_then_two_layouts_are_compared_on_one_clock(mount: Mount, branched: Path):
    mounted = mount(branched, "round", "beside", "round-timeline")
    page, timeline = mounted.page, mounted.page.locator(".round-timeline")
    left, right = page.frame_locator(VIEWER), page.frame_locator("#beside iframe")
    timeline.locator(".compare").select_option("round 0")
    wait_until_shown(left, "Round 0")
    wait_until_shown(right, "Round 1")
    expect(timeline.locator(".comparison .code-diff").first).to_be_visible()
    right.locator("#track").click(position={"x": 60, "y": 12})
    clocks = left.locator("#clock"), right.locator("#clock")
    wait_until(page, lambda: clocks[0].inner_text() == clocks[1].inner_text() != "0.00 s")
    timeline.locator(".compare").select_option("layout 2")
    wait_until_shown(left, re.compile("photographed layout"))
    wait_until_shown(right, re.compile("layout 2"))
    expect(timeline.locator(".outcomes")).to_contain_text("Reward")
    timeline.locator(".comparison").get_by_role("button", name="Close").click()
    expect(timeline.locator(".comparison")).to_have_count(0)
    expect(page.locator("#beside")).to_be_hidden()
    timeline.get_by_role("button", name="Pin").click()
    expect(timeline.locator("[data-round='1']")).to_contain_text("★")
    mounted.session.runner.stop()
    assert mounted.decisions[-1]["kind"] == "pin" and mounted.decisions[-1]["data"] == {"round": 1}


def test_a_goal_layout_arranged_by_hand_becomes_a_branch(mount: Mount, branched: Path):
    mounted, name = mount(branched, "round", "round-timeline"), "white_bin"
    page, timeline, view = mounted.page, mounted.page.locator(".round-timeline"), mounted.page.frame_locator(VIEWER)
    timeline.get_by_role("button", name="Set goal layout").click()
    expect(view.locator("#kind")).to_have_text("Goal layout", timeout=LONG)
    use_as_goal = timeline.get_by_role("button", name="Use as goal")
    expect(use_as_goal).to_be_enabled(timeout=LONG)
    view.locator("[data-view=photo]").click()
    expect(view.locator("body")).to_have_attribute("data-view", "photo")
    frame, twin = mounted.session.project.frame, mounted.session.project.scene()
    camera = PhotoCamera.from_intrinsics(frame.intrinsics, twin.world_from_camera)
    start = next(p for p in twin.placements if p.name == name).world_from_object.pos
    page.mouse.move(*on_screen(view.locator("#canvas"), camera, start - np.array([0, 0, 0.02])))
    expect(view.locator("#labels .hovered")).to_have_text("white bin")
    page.mouse.down()
    page.mouse.move(*on_screen(view.locator("#canvas"), camera, start + np.array([0.03, 0.06, -0.02])), steps=8)
    expect(view.locator("body")).to_have_class(re.compile("dragging"))
    page.mouse.up()
    expect(view.locator("body")).not_to_have_class(re.compile("dragging"))
    use_as_goal.click()
    wait_until(page, lambda: "arrange" in (mounted.folder / "task.json").read_text(), LONG / 1000)
    mounted.session.runner.stop()
    task = mounted.json("task.json")
    assert task["objects"] == [name] and task["goals"][0].startswith("white_bin stands at (")
