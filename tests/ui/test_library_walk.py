"""The library as a person uses it: found, seen, brought in, changed, taken back, used for an object."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import trimesh
from conftest import Studio
from playwright.sync_api import Page, expect
from test_studio import settled, shot

SCENE, UID = "sizes", "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """One with a library of its own, so that nothing comes into the user's."""
    stand_in = objaverse(tmp_path_factory.mktemp("objaverse"))
    library = str(tmp_path_factory.mktemp("library"))
    running = Studio(tmp_path_factory.mktemp("workspace"), GRS_LIBRARY=library, GRS_OBJAVERSE=stand_in)
    yield running
    running.process.terminate()
    running.process.wait(60)


def objaverse(top: Path) -> str:
    """The address of a stand-in for Objaverse that holds one thing."""
    (top / "metadata").mkdir()
    (top / "glbs" / "a").mkdir(parents=True)
    trimesh.creation.box((0.08, 0.1, 0.05)).export(top / "glbs" / "a" / f"{UID}.glb")
    (top / "object-paths.json.gz").write_bytes(gzip.compress(json.dumps({UID: f"glbs/a/{UID}.glb"}).encode()))
    about = {UID: {"name": "Tea tin", "license": "by-nc", "user": {"displayName": "Ada"}}}
    (top / "metadata" / "a.json.gz").write_bytes(gzip.compress(json.dumps(about).encode()))
    return top.as_uri()


def library(page: Page):
    return page.locator(".library")


def cards(page: Page):
    return library(page).locator(".card")


def own(studio: Studio) -> list[str]:
    folder = Path(studio.settings["GRS_LIBRARY"]) / "own"
    return sorted(one.name for one in folder.iterdir() if one.name[0] != ".") if folder.exists() else []


def test_the_library_opens_from_the_gallery_and_finds_as_one_types(studio: Studio, page: Page):
    page.goto(studio.address)
    page.locator(".top-bar .shelf").click()
    expect(cards(page).nth(5)).to_be_visible()
    expect(cards(page).first.locator(".picture.drawn")).to_be_visible()
    shot(page, "library_0")
    library(page).get_by_label("Search assets").fill("red mu")
    expect(library(page).locator(".count")).to_contain_text("1 of ")
    expect(cards(page)).to_contain_text("red mug")
    library(page).get_by_label("Search assets").fill("nothing of that name")
    expect(library(page).locator(".empty")).to_contain_text("Nothing here is like that")
    library(page).get_by_role("button", name="Show everything").click()
    expect(library(page).locator(".count")).to_contain_text(re.compile(r"^\d+ assets"))
    library(page).get_by_label("Kind").select_option("mug")
    library(page).get_by_label("Longest side to, in cm").fill("30")
    expect(library(page).locator(".count")).to_contain_text(re.compile(r"^\d of \d+"))
    library(page).get_by_role("button", name="Clear filters").click()
    expect(library(page).locator(".count")).to_contain_text(re.compile(r"^\d+ assets"))


def test_only_the_cards_near_the_window_are_in_the_page(page: Page):
    expect(cards(page).first).to_be_visible()
    near = cards(page).count()
    library(page).locator(".grid").evaluate("grid => grid.scrollTop = grid.scrollHeight")
    expect(cards(page).last).to_be_in_viewport()
    assert cards(page).count() <= near + 12


def test_files_come_in_together_and_units_are_asked_where_nobody_knows(studio: Studio, page: Page, tmp_path: Path):
    trimesh.creation.box([80, 60, 120]).export(tmp_path / "tea carton.stl")
    (tmp_path / "broken.glb").write_bytes(b"glTF" + bytes(60))
    trimesh.creation.icosphere(2, 0.03).export(tmp_path / "bath_ball.obj")
    picker = library(page).locator("input[type=file][accept*='.glb']")
    picker.set_input_files([tmp_path / name for name in ("tea carton.stl", "broken.glb", "bath_ball.obj")])
    asks = library(page).locator(".asks")
    expect(asks).to_contain_text("How large is tea carton.stl?")
    shot(page, "library_1_units")
    expect(asks.locator(".option").first).to_contain_text("12.0 cm")
    expect(asks.locator(".option.unlikely")).to_have_count(3)
    expect(asks.locator(".option .thing path").first).to_have_attribute("d", re.compile("^M"))
    asks.locator(".option").first.click()
    job = library(page).locator(".job")
    expect(job).to_contain_text("2 assets came in")
    expect(job.locator("li.bad")).to_have_count(1)
    assert own(studio) == ["bath_ball", "tea_carton"]
    job.get_by_role("button", name="tea carton").click()
    expect(library(page).locator(".asset .fact", has_text="size").first).to_contain_text("8.0 × 6.0 × 12.0 cm")
    job.get_by_role("button", name="Dismiss").click()
    expect(job).to_have_count(0)


