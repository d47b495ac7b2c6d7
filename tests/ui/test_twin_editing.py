"""A frame's masks, assets and poses are edited and the twin follows.

Only these see the wiring between the page and the server: files that are dropped, decisions by the channel, keys in
the viewer's frame, the top bar's undo, and what a page shows after the server was killed. Each component's own laws are
in tests/components.
"""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.app_page import LONG, OpenProject, open_tab, rows, stop_work, undo_button, wait_until_idle
from browser.masks import action, canvas, click, deepest_pixel, drag, hint, largest, near_lower_edge, open_masks
from browser.studio_process import Studio
from browser.watched_page import PAGE_LOGS, wait_until
from playwright.sync_api import Frame, Page, expect

SCENE = "stack"
WITHOUT_EVENTS_OF_GRADIO = """async () => {
    const channel = await studioChannel;
    if (!channel.isSettled()) return false;
    channel.takeWidgets(null);
    return true;
}"""
"""Lets the page send no event of Gradio any more, once none is under way: a kill during one needs a reload."""
SAMPLE = Path(__file__).parents[2] / "sample_scenes" / SCENE


def placements(project: OpenProject) -> dict[int, dict[str, Any]]:
    wait_until_idle(project.page)
    return {one["segment_id"]: one for one in project.json("scene.json")["placements"]}


