"""SAM 2's menu in the running studio, on the tiny architecture with random weights; its masks are not judged.

Only these see an encoding and a segmentation of the whole frame that take long in the server's process, are watched and
are stopped. A click on SAM 2 is answered in tests/components/test_segmenter_menu.py.
"""

import re
from collections.abc import Iterator

import pytest
from browser.app_page import LONG, OpenProject, action, canvas, open_masks, wait_until_idle
from browser.studio_process import Studio
from playwright.sync_api import Locator, Page, expect

from pipeline.segmentation import read_segments

pytestmark = pytest.mark.soak
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


def open_menu(page: Page) -> Locator:
    """Open the menu of segmenters."""
    menu = page.locator("[data-menu=segmenters]")
    if menu.get_attribute("open") is None:
        menu.locator("summary").first.click()
    return menu


def mask_bytes(project: OpenProject) -> dict[int, bytes]:
    return {id: mask.tobytes() for id, mask in project.masks.items()}


def segment_with(project: OpenProject, **settings: float) -> None:
    """Segment the frame again with these settings of SAM 2, keeping all masks."""
    menu = open_menu(project.page)
    if menu.locator(".settings").get_attribute("open") is None:
        menu.locator(".settings summary").click()
    for name, value in settings.items():
        menu.locator(f"input[name={name}]").fill(str(value))
    menu.locator("input[name=keep_all]").check()
    action(project.page, "find").click()


def test_sam2_encodes_the_frame_is_stopped_and_tried_again_and_is_compared_on_an_object(project: OpenProject):
    page = project.page
    open_masks(page)
    menu = open_menu(page)
    sam2 = menu.locator(".segmenter", has_text="SAM 2")
    sam2.locator("input").check()
    action(page, "stop:sam2").click()
    expect(sam2).to_contain_text("stopped", timeout=LONG)
    action(page, "choose:sam2").click()
    expect(sam2).to_contain_text("ready", timeout=LONG)
    canvas(page).press("Escape")
    canvas(page).press(str(min(project.masks)))
    canvas(page).press("c")
    for title in ("Current", "Depth and colour", "SAM 2"):
        expect(page.locator(".candidates .candidate", has_text=title)).to_be_visible(timeout=LONG)


def test_a_stopped_segmentation_changes_nothing_and_a_finished_one_replaces_all_masks_until_undo(project: OpenProject):
    page, before = project.page, mask_bytes(project)
    open_masks(page)
    menu = open_menu(page)
    menu.locator("input[value=sam2]").check()
    expect(menu.locator(".segmenter", has_text="SAM 2")).to_contain_text("ready", timeout=LONG)
    segment_with(project, points_per_side=64)
    page.locator(".status-bar .stop").click()
    wait_until_idle(page)
    assert mask_bytes(project) == before and project.kinds == []
    segment_with(project, points_per_side=3, pred_iou_thresh=0, stability_score_thresh=0)
    expect(page.get_by_text(re.compile("found nothing on the table|masks found")).last).to_be_attached(timeout=LONG)
    wait_until_idle(page)
    if project.decisions:  # random weights may find nothing at all
        assert [(one["kind"], one["data"]["source"]) for one in project.decisions] == [("found", "sam2")]
        assert all(segment.source == "sam2" for segment in read_segments(project.folder / "segments"))
        action(page, "undo").click()
        wait_until_idle(page)
    assert mask_bytes(project) == before