def test_one_asset_is_changed_and_every_change_is_taken_back(studio: Studio, page: Page):
    asset = library(page).locator(".asset")
    before = Path(studio.settings["GRS_LIBRARY"]) / "own" / "tea_carton" / "asset.json"
    kept = before.read_text()
    asset.get_by_label("Longest side in cm").fill("24")
    asset.get_by_label("Longest side in cm").press("Enter")
    expect(asset.locator(".fact", has_text="size").first).to_contain_text("16.0 × 12.0 × 24.0 cm")
    asset.get_by_role("button", name="↻ x").click()
    expect(asset.locator(".fact", has_text="size").first).to_contain_text("16.0 × 24.0 × 12.0 cm")
    expect(asset.locator(".fact", has_text="inertia")).to_contain_text("kg m²")
    shot(page, "library_2_asset")
    asset.get_by_role("button", name="Take out").click()
    expect(asset).to_be_hidden()
    assert own(studio) == ["bath_ball"]
    for _ in range(3):
        undo = library(page).locator("[data-act=undo]")
        told = undo.get_attribute("title")
        undo.click()
        expect(library(page).locator(f"[data-act=undo][title='{told}']")).to_have_count(0)
    assert before.read_text() == kept and own(studio) == ["bath_ball", "tea_carton"]


def test_a_thing_of_objaverse_tells_its_terms_before_it_is_fetched(studio: Studio, page: Page):
    library(page).locator("[data-act=packs]").click()
    packs, job = library(page).locator(".packs"), library(page).locator(".job")
    packs.get_by_label("Objaverse id").fill("a tea tin")
    packs.get_by_label("Objaverse id").press("Enter")
    expect(packs.get_by_role("alert")).to_contain_text("no id of Objaverse")
    packs.get_by_label("Objaverse id").fill(f"https://sketchfab.com/3d-models/tea-tin-{UID}")
    packs.get_by_role("button", name="Look it up").click()
    expect(job.locator(".asks")).to_contain_text("CC BY-NC 4.0 (Ada, by way of Objaverse)")
    expect(job.locator(".asks")).to_contain_text("not for commercial use")
    shot(page, "library_3_objaverse")
    job.locator("[data-act=agree]").click()
    expect(job).to_contain_text("1 asset came in")
    job.get_by_role("button", name="objaverse").click()
    expect(library(page).locator(".asset").get_by_label("Name")).to_have_value("Tea tin")
    job.get_by_role("button", name="Dismiss").click()


def test_an_asset_turns_on_its_stand_until_it_is_touched(page: Page):
    stand = page.frame_locator(".library iframe.stand")
    expect(stand.locator("body")).to_have_attribute("data-state", "showing")
    expect(stand.locator("#turntable")).to_have_attribute("aria-pressed", "true")
    canvas = stand.locator("#canvas")
    before = canvas.screenshot()
    while canvas.screenshot() == before:
        page.wait_for_timeout(100)
    canvas.click(position={"x": 12, "y": 120})
    expect(stand.locator("#turntable")).to_have_attribute("aria-pressed", "false")
    stand.locator("#turntable").click()
    expect(stand.locator("#turntable")).to_have_attribute("aria-pressed", "true")
    canvas.click(position={"x": 12, "y": 120})
    expect(stand.locator("#turntable")).to_have_attribute("aria-pressed", "false")


def test_who_wants_no_motion_gets_none(page: Page):
    page.emulate_media(reduced_motion="reduce")
    library(page).get_by_label("Search assets").fill("soup can")
    cards(page).first.click()
    stand = page.frame_locator(".library iframe.stand")
    expect(stand.locator("#turntable")).to_be_visible()
    expect(stand.locator("#turntable")).to_have_attribute("aria-pressed", "false")


def test_what_comes_with_the_studio_is_changed_as_a_version_of_ones_own(studio: Studio, page: Page):
    library(page).get_by_label("Search assets").fill("banana")
    expect(cards(page)).to_have_count(1)
    expect(cards(page).first).to_contain_text("banana")
    cards(page).first.click()
    asset = library(page).locator(".asset")
    expect(asset).to_contain_text("becomes a version of your own")
    asset.get_by_label("Name").fill("plantain")
    asset.get_by_label("Name").press("Enter")
    expect(cards(page).first).to_contain_text("plantain")
    assert "banana" in own(studio)
    asset.get_by_role("button", name="Take out").click()
    expect(cards(page).first).to_contain_text("banana")


def test_an_asset_that_looks_like_an_object_is_used_for_it(studio: Studio, page: Page):
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(library(page)).to_be_hidden()
    page.locator(f".gallery [data-name={SCENE}]").click()
    expect(page.locator(".object-list .row").nth(2)).to_be_visible()
    settled(page)
    page.locator(".object-list .row").first.click()
    page.locator(".top-bar .shelf").click()
    library(page).get_by_label("Search assets").fill("")
    library(page).get_by_role("button", name="Like").click()
    expect(library(page).locator(".like")).to_be_visible()
    cards(page).nth(1).click()
    chosen = cards(page).nth(1).get_attribute("data-id")
    library(page).locator("[data-act=use]").click()
    expect(library(page).locator(".told")).to_contain_text("stands for")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator(".top-bar").get_by_role("button", name="Undo")).to_be_enabled()
    settled(page)
    log = (studio.workspace / SCENE / "decisions.jsonl").read_text().splitlines()
    assert json.loads(log[-1])["kind"] == "choose_asset" and json.loads(log[-1])["data"]["asset_id"] == chosen
