"""SAM 2's panel in the app, on the package's tiny architecture with random weights: nothing is said of its masks."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PLAIN, Studio
from playwright.sync_api import Page, expect
from test_studio import settled, shot, tab

from pipeline.segmentation import read_segments

SCENE = "stack"
LIGHT = "LIGHT set-up: torch and sam2 are not installed"


@pytest.fixture(scope="module")
def flags() -> tuple[str, ...]:
    return PLAIN


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    torch = pytest.importorskip("torch", reason=LIGHT)
    build = pytest.importorskip("sam2.build_sam", reason=LIGHT)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("weights")
    model = build.build_sam2("configs/sam2.1/sam2.1_hiera_t.yaml", None, device="cpu")
    torch.save({"model": model.state_dict()}, folder / "tiny.pt")
    running = Studio(tmp_path_factory.mktemp("workspace"), GRS_SAM2=str(folder / "tiny.pt"), OMP_NUM_THREADS="1")
    yield running
    running.kill()


def masks(studio: Studio) -> dict[int, bytes]:
    return {one.id: one.mask.tobytes() for one in read_segments(studio.workspace / SCENE / "segments")}


def open_panel(page: Page):
    panel = page.locator("[data-menu=segmenters]")
    if panel.get_attribute("open") is None:
        panel.locator("summary").first.click()
    return panel


def test_choosing_sam2_encodes_the_frame_and_says_when_it_is_ready(studio: Studio, page: Page):
    page.goto(studio.address)
    page.locator(f".gallery [data-name={SCENE}]").first.click()
    expect(page.locator(".object-list .row").first).to_be_visible()
    tab(page, "Masks").click()
    settled(page)
    panel = open_panel(page)
    expect(panel).to_contain_text("Weights are there, for cpu")
    panel.locator("input[value=sam2]").check()
    expect(panel.locator("[data-act='stop:sam2']")).to_be_visible()
    shot(page, "sam2_1_encoding")
    panel.locator("[data-act='stop:sam2']").click()
    expect(panel.locator(".one", has_text="SAM 2")).to_contain_text("stopped")
    panel.locator("[data-act='choose:sam2']").click()
    expect(panel.locator(".one", has_text="SAM 2")).to_contain_text("ready")


def test_a_click_shows_three_readings_with_their_quality_and_one_is_chosen(page: Page):
    canvas, readings = page.locator(".mask-canvas canvas"), page.locator(".readings .reading")
    canvas.press("Escape")
    canvas.press("n")
    canvas.click(position={"x": 60, "y": 60})
    expect(readings).to_have_count(3)
    for i in range(3):
        expect(readings.nth(i).locator(".quality")).to_have_text(re.compile("good|fair|poor"))
        expect(readings.nth(i).locator("img")).to_have_js_property("complete", True)
    canvas.press("r")
    expect(readings.nth(1)).to_have_attribute("aria-pressed", "true")
    readings.nth(2).click()
    expect(readings.nth(2)).to_have_attribute("aria-pressed", "true")
    shot(page, "sam2_2_readings")
    for _ in range(2):
        canvas.press("Escape")


def test_both_segmenters_are_compared_on_an_object(studio: Studio, page: Page):
    canvas = page.locator(".mask-canvas canvas")
    canvas.press(str(min(masks(studio))))
    canvas.press("c")
    for title in ("as it is", "Depth and colour", "SAM 2"):
        expect(page.locator(".readings .reading", has_text=title)).to_be_visible()
    shot(page, "sam2_3_compare")
    for _ in range(2):
        canvas.press("Escape")


def test_finding_everything_is_stopped_and_changes_nothing(studio: Studio, page: Page):
    before, panel = masks(studio), open_panel(page)
    panel.locator(".settings summary").click()
    panel.locator("input[name=points_per_side]").fill("64")
    panel.locator("[data-act=find]").click()
    expect(page.locator(".status-bar .message")).to_contain_text("looking everywhere")
    shot(page, "sam2_4_finding")
    page.locator(".status-bar .stop").click()
    settled(page)
    assert masks(studio) == before


def test_what_sam2_finds_takes_the_place_of_all_masks_until_undo(studio: Studio, page: Page):
    before, panel = masks(studio), open_panel(page)
    for name, value in (("points_per_side", 3), ("pred_iou_thresh", 0), ("stability_score_thresh", 0)):
        panel.locator(f"input[name={name}]").fill(str(value))
    panel.locator("input[name=keep_all]").check()
    panel.locator("[data-act=find]").click()
    expect(page.get_by_text(re.compile("found nothing on the table|masks found in the place")).last).to_be_attached()
    settled(page)
    log = studio.workspace / SCENE / "decisions.jsonl"
    told = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    if not told:  # random weights may see no things at all
        assert masks(studio) == before
        return
    assert told[-1]["kind"] == "found" and told[-1]["data"]["source"] == "sam2"
    assert all(one.source == "sam2" for one in read_segments(studio.workspace / SCENE / "segments"))
    page.locator(".mask-canvas [data-act=back]").click()
    settled(page)
    assert masks(studio) == before


def test_depth_is_chosen_again_and_what_is_worked_out_stays(studio: Studio, page: Page):
    before, panel = masks(studio), open_panel(page)
    panel.locator("input[value=depth]").check()
    expect(panel.locator("[data-act=find]")).to_contain_text("Depth and colour")
    panel.locator("[data-act=find]").click()
    expect(page.locator(".mask-canvas [data-act=back]")).to_be_enabled()
    settled(page)
    assert masks(studio) == before, "the same things, the same numbers"


def test_settings_that_make_no_sense_are_refused(page: Page):
    panel = open_panel(page)
    panel.locator("input[value=sam2]").check()
    panel.locator("input[name=points_per_side]").fill("500")
    panel.locator("[data-act=find]").click()
    expect(page.get_by_test_id("toast-text").filter(has_text="it takes 1 to 128")).to_be_visible()


def test_a_reload_finds_the_project_and_its_log(studio: Studio, page: Page):
    found = masks(studio)
    page.reload()
    expect(page.locator(".object-list .row")).to_have_count(len(found))
    assert Path(studio.workspace / SCENE / "segments" / "masks.png").exists()
