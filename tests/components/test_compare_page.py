"""The Compare page: the sample pair on one clock, episodes of one's own, and broken ones."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.app_page import LONG
from browser.bare_page import Mount
from browser.watched_page import press_buttons, wait_for_request, wait_until
from playwright.sync_api import Locator, Page, Route, expect

SAMPLE = Path(__file__).parents[2] / "sample_scenes" / "episodes"


@pytest.fixture
def compare(mount: Mount, page: Page) -> Locator:
    """The Compare page, opened from the gallery without a comparison of the sample pair."""
    page.route("**/bare/ask/compare", lambda route: route.fulfill(json={"error": "not now"}), times=1)
    mount("", "top-bar", "compare")
    page.get_by_role("button", name="Compare", exact=True).click()
    shown = page.locator(".compare")
    expect(shown.get_by_role("alert")).to_have_text("not now")
    return shown


def pane(page: Page, name: str) -> Locator:
    return page.locator(f".compare [data-pane={name}]")


def clock(page: Page, name: str) -> Locator:
    return pane(page, name).locator("iframe").content_frame.locator("#clock")


def give(compare: Locator, slot: str, path: Path) -> None:
    compare.locator(f"[data-slot={slot}] input[type=file]").first.set_input_files(path)
    expect(compare.locator(f"[data-slot={slot}] .file")).to_have_text(path.name)


def test_the_sample_pair_plays_on_one_clock_shows_its_events_and_is_one_report(mount: Mount, tmp_path: Path):
    mounted, held = mount("", "top-bar", "compare"), list[Route]()
    page = mounted.page
    page.route("**/viewer/*/geometry", lambda route: held.append(route))
    page.get_by_role("button", name="Compare", exact=True).click()
    compare = page.locator(".compare")
    expect(compare.locator(".plot .main-svg").first).to_be_visible(timeout=LONG)
    expect(compare.locator(".summary")).to_contain_text(re.compile("sample.*They diverge from", re.DOTALL))
    expect(pane(page, "real")).to_contain_text("modelled by a second MuJoCo model")
    expect(compare.locator("[data-table=joints] tbody tr")).to_have_count(10)
    cursor = compare.locator(".cursor")
    compare.locator("[data-table=events]").get_by_role("button", name="lift").first.click()
    lifted = float(cursor.get_attribute("data-time") or "nan")
    assert lifted > 1
    wait_until(page, lambda: len(held) == 2)
    for route in held:  # the seek was before the viewers had loaded
        route.continue_()
    for name in ("real", "sim"):
        expect(clock(page, name)).to_have_text(f"{lifted:.2f} s", timeout=60_000)
    page.unroute("**/viewer/*/geometry")
    press_buttons(compare, "Ghost overlay")
    expect(clock(page, "ghost")).to_have_text(f"{lifted:.2f} s", timeout=60_000)
    compare.locator("[data-table=joints]").get_by_role("button", name="right_wrist").click()
    expect(compare.locator(".plot .y2title")).to_contain_text("right_wrist")
    expect(compare.locator("[data-table=joints] tr.on")).to_contain_text("right_wrist")

    events = compare.locator(".event-strip .event")
    expect(events.locator("img")).to_have_count(22, timeout=LONG)  # eleven events of two robots
    lift = events.filter(has_text="lift").first
    expect(lift).to_contain_text(f"real {lifted:.2f} s")
    events.filter(has_text="grasp").first.click()
    expect(cursor).not_to_have_attribute("data-time", f"{lifted:.2f}")
    lift.click()
    expect(cursor).to_have_attribute("data-time", f"{lifted:.2f}")
    page.evaluate("document.querySelector('.compare .plot').emit('plotly_click', { points: [{ x: 0.5 }] })")
    expect(clock(page, "ghost")).to_have_text("0.50 s")
    with page.expect_download() as download:
        compare.get_by_role("link", name="Report").click()
    download.value.save_as(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.count("data:image/jpeg") == 22 and "RMSE_norm" in text
    page.keyboard.press("Escape")
    expect(compare).to_be_hidden()
    assert mounted.sent == []


def test_own_episodes_are_compared(compare: Locator, tmp_path: Path):
    start = compare.locator("[data-act=compare]")
    expect(start).to_be_disabled()
    give(compare, "real", SAMPLE / "real.npz")
    expect(start).to_be_disabled()  # a second one is missing
    with np.load(SAMPLE / "real.npz") as real:
        late, known = tmp_path / "late.npz", (real["t"] <= 1) | (real["t"] >= 2)
        np.savez(late, names=real["names"], t=real["t"][known] + 0.5, q=real["q"][known])
    give(compare, "sim", late)
    start.click()
    for text in ("late.npz", "stay within the noise", "Shift of the simulation: 0.500 s",
                 "The simulated episode has no samples from 1.00 to 2.00 s."):  # fmt: skip
        expect(compare.locator(".summary")).to_contain_text(text, timeout=LONG)
    expect(compare.locator(".plot .shapelayer").get_by_text("no samples")).to_have_count(1)
    expect(pane(compare.page, "real")).to_have_count(0)  # without a robot's model there is nothing to draw
    expect(compare.locator(".note")).to_contain_text("MJCF or URDF")
    expect(compare.locator(".event-strip")).to_be_hidden()


def test_episodes_of_the_open_project_are_offered_and_work_that_runs_is_stopped(mount: Mount, page: Page):
    running = {"job": "7", "state": "running", "message": "Reading"}
    answers: dict[str, Any] = {"sample": {"error": "no sample"}, "compare": running, "status": running}
    answers["again"] = {"error": ""}
    mounted = mount("", "top-bar", "compare")
    asked = mounted.answer("compare", answers)
    page.get_by_role("button", name="Compare", exact=True).click()
    compare = page.locator(".compare")
    real, sim = (compare.get_by_label(f"{side} episode: of the open project") for side in ("Real", "Simulated"))
    expect(real).to_be_hidden()
    episodes = [{"source": "oracle", "title": "The oracle"}, {"source": "policy", "title": "The policy"}]
    mounted.set_value("compare", {"page_token": "p", "project": "token", "name": "stack", "episodes": episodes})
    expect(real.locator("option")).to_have_text(["From stack …", "The oracle", "The policy"])
    real.select_option("oracle")
    sim.select_option("policy")
    expect(compare.locator("[data-slot=sim] .file")).to_have_text("The policy")
    compare.locator("[data-act=compare]").click()
    expect(compare.locator(".state")).to_contain_text("Reading")
    expect(compare.locator("[data-act=compare]")).to_be_disabled()
    compare.locator("[data-act=stop]").click()
    choices = {"real": {"offered": {"episodes": ["0", "7"], "joints": ["/arm", "/copy"]}, "chosen": ["0"]}}
    answers["status"] = {"job": "7", "state": "stopped", "message": "", "choices": choices}
    mounted.tell_job("comparison")
    expect(compare.locator(".state")).to_have_text("Stopped.")
    expect(compare.locator("[data-act=compare]")).to_be_enabled()
    joints = compare.locator("[data-slot=real]").get_by_label("Joint positions")
    expect(joints.locator("option")).to_have_text(["All topics", "/arm", "/copy"])
    menu = compare.locator("[data-slot=real] [data-choice=episodes]")  # of a dataset
    expect(menu.locator("option")).to_have_text(["0", "7"])
    expect(menu).to_have_value("0")
    menu.select_option("7")
    wait_for_request(page, asked, kind="again", job="7", selection={"real": ["7"], "sim": []})
    started = next(one for one in asked if one["kind"] == "compare")
    assert (started["real"]["source"], started["sim"]["source"]) == ("oracle", "policy")
    assert (started["page_token"], started["align"], started["robot"]) == ("p", "clock", [])
