"""How soon rounds are on the screen of the real app while they are judged, and how exactly they are replayed."""

import math
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from playwright.sync_api import Page, expect

from bench.measurement import Measurement, ms
from bench.speed.viewer import PATIENCE, chromium, running
from pipeline.router import read_record, read_rounds
from tests.browser.watched_page import FLAGS

SCENE, TASK = "stack", "put the green_cylinder on the left"
WRONG_OBJECTS = ("yellow_cube", "red_cube", "blue_block")
"""Each is moved instead in an edited round, which the router repairs: two more rounds each."""
FRAME_S = 1 / 30
WATCH = """() => {
  const began = performance.timeOrigin;
  window.shown = {};  // seconds since 1970 of a round's first frame, and of its being judged in the list, too
  window.since = 0;
  const now = () => (began + performance.now()) / 1000;
  const note = (key) => key in shown || (shown[key] = now());
  const starts = ({ target }) => target.closest("#generate, #editing button.primary") && (window.since = now());
  document.addEventListener("click", starts, true);
  const shownRound = () => {
    const caption = document.querySelector("#round iframe")?.contentDocument?.querySelector("#caption")?.textContent;
    return caption?.match(/^Round \\d+/)?.[0];
  };
  addEventListener("message", ({ data }) => {
    if (data.type === "loaded" && shownRound()) note(shownRound());
  });
  const look = () => {
    for (const button of document.querySelectorAll(".round-timeline [data-round]"))
      if (`Round ${button.dataset.round}` in shown) note(`judged Round ${button.dataset.round}`);
    requestAnimationFrame(look);
  };
  look();
}"""
"""Notes when the first frame of each round is drawn, and when the judged round is in the list, too."""
SAMPLE_CLOCKS = """async () => {
  const clock = (name) =>
    parseFloat(document.querySelector(`#${name} iframe`).contentDocument.querySelector("#clock").textContent);
  const rows = [];
  const end = performance.now() + 3000;
  while (performance.now() < end) {
    await new Promise(requestAnimationFrame);
    rows.push([clock("round"), clock("beside")]);
  }
  return rows;
}"""
"""Reads the time that each of two panes shows, in seconds, at every frame of the page for three seconds."""


def rounds() -> list[Measurement]:
    """Generate a task, then run faulty edits of it, with nothing clicked in between."""
    with tempfile.TemporaryDirectory() as workspace, chromium(FLAGS) as browser, running(Path(workspace)) as studio:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        open_task_page(page, studio.address)
        folder = Path(workspace) / SCENE
        page.evaluate(WATCH)
        first_frames = [generate(page)]
        first_frames += [branch(page, folder, wrong) for wrong in WRONG_OBJECTS]
        lags = list(judged_to_shown(folder, page.evaluate("shown")))
        apart = panes_apart(page)
        errors = list(replay_errors(folder))
    note = f"{len(lags)} rounds, median {ms(lags):.0f} ms; software rendering"
    return [
        Measurement("round judged to round on the screen (slowest)", max(lags), "s", 1, note=note),
        Measurement(
            "Generate to first frame of the first round", first_frames[0], "s", 3,
            note=f"after an edit {', '.join(f'{seconds:.2f}' for seconds in first_frames[1:])} s",
        ),
        Measurement(
            "two panes on one clock, 99th percentile apart", ms(apart, 99), budget=1000 * FRAME_S,
            note=f"{len(apart)} frames, mean {1000 * np.mean(apart):.1f} ms",
        ),
        Measurement(
            "replayed poses against the report (largest)", max(errors) * 1e6, "µm", 1, note=f"{len(errors)} objects"
        ),
    ]  # fmt: skip


def open_task_page(page: Page, address: str) -> None:
    """Open the sample scene and wait until its tasks are proposed and nothing runs."""
    page.goto(address)
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    page.locator(".object-list .row").first.wait_for()  # the project is open, and its step is shown
    page.get_by_role("tab", name="Task").click()
    page.locator(".task-cards .task").nth(7).wait_for()
    page.locator(".status-bar .spin").wait_for(state="detached")
    expect(page.locator(".task-cards")).not_to_contain_text("Testing tasks")  # the machine is quiet


def generate(page: Page) -> float:
    """Return the seconds from the click on Generate to the first frame of the first round."""
    page.locator("#task-text textarea, #task-text input").fill(TASK)
    page.locator("#generate").click()
    return first_frame(page, 0)


def branch(page: Page, folder: Path, wrong: str) -> float:
    """Run round 0 with a wrong object; return the seconds until the first frame of that round."""
    first = read_rounds(folder)[-1].number + 1
    page.locator(".round-timeline [data-round='0']").click()
    page.get_by_role("button", name="Edit and branch").click()
    source = (folder / "rounds" / "000" / "simulation.py").read_text()
    editor = page.locator("#codes .cm-content").first
    expect(editor).to_contain_text("green_cylinder")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source.replace('"green_cylinder"', f'"{wrong}"'))
    page.get_by_role("button", name="Run from here").click()
    return first_frame(page, first)


def first_frame(page: Page, number: int) -> float:
    """Return the seconds from the last start to the first frame of a round, once all rounds are judged and shown."""
    page.locator(f".round-timeline [data-round='{number}']").wait_for()
    page.locator(".round-timeline .running").wait_for(state="detached")
    last = page.locator(".round-timeline [data-round]").last.get_attribute("data-round")
    page.wait_for_function("number => `judged Round ${number}` in shown", arg=last)
    seconds: float = page.evaluate("number => shown[`Round ${number}`] - since", number)
    return seconds


def judged_to_shown(folder: Path, shown: dict[str, float]) -> Iterator[float]:
    """Yield the seconds from the moment at which each round was written to its being in the list and in the viewer."""
    for one in read_rounds(folder):
        written = (folder / "rounds" / f"{one.number:03d}" / "report.json").stat().st_mtime
        yield shown.get(f"judged Round {one.number}", math.inf) - written


def panes_apart(page: Page) -> list[float]:
    """Return the seconds between the times that two panes show while they play, at each frame of the page."""
    page.locator(".round-timeline .compare").select_option("round 0")
    for name in ("round", "beside"):
        page.frame_locator(f"#{name} iframe").locator("body[data-state=showing]").wait_for()
    page.frame_locator("#round iframe").locator("#play").click()
    rows: list[Any] = page.evaluate(SAMPLE_CLOCKS)
    moving = [row for row, after in pairwise(rows) if row != after]
    return [abs(first - second) for first, second in moving]


def replay_errors(folder: Path) -> Iterator[float]:
    """Yield the distance in metres of every object's last replayed position from the one in its round's report."""
    for one in read_rounds(folder):
        record = read_record(folder / "rounds" / f"{one.number:03d}")[0]
        (folder / "scene" / "replayed.xml").write_text(record.xml)
        model = mujoco.MjModel.from_xml_path(str(folder / "scene" / "replayed.xml"))
        data = mujoco.MjData(model)
        data.qpos[:] = record.qpos[-1]
        mujoco.mj_kinematics(model, data)
        for name, motion in one.report.evidence["objects"].items():
            yield float(np.abs(data.body(name).xpos - motion["end"]).max())