def viewer(page: Page) -> Frame:
    expect(page.frame_locator("#twin iframe").locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    return next(frame for frame in page.frames if "/viewer/" in frame.url)


def test_a_dropped_frame_is_corrected_and_undone_and_outlives_a_kill(studio: Studio, page: Page, tmp_path: Path):
    files = [shutil.copy(SAMPLE / name, tmp_path / f"drop_{name}") for name in ("rgb.png", "depth.png", "camera.json")]
    page.goto(studio.address)
    page.locator("#drop input[type=file]").set_input_files(files)
    expect(rows(page).first).to_be_visible(timeout=LONG)
    expect(page).to_have_url(re.compile(r"\?project=drop&"))  # named after what the three files have in common
    project = OpenProject(studio, page, "drop")
    open_masks(page)
    masks = project.masks
    id, mask = largest(masks)
    click(page, deepest_pixel(mask), mask.shape)
    click(page, near_lower_edge(mask), mask.shape, button="right")
    expect(action(page, "accept")).to_be_enabled()
    open_tab(page, "Frame")
    open_tab(page, "Masks")
    expect(hint(page)).to_contain_text("edited")
    canvas(page).press("Enter")
    expect(hint(page)).to_contain_text("accepted by you")
    expect(undo_button(page)).to_be_enabled()  # the page shows an accepted mask before it is saved
    assert 0 < project.masks[id].sum() < mask.sum()
    undo_button(page).click()
    expect(hint(page)).to_contain_text("segmented by depth")
    assert (project.masks[id] == mask).all()
    canvas(page).press("Delete")
    expect(rows(page)).to_have_count(len(masks) - 1)
    wait_until(page, lambda: project.kinds == ["mask", "undo", "delete_segment"])
    rows(page).first.click()
    name = page.locator(".inspector input.name")
    expect(name).to_be_visible()
    page.route("**/gradio_api/queue/data*", lambda route: route.abort(), times=1)
    with page.expect_event("requestfailed", lambda request: "queue/data" in request.url):
        open_tab(page, "Objects")  # now Gradio takes the connection for lost, and sends no event any more
    studio.kill()
    name.fill("my thing")
    name.press("Enter")
    with page.expect_navigation(timeout=LONG):
        studio.start()  # the page comes back by itself, and sends what was done meanwhile
    expect(rows(page).first).to_contain_text("my thing", timeout=LONG)
    expect(name).to_have_value("my thing", timeout=LONG)
    wait_until(page, lambda: not PAGE_LOGS[page].open_requests and page.evaluate(WITHOUT_EVENTS_OF_GRADIO))
    page.evaluate("window.isSamePage = true")
    studio.kill()
    name.fill("your thing")
    name.press("Enter")
    studio.start()
    expect(rows(page).first).to_contain_text("your thing", timeout=LONG)
    assert page.evaluate("window.isSamePage"), "it was loaded again"
    project.reopen()
    PAGE_LOGS[page].take_errors()  # of requests without a server
    assert project.kinds == ["mask", "undo", "delete_segment", "display_name", "display_name"]
    expect(rows(page)).to_have_count(len(masks) - 1)
    after = project.masks
    assert after.keys() == masks.keys() - {id} and all((after[one] == masks[one]).all() for one in after)
    stop_work(page)


def test_objects_are_merged_and_split_by_button_and_by_line_and_the_twin_follows(project: OpenProject):
    page, masks, before = project.page, project.masks, placements(project)
    open_masks(page)
    canvas(page).press("1")
    page.locator(".object-list [data-id='2']").click(modifiers=["Shift"])
    canvas(page).press("m")  # the cube and the block below it
    expect(rows(page)).to_have_count(len(masks) - 1)
    canvas(page).press("1")
    canvas(page).press("s")
    action(page, "split_auto").click()
    expect(rows(page)).to_have_count(len(masks))
    id, mask = largest(masks)
    x, y = deepest_pixel(mask)
    page.locator(f".object-list [data-id='{id}']").click()
    canvas(page).press("s")
    drag(page, [(x, y - 200), (x, y + 200)], mask.shape)
    expect(rows(page)).to_have_count(len(masks) + 1)
    assert len(placements(project)) == len(before) + 1
    undo_button(page).click()
    expect(rows(page)).to_have_count(len(masks))
    after = placements(project)
    assert (project.masks[id] == mask).all() and len(after) == len(before)
    sizes = [[one["size"] for one in each.values()] for each in (before, after)]
    assert all(min(np.abs(np.subtract(one, two)).max() for two in sizes[1]) < 0.02 for one in sizes[0])


def test_another_asset_is_compared_with_the_photograph_chosen_and_built_into_the_twin(project: OpenProject):
    page, cards = project.page, project.page.locator(".object-cards")
    open_tab(page, "Objects")
    cards.locator(".overview .object[data-id='2']").click()
    expect(cards.locator(".side .title")).to_contain_text("blue block")
    page.keyboard.press("/")
    page.keyboard.type("yellow block")
    cards.locator(".results .asset[data-asset=yellow_block]").click()
    comparison = cards.locator(".compare")
    expect(comparison.locator(".label.right")).to_have_text("yellow block", timeout=LONG)
    expect(cards.locator(".fit")).to_contain_text("IoU")
    drawn = comparison.locator(".candidate")
    wait_until(page, lambda: drawn.evaluate("image => image.naturalWidth") > 300)
    open_tab(page, "Objects")  # the tab has the focus and passes the keys on
    page.keyboard.press("Enter")
    expect(cards.locator(".source")).to_contain_text("Chosen by you")
    expect(undo_button(page)).to_be_enabled()
    assert placements(project)[2]["asset_id"] == "yellow_block"
    expect(page.locator(".inspector")).to_contain_text("assetyellow block")
    undo_button(page).click()
    expect(page.locator(".inspector")).to_contain_text("assetblue block")
    assert placements(project)[2]["asset_id"] == "blue_block" and project.kinds == ["choose_asset", "undo"]


def test_an_object_is_moved_by_keys_in_the_viewer_and_undo_brings_it_back(project: OpenProject):
    page, fit, before = project.page, project.page.locator(".adjuster .fit"), placements(project)[2]
    open_tab(page, "Scene")
    frame = viewer(page)
    page.locator(".object-list [data-id='2']").click()
    expect(fit).to_contain_text("outline", timeout=LONG)
    frame.locator("[data-adjust=translate]").click()
    frame.locator("#canvas").focus()
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    expect(fit.locator(".tag")).to_contain_text("worse", timeout=LONG)
    expect(undo_button(page)).to_be_enabled()
    expect(page.get_by_role("button", name="Reset pose")).to_be_enabled()
    assert set(project.kinds) == {"move"}  # one, or two where the browser was slow between the keys
    moved = np.subtract(project.decisions[-1]["data"]["pos"], before["world_from_object"]["pos"])
    assert np.abs(moved).max() == pytest.approx(0.02, abs=0.002)
    assert placements(project)[2]["world_from_object"]["pos"] != before["world_from_object"]["pos"]
    for _ in project.decisions:
        undo_button(page).click()
        expect(undo_button(page)).to_be_enabled() if project.decisions[-1]["kind"] == "move" else None
    expect(page.get_by_role("button", name="Reset pose")).to_be_disabled(timeout=LONG)
    after = placements(project)[2]["world_from_object"]["pos"]
    np.testing.assert_allclose(after, before["world_from_object"]["pos"], atol=1e-6)
    frame.locator("button[data-view=photo]").click()
    for is_shown in (True, False):  # how far the twin's depth is from the photograph's
        frame.locator("[data-compare=depth]").click()
        for shown in ("#difference", "#legend"):
            expect(frame.locator(shown)).to_be_visible(visible=is_shown)
