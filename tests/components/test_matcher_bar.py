"""The matcher's bar: a person chooses the matcher, and a dialog evaluates every matcher on labelled frames."""

import re
from pathlib import Path
from typing import Any

import pytest
from browser.bare_page import Mount, Mounted
from playwright.sync_api import Locator, expect

from tests.evaluation.test_matcher_evaluation import labelled  # noqa: F401  (a fixture)

SCORE = {"f1": 0.8, "low": 0.6, "high": 0.9, "first": 0.7, "five": 1.0}
MEASURED = {"unavailable": "", "exact": SCORE, "category": SCORE, "no_match_kept": None, "seconds": 0.5, "model": ""}
LINES = [
    MEASURED | {"matcher": "all", "title": "All evidence"},
    MEASURED | {"matcher": "embedding", "title": "Image embedding", "exact": SCORE | {"f1": 0.5}},
    {"matcher": "text", "title": "Text", "unavailable": "needs a language model"},
]
TABLE = {"head": "1 frame", "lines": LINES}


@pytest.fixture
def bar(mount: Mount) -> Mounted:
    return mount("blocks", "matcher-bar").keep_twin()


def open_dialog(bar: Mounted) -> Locator:
    bar.page.get_by_role("button", name="Evaluate matchers").click()
    return bar.page.get_by_role("dialog", name="Evaluate matchers")


def test_a_matcher_is_chosen_which_undo_takes_back_and_those_without_a_model_cannot_be(bar: Mounted):
    options, chosen = bar.page.locator(".matcher-bar option"), bar.page.locator(".matcher-bar select")
    assert [option.is_disabled() for option in options.all()] == [False, False, True, True, True, True]
    expect(options.nth(2)).to_have_text("Text (needs a language model)")
    expect(chosen).to_have_value("all")
    chosen.select_option("embedding")
    expect(bar.page.locator(".matcher-bar .about")).to_contain_text("Cosine similarity")
    bar.wait_until_drawn()
    assert bar.kinds == ["matcher"]
    bar.session.decisions.undo()
    expect(chosen).to_have_value("all")
    bar.set_value("matcher-bar", bar.value("matcher-bar") | {"note": "The chosen matcher needs a model."})
    expect(bar.page.get_by_role("status")).to_have_text("The chosen matcher needs a model.")


def test_matchers_are_evaluated_on_labelled_frames_and_the_table_is_downloaded(bar: Mounted, labelled: Path):  # noqa: F811
    drawer = open_dialog(bar)
    evaluate = drawer.get_by_role("button", name="Evaluate", exact=True)
    expect(evaluate).to_be_disabled()
    drawer.locator("#score-frames").fill("/nowhere/at/all")
    refused = "/nowhere/at/all is not a folder on the machine that the studio runs on."
    expect(drawer.get_by_role("alert")).to_have_text(refused)
    drawer.locator("#score-frames").fill(str(labelled))
    expect(drawer).to_contain_text("1 labelled frame, 7 objects.")
    expect(drawer.get_by_role("alert")).to_have_count(0)
    drawer.get_by_role("checkbox", name=re.compile("^Image embedding")).uncheck()
    evaluate.click()
    expect(drawer.locator("tbody tr")).to_have_count(1, timeout=60_000)
    expect(drawer.locator(".whisker")).to_have_count(2)
    with bar.page.expect_download() as download:
        drawer.get_by_role("button", name="Download CSV").click()
    assert download.value.suggested_filename == "matchers.csv"
    assert Path(download.value.path()).read_text().startswith("matcher,counted,f1,low,high")
    bar.page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


def test_an_evaluation_is_started_as_filled_in_watched_and_stopped_and_the_best_matcher_stands_out(bar: Mounted):
    states: dict[str, Any] = {"state": {"running": False, "table": None}}
    states["start"] = {"running": True, "done": 1, "of": 4, "message": "frame one", "table": None}
    states["stop"] = {"running": False, "done": 2, "of": 4, "message": "stopped after 2", "table": TABLE}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        states["state"] = states[request["kind"]]
        return states["state"]

    asked = bar.answer("matcher-bar", dict.fromkeys(states, answer))
    drawer = open_dialog(bar)
    for name, text in (("frames", "/data"), ("truth", "/truth.json"), ("libraries", "/one")):
        drawer.locator(f"#score-{name}").fill(text)
    drawer.get_by_label("Ground truth").check()
    drawer.get_by_role("checkbox", name=re.compile("^Image embedding")).uncheck()
    drawer.get_by_role("button", name="Evaluate", exact=True).click()
    expect(drawer.get_by_role("status")).to_have_text("1 of 4: frame one")
    assert drawer.locator(".progress .fill").get_attribute("style") == "width: 25%;"
    states["state"] = states["start"] | {"done": 3, "message": "frame three"}
    expect(drawer.get_by_role("status")).to_have_text("3 of 4: frame three")
    drawer.get_by_role("button", name="Stop").click()
    expect(drawer.get_by_role("status")).to_have_text("Stopped after 2")
    filled = next(one for one in asked if one["kind"] == "start")
    fields = {"frames": "/data", "truth": "/truth.json", "libraries": "/one", "masks": "true", "matchers": ["all"]}
    assert {name: filled[name] for name in fields} == fields
    rows = drawer.locator("tbody tr")
    expect(rows.nth(0)).to_have_class("best")
    expect(rows.nth(1)).not_to_have_class("best")
    expect(rows.nth(0).locator("td.number")).to_have_text(["0.70 / 1.00", "0.70 / 1.00", "–", "0.50 s"])
    expect(rows.nth(2)).to_have_text("TextNot measured: needs a language model")
    axis = [rows.nth(0).locator(f".{name}").first.get_attribute("style") for name in ("span", "dot")]
    assert [re.findall(r"\d+", style or "") for style in axis] == [["60", "30"], ["80"]]
    expect(drawer.get_by_role("button", name="Evaluate again")).to_be_enabled()
