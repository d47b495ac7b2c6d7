"""SAM 2's menu in the app, on the package's tiny architecture with random weights; its masks are not judged."""

import re
from collections.abc import Iterator

import pytest
from browser.app_page import LONG, OpenProject, action, canvas, open_masks, screenshot, wait_until_idle
from browser.studio_process import Studio
from browser.watched_page import leaving
from playwright.sync_api import Locator, Page, expect

from pipeline.segmentation import read_segments

SCENE = "stack"
LIGHT = "LIGHT set-up: torch and sam2 are not installed"


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


@pytest.fixture
def editor(project: OpenProject) -> OpenProject:
    """A project of its own with the Masks page open."""
    open_masks(project.page)
    return project


@pytest.fixture
def with_sam2(editor: OpenProject) -> OpenProject:
    """The same with SAM 2 chosen and ready."""
    menu = open_menu(editor.page)
    menu.locator("input[value=sam2]").check()
    expect(sam2_row(menu)).to_contain_text("ready", timeout=LONG)
    return editor


def open_menu(page: Page) -> Locator:
    """Open the menu of segmenters."""
    menu = page.locator("[data-menu=segmenters]")
    if menu.get_attribute("open") is None:
        menu.locator("summary").first.click()
    return menu


def sam2_row(menu: Locator) -> Locator:
    return menu.locator(".segmenter", has_text="SAM 2")


def mask_bytes(project: OpenProject) -> dict[int, bytes]:
    return {id: mask.tobytes() for id, mask in project.masks.items()}


def test_choosing_sam2_encodes_the_frame_and_shows_when_it_is_ready(editor: OpenProject):
    page = editor.page
    menu = open_menu(page)
    expect(menu).to_contain_text("Weights are installed, for cpu")
    menu.locator("input[value=sam2]").check()
    expect(menu.locator("[data-act='stop:sam2']")).to_be_visible()
    screenshot(page, "sam2_1_encoding")
    menu.locator("[data-act='stop:sam2']").click()
    expect(sam2_row(menu)).to_contain_text("stopped", timeout=LONG)
    menu.locator("[data-act='choose:sam2']").click()
    expect(sam2_row(menu)).to_contain_text("ready", timeout=LONG)


def test_a_click_shows_three_candidates_with_quality_to_choose_from(with_sam2: OpenProject):
    page, candidates = with_sam2.page, with_sam2.page.locator(".candidates .candidate")
    canvas(page).press("Escape")
    canvas(page).press("n")
    canvas(page).click(position={"x": 60, "y": 60})
    expect(candidates).to_have_count(3, timeout=LONG)
    for i in range(3):
        expect(candidates.nth(i).locator(".quality")).to_have_text(re.compile("good|fair|poor"))
        expect(candidates.nth(i).locator("img")).to_have_js_property("complete", True)
    canvas(page).press("r")
    expect(candidates.nth(1)).to_have_attribute("aria-pressed", "true")
    candidates.nth(2).click()
    expect(candidates.nth(2)).to_have_attribute("aria-pressed", "true")
    screenshot(page, "sam2_2_candidates")


def test_both_segmenters_are_compared_on_an_object(with_sam2: OpenProject):
    page = with_sam2.page
    canvas(page).press("Escape")
    canvas(page).press(str(min(with_sam2.masks)))
    canvas(page).press("c")
    for title in ("Current", "Depth and colour", "SAM 2"):
        expect(page.locator(".candidates .candidate", has_text=title)).to_be_visible(timeout=LONG)
    screenshot(page, "sam2_3_compare")


def test_a_stopped_segmentation_changes_nothing(with_sam2: OpenProject):
    page, before, menu = with_sam2.page, mask_bytes(with_sam2), open_menu(with_sam2.page)
    menu.locator(".settings summary").click()
    menu.locator("input[name=points_per_side]").fill("64")
    menu.locator("[data-act=find]").click()
    stop = page.locator(".status-bar .stop")
    expect(stop).to_be_visible()
    screenshot(page, "sam2_4_segmenting")
    stop.click()
    wait_until_idle(page)
    assert mask_bytes(with_sam2) == before and with_sam2.kinds == []


def test_masks_of_sam2_replace_all_masks_until_undo(with_sam2: OpenProject):
    page, before, menu = with_sam2.page, mask_bytes(with_sam2), open_menu(with_sam2.page)
    menu.locator(".settings summary").click()
    for name, value in (("points_per_side", 3), ("pred_iou_thresh", 0), ("stability_score_thresh", 0)):
        menu.locator(f"input[name={name}]").fill(str(value))
    menu.locator("input[name=keep_all]").check()
    menu.locator("[data-act=find]").click()
    expect(page.get_by_text(re.compile("found nothing on the table|masks found")).last).to_be_attached(timeout=LONG)
    wait_until_idle(page)
    decisions = with_sam2.decisions
    if not decisions:  # random weights may find nothing at all
        assert mask_bytes(with_sam2) == before
        return
    assert decisions[-1]["kind"] == "found" and decisions[-1]["data"]["source"] == "sam2"
    assert all(segment.source == "sam2" for segment in read_segments(with_sam2.folder / "segments"))
    action(page, "undo").click()
    wait_until_idle(page)
    assert mask_bytes(with_sam2) == before


def test_segmenting_by_depth_again_gives_the_same_masks(with_sam2: OpenProject):
    page, before, menu = with_sam2.page, mask_bytes(with_sam2), open_menu(with_sam2.page)
    menu.locator("input[value=depth]").check()
    expect(menu.locator("[data-act=find]")).to_contain_text("Depth and colour")
    menu.locator("[data-act=find]").click()
    expect(action(page, "undo")).to_be_enabled(timeout=LONG)
    wait_until_idle(page)
    assert mask_bytes(with_sam2) == before, "the same objects with the same numbers"


def test_settings_out_of_range_are_refused(with_sam2: OpenProject):
    menu = open_menu(with_sam2.page)
    menu.locator(".settings summary").click()
    menu.locator("input[name=points_per_side]").fill("500")
    menu.locator("[data-act=find]").click()
    expect(with_sam2.page.get_by_test_id("toast-text").filter(has_text="1 to 128")).to_be_visible()


def test_a_reload_shows_the_project_again(editor: OpenProject):
    with leaving(editor.page):
        editor.page.reload()
        expect(editor.page.locator(".object-list .row")).to_have_count(len(editor.masks))
    assert (editor.folder / "segments" / "masks.png").exists()
