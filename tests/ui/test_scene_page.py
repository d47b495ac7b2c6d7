"""The twin put right by hand, in one sitting: moved, resized, fitted again, weighed, taken away; and compared with the
photograph in every way."""

import io
import json
import re
import zipfile

import pytest
from conftest import Studio
from playwright.sync_api import Frame, Page, expect

SCENE, OBJECT = "stack", 2


def decided(studio: Studio) -> list[dict]:
    log = studio.workspace / SCENE / "decisions.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def kinds(studio: Studio) -> list[str]:
    return [one["kind"] for one in decided(studio)]


def settled(page: Page) -> None:
    """Waits until the twin stands as was decided last."""
    expect(page.locator(".adjuster .said")).to_contain_text("outline")


def viewer(page: Page) -> Frame:
    return next(frame for frame in page.frames if "/viewer/" in frame.url)


def placed(studio: Studio) -> dict:
    scene = json.loads((studio.workspace / SCENE / "scene.json").read_text())
    return next(one for one in scene["placements"] if one["segment_id"] == OBJECT)


@pytest.fixture(scope="module")
def scene(studio: Studio, page: Page) -> Page:
    page.goto(studio.address)
    page.locator(f".gallery [data-name={SCENE}]").click()
    page.get_by_role("tab", name=re.compile("^Scene")).click()
    showing = page.frame_locator("#twin iframe").locator("body")
    expect(showing).to_have_attribute("data-state", "showing")
    page.locator(".object-list .row", has=page.locator(f".chip:text-is('{OBJECT}')")).click()
    settled(page)
    return page


def test_arrow_keys_move_the_selected_object_and_its_fit_is_told_on_the_way(studio: Studio, scene: Page):
    frame = viewer(scene)
    before = placed(studio)["world_from_object"]["pos"]
    frame.locator("[data-adjust=translate]").click()
    frame.locator("#canvas").focus()
    for _ in range(2):
        scene.keyboard.press("Shift+ArrowRight")
    expect(scene.locator(".adjuster .said .tag")).to_contain_text("worse")
    expect(scene.get_by_role("button", name=re.compile("Undo")).first).to_be_enabled()
    settled(scene)
    assert kinds(studio) == ["move"]
    there = decided(studio)[-1]["data"]["pos"]
    moved = [abs(a - b) for a, b in zip(there, before, strict=True)]
    assert max(moved) == pytest.approx(0.02, abs=0.002)
    expect(scene.get_by_role("button", name="Machine's pose")).to_be_enabled()


def test_a_number_resizes_it_on_its_foot(studio: Studio, scene: Page):
    size = scene.get_by_label("size in %")
    before = placed(studio)
    size.fill(str(round(before["scale"] * 120)))
    size.press("Enter")
    settled(scene)
    assert kinds(studio)[-1] == "resize"
    after = placed(studio)
    assert after["scale"] == pytest.approx(1.2 * before["scale"], abs=0.01)
    foot = [one["world_from_object"]["pos"][2] - one["size"][2] / 2 for one in (before, after)]
    assert foot[0] == pytest.approx(foot[1], abs=0.003)


def test_a_refit_brings_it_back_and_ends_what_was_done_by_hand(studio: Studio, scene: Page):
    scene.get_by_role("button", name="Refit with size").click()
    expect(scene.locator(".adjuster .said")).to_contain_text("settling")
    settled(scene)
    assert kinds(studio)[-1] == "refit"
    scene.get_by_role("button", name="Machine's pose").click()
    settled(scene)
    expect(scene.get_by_role("button", name="Machine's pose")).to_be_disabled()
    assert placed(studio)["found"] is None


def test_a_weight_out_of_range_is_marked_and_reaches_the_model(studio: Studio, scene: Page):
    mass = scene.get_by_label("Mass in g")
    mass.fill("4000")
    mass.press("Enter")
    expect(scene.locator(".adjuster .weights .tag.warn")).to_contain_text("outside")
    settled(scene)
    assert placed(studio)["mass"] == 4.0
    assert placed(studio)["mass_source"] == "person"
    scene.get_by_role("button", name="Reset").click()
    expect(scene.locator(".adjuster .weights .tag.warn")).to_have_count(0)
    settled(scene)


@pytest.mark.parametrize("form", ["URDF", "MJCF"])
def test_it_is_taken_away_with_its_meshes(scene: Page, form: str):
    with scene.expect_download() as told:
        scene.get_by_role("link", name=form).click()
    with zipfile.ZipFile(io.BytesIO(told.value.path().read_bytes())) as archive:
        names = archive.namelist()
    assert any(name.endswith(".obj") for name in names)
    assert any(name.endswith({"URDF": ".urdf", "MJCF": ".xml"}[form]) for name in names)


@pytest.mark.parametrize(("how", "sign"), [("edges", "#photo"), ("depth", "#difference"), ("beside", "#photo")])
def test_the_twin_is_compared_with_the_photograph_as_edges_in_depth_and_side_by_side(scene: Page, how: str, sign: str):
    frame = viewer(scene)
    frame.locator("button[data-view=photo]").click()
    button = frame.locator(f"[data-compare={how}]")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(frame.locator(sign)).to_be_visible()
    expect(frame.locator("#legend")).to_be_visible(visible=how == "depth")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


def test_b_blinks_and_escape_puts_the_tool_away(scene: Page):
    frame = viewer(scene)
    frame.locator("#canvas").focus()
    scene.keyboard.press("b")
    expect(frame.locator("#blink")).to_have_attribute("aria-pressed", "true")
    scene.keyboard.press("b")
    scene.keyboard.press("t")
    expect(frame.locator("[data-adjust=rotate]")).to_have_attribute("aria-pressed", "true")
    scene.keyboard.press("Escape")
    expect(frame.locator("[data-adjust=rotate]")).to_have_attribute("aria-pressed", "false")
