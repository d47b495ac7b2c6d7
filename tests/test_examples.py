"""Every script of examples/ runs, is short, and imports nothing of the studio but grs_studio."""

import json
import re
import runpy
import shutil
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import uvicorn
from browser.watched_page import open_page
from offline_studio import wait_until
from playwright.sync_api import Browser, expect
from ready_projects import ROOT, ready_project
from served_studio import serving

import grs_studio

EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py"))}
EPISODES = ROOT / "sample_scenes" / "episodes"
RUNS = {
    "01_photograph_to_twin": ([ROOT / "sample_scenes" / "blocks", "NEW"], "scene: ", " m, "),
    "02_correct_the_twin": (["PROJECT"], "now weighs 0.25 kg", "scene: "),
    "03_words_to_solved_task": (["PROJECT", ""], "solved on 8 of 8 layouts by oracle"),
    "04_read_the_rounds": (["PROJECT"], "round 0: done", "passed: "),
    "05_simulate_the_twin": (["PROJECT"], " mm", "red_cube: 0.0"),
    "06_export_everywhere": (["PROJECT", "NEW"], "/story.html", "/twin.glb"),
    "07_gymnasium_environment": (["PROJECT", "NEW"], "reward 0.", "goals still missed by"),
    "08_demonstrations_for_learning": (["PROJECT", "NEW"], "lerobot-train", "--dataset.root="),
    "09_real_against_simulated": ([EPISODES / "real.npz", EPISODES / "sim.npz", "NEW"], "s later", "report.html"),
    "10_policies_on_the_same_conditions": (["PROJECT", "NEW", "2"], "difference -100%", "hold, 0-0001: never_reached"),
    "11_pick_pass_place": ([ROOT / "sample_scenes" / "blocks", "NEW"], " red_cube the other arm", "by oracle, ALOHA"),
}
OWN_APP = "12_in_your_own_gradio_app"
"""Serves until it is stopped."""
LONG = {"03_words_to_solved_task", "06_export_everywhere", "08_demonstrations_for_learning", "11_pick_pass_place"}


@pytest.fixture
def project(tmp_path) -> Path:
    """A solved project with two layouts: an export performs each solved one again."""
    copy = Path(shutil.copytree(ready_project("blocks", "solution"), tmp_path / "blocks"))
    solution = json.loads((copy / "solution.json").read_text())
    solution["reward"] = [float(number < 2) for number in range(len(solution["seeds"]))]
    (copy / "solution.json").write_text(json.dumps(solution))
    return copy


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.soak] * (name in LONG)) for name in sorted({*EXAMPLES, *RUNS} - {OWN_APP})],
)
def test_an_example_runs(name, project, tmp_path, monkeypatch, capsys):
    arguments, *words = RUNS[name]
    task = grs_studio.open_project(project).task()
    assert task is not None
    filled = {"PROJECT": str(project), "NEW": str(tmp_path / "new"), "": task.instruction}
    monkeypatch.setattr(sys, "argv", [name, *(filled.get(str(word), str(word)) for word in arguments)])
    runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
    printed = capsys.readouterr().out
    assert all(word in printed for word in words), printed


def test_a_mask_deleted_in_a_gradio_app_of_ones_own_leaves_the_twin(tmp_path, monkeypatch, browser: Browser):
    project = Path(shutil.copytree(ready_project("blocks", "task"), tmp_path / "blocks"))
    served = []
    monkeypatch.setattr(uvicorn, "run", lambda app, **_: served.append(app))
    monkeypatch.setattr(sys, "argv", ["", str(project)])
    variables = runpy.run_path(str(EXAMPLES[OWN_APP]), run_name="__main__")
    with closing(variables["widgets"]), serving(served[0]) as address, open_page(browser) as page:
        page.goto(address)
        masks = page.locator(".mask-canvas li")
        expect(masks).to_have_count(7)
        page.locator(".mask-canvas canvas").focus()
        page.keyboard.press("3")
        expect(page.locator(".mask-canvas li[aria-current=true]")).to_have_count(1)
        page.keyboard.press("Delete")
        expect(masks).to_have_count(6)
        wait_until(lambda: len(grs_studio.open_project(project).scene().placements) == 6, "the twin without it")
        expect(page.frame_locator("#viewer iframe").locator("canvas")).to_be_visible()
        assert httpx.get(f"{address}/config", headers={"host": "a.example"}).status_code == 400


@pytest.mark.parametrize("path", EXAMPLES.values(), ids=list(EXAMPLES))
def test_an_example_is_short_and_imports_only_the_face(path):
    text = path.read_text(encoding="utf-8")
    imported = set(re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE))
    assert (
        len(text.splitlines()) <= 40
        and imported <= {"grs_studio", "sys", "mujoco", "gradio", "uvicorn"}
        and "grs_studio" in imported
    )
