"""The library as a person uses it: searched, inspected, imported into, edited, and used for an object."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import trimesh
from browser.app_page import LONG, OpenProject, rows, screenshot, undo_button, wait_until_idle
from browser.studio_process import Studio
from browser.watched_page import wait_for_requests
from playwright.sync_api import FrameLocator, Locator, Page, expect

SCENE, UID = "sizes", "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with a library of its own, so that nothing is imported into the user's."""
    stand_in = objaverse_stand_in(tmp_path_factory.mktemp("objaverse"))
    library = str(tmp_path_factory.mktemp("library"))
    running = Studio(tmp_path_factory.mktemp("workspace"), GRS_LIBRARY=library, GRS_OBJAVERSE=stand_in)
    yield running
    running.close()


def objaverse_stand_in(top: Path) -> str:
    """Write a stand-in for Objaverse that holds one object; returns its address."""
    (top / "metadata").mkdir()
    (top / "glbs" / "a").mkdir(parents=True)
    trimesh.creation.box((0.08, 0.1, 0.05)).export(top / "glbs" / "a" / f"{UID}.glb")
    (top / "object-paths.json.gz").write_bytes(gzip.compress(json.dumps({UID: f"glbs/a/{UID}.glb"}).encode()))
    about = {UID: {"name": "Tea tin", "license": "by-nc", "user": {"displayName": "Ada"}}}
    (top / "metadata" / "a.json.gz").write_bytes(gzip.compress(json.dumps(about).encode()))
    return top.as_uri()


@pytest.fixture
def library(studio: Studio, page: Page) -> Iterator[Locator]:
    """The library, opened from the gallery, its assets shown; finished imports are dismissed afterwards."""
    page.goto(studio.address)
    open_library(page)
    yield page.locator(".library")
    dismiss_jobs(page)


def open_library(page: Page) -> None:
    page.locator(".top-bar .library-button").click()
    expect(cards(page).nth(5)).to_be_visible(timeout=LONG)
    expect(jobs(page).locator(".spin")).to_have_count(0, timeout=LONG)


def dismiss_jobs(page: Page) -> None:
    while jobs(page).count():
        count = jobs(page).count()
        jobs(page).first.get_by_role("button", name="Dismiss").click()
        expect(jobs(page)).to_have_count(count - 1)


def cards(page: Page) -> Locator:
    return page.locator(".library .grid .tile")


def jobs(page: Page) -> Locator:
    return page.locator(".library .job")


def asset_panel(page: Page) -> Locator:
    return page.locator(".library .asset")


def size_text(page: Page) -> Locator:
    return asset_panel(page).locator(".fact", has_text="size").first


def preview(page: Page) -> FrameLocator:
    return page.frame_locator(".library iframe.preview")


def own_assets(studio: Studio) -> set[str]:
    """The ids of the assets in the user's own library."""
    folder = Path(studio.settings["GRS_LIBRARY"]) / "own"
    return {each.name for each in folder.iterdir() if each.name[0] != "."} if folder.exists() else set()


def import_files(page: Page, *files: Path) -> None:
    page.locator(".library input[type=file][accept*='.glb']").set_input_files(files)


def search(page: Page, words: str) -> None:
    page.locator(".library").get_by_label("Search assets").fill(words)


def test_search_and_filters_find_assets_as_one_types(library: Locator, page: Page):
    count = library.locator(".count")
    expect(cards(page).first.locator(".picture.drawn")).to_be_visible(timeout=LONG)
    screenshot(page, "library_0")
    search(page, "red mu")
    expect(count).to_contain_text("1 of ")
    expect(cards(page)).to_contain_text("red mug")
    search(page, "nothing of that name")
    expect(library.locator(".empty")).to_contain_text("No assets match")
    library.get_by_role("button", name="Show all").click()
    expect(count).to_contain_text(re.compile(r"^\d+ assets"))
    library.get_by_label("Category").select_option("mug")
    library.get_by_label("Longest side to, in cm").fill("30")
    expect(count).to_contain_text(re.compile(r"^\d of \d+"))
    library.get_by_role("button", name="Clear filters").click()
    expect(count).to_contain_text(re.compile(r"^\d+ assets"))


def test_only_the_cards_near_the_viewport_are_in_the_page(library: Locator, page: Page):
    expect(cards(page).first).to_be_visible()
    near = cards(page).count()
    library.locator(".grid").evaluate("grid => grid.scrollTop = grid.scrollHeight")
    expect(cards(page).last).to_be_in_viewport()
    assert cards(page).count() <= near + 12


def test_files_are_imported_together_and_unknown_units_are_asked(
    studio: Studio, library: Locator, page: Page, tmp_path: Path
):
    before = own_assets(studio)
    trimesh.creation.box([80, 60, 120]).export(tmp_path / "tea carton.stl")
    (tmp_path / "broken.glb").write_bytes(b"glTF" + bytes(60))
    trimesh.creation.icosphere(2, 0.03).export(tmp_path / "bath_ball.obj")
    import_files(page, *(tmp_path / name for name in ("tea carton.stl", "broken.glb", "bath_ball.obj")))
    question = library.locator(".question")
    expect(question).to_contain_text("How large is tea carton.stl?", timeout=LONG)
    screenshot(page, "library_1_units")
    expect(question.locator(".option").first).to_contain_text("12.0 cm")
    expect(question.locator(".option.unlikely")).to_have_count(3)
    expect(question.locator(".option .outline path").first).to_have_attribute("d", re.compile("^M"))
    question.locator(".option").first.click()
    expect(jobs(page)).to_contain_text("2 assets imported", timeout=LONG)
    expect(jobs(page).locator("li.bad")).to_have_count(1)
    assert own_assets(studio) - before == {"bath_ball", "tea_carton"}
    jobs(page).get_by_role("button", name="tea carton").click()
    expect(size_text(page)).to_contain_text("8.0 × 6.0 × 12.0 cm")
    jobs(page).get_by_role("button", name="Dismiss").click()
    expect(jobs(page)).to_have_count(0)


def test_an_asset_is_edited_and_every_edit_is_undone(studio: Studio, library: Locator, page: Page, tmp_path: Path):
    trimesh.creation.box([80, 60, 120]).export(tmp_path / "spice box.stl")
    import_files(page, tmp_path / "spice box.stl")
    library.locator(".question .option").first.click(timeout=LONG)
    expect(jobs(page)).to_contain_text("1 asset imported", timeout=LONG)
    jobs(page).get_by_role("button", name="spice box").click()
    expect(size_text(page)).to_contain_text("8.0 × 6.0 × 12.0 cm")
    file = Path(studio.settings["GRS_LIBRARY"]) / "own" / "spice_box" / "asset.json"
    original, before = file.read_text(), own_assets(studio)
    description = asset_panel(page).get_by_label("Description")
    description.fill("a brown box for spices")
    description.press("Tab")
    expect(asset_panel(page).locator(".description")).to_contain_text("by hand")
    expect(description).to_have_value("a brown box for spices")
    screenshot(page, "library_1_description")
    longest = asset_panel(page).get_by_label("Longest side in cm")
    longest.fill("24")
    longest.press("Enter")
    expect(size_text(page)).to_contain_text("16.0 × 12.0 × 24.0 cm")
    asset_panel(page).get_by_role("button", name="↻ x").click()
    expect(size_text(page)).to_contain_text("16.0 × 24.0 × 12.0 cm")
    expect(asset_panel(page).locator(".fact", has_text="inertia")).to_contain_text("kg m²", timeout=LONG)
    screenshot(page, "library_2_asset")
    asset_panel(page).get_by_role("button", name="Remove").click()
    expect(asset_panel(page)).to_be_hidden()
    assert own_assets(studio) == before - {"spice_box"}
    undo = library.locator("[data-act=undo]")
    for _ in range(4):
        title = undo.get_attribute("title")
        undo.click()
        expect(library.locator(f"[data-act=undo][title='{title}']")).to_have_count(0)
    assert file.read_text() == original and own_assets(studio) == before
    kept = json.loads((Path(studio.settings["GRS_LIBRARY"]) / "descriptions.json").read_text())["descriptions"]
    assert not kept["human"]


def test_an_objaverse_object_shows_its_terms_before_the_download(library: Locator, page: Page):
    library.locator("[data-act=packs]").click()
    packs, job = library.locator(".packs"), jobs(page)
    packs.get_by_label("Objaverse id").fill("a tea tin")
    packs.get_by_label("Objaverse id").press("Enter")
    expect(packs.get_by_role("alert")).to_contain_text("not an Objaverse id")
    packs.get_by_label("Objaverse id").fill(f"https://sketchfab.com/3d-models/tea-tin-{UID}")
    packs.get_by_role("button", name="Look up").click()
    expect(job.locator(".question")).to_contain_text("CC BY-NC 4.0 (Ada, by way of Objaverse)", timeout=LONG)
    expect(job.locator(".question")).to_contain_text("not for commercial use")
    screenshot(page, "library_3_objaverse")
    job.locator("[data-act=accept]").click()
    expect(job).to_contain_text("1 asset imported", timeout=LONG)
    job.get_by_role("button", name="objaverse").click()
    expect(asset_panel(page).get_by_label("Name")).to_have_value("Tea tin")


def test_an_asset_turns_on_its_stand_until_it_is_touched(library: Locator, page: Page):
    page.emulate_media(reduced_motion="no-preference")
    search(page, "soup can")
    cards(page).first.click()
    turntable, canvas = preview(page).locator("#turntable"), preview(page).locator("#canvas")
    expect(preview(page).locator("body")).to_have_attribute("data-state", "showing", timeout=LONG)
    expect(turntable).to_have_attribute("aria-pressed", "true")
    before = canvas.screenshot()
    for _ in range(100):
        if canvas.screenshot() != before:
            break
        page.wait_for_timeout(100)
    else:
        pytest.fail("the asset does not turn")
    canvas.click(position={"x": 12, "y": 120})
    expect(turntable).to_have_attribute("aria-pressed", "false")
    turntable.click()
    expect(turntable).to_have_attribute("aria-pressed", "true")
    canvas.click(position={"x": 12, "y": 120})
    expect(turntable).to_have_attribute("aria-pressed", "false")


def test_an_asset_stands_still_for_a_person_who_wants_no_motion(library: Locator, page: Page):
    page.emulate_media(reduced_motion="reduce")
    search(page, "soup can")
    cards(page).first.click()
    turntable = preview(page).locator("#turntable")
    expect(turntable).to_be_visible(timeout=LONG)
    expect(turntable).to_have_attribute("aria-pressed", "false")


def test_a_built_in_asset_is_edited_as_ones_own_version(studio: Studio, library: Locator, page: Page):
    search(page, "banana")
    expect(cards(page)).to_have_count(1)
    expect(cards(page).first).to_contain_text("banana")
    cards(page).first.click()
    expect(asset_panel(page)).to_contain_text("saved as your own version")
    name = asset_panel(page).get_by_label("Name")
    name.fill("plantain")
    name.press("Enter")
    expect(cards(page).first).to_contain_text("plantain")
    assert "banana" in own_assets(studio)
    asset_panel(page).get_by_role("button", name="Remove").click()
    expect(cards(page).first).to_contain_text("banana")


def test_an_asset_similar_to_an_object_is_used_for_it(project: OpenProject):
    page, library = project.page, project.page.locator(".library")
    rows(page).first.click()
    open_library(page)
    library.get_by_role("button", name="Similar to").click()
    expect(library.locator(".image-query")).to_be_visible()
    wait_for_requests(page, seconds=30)  # results that replace a card swallow its click
    expect(cards(page).first).to_be_visible(timeout=LONG)
    used = {match["asset_id"] for match in project.json("matches.json")}
    chosen = next(tile for tile in cards(page).evaluate_all("all => all.map((t) => t.dataset.id)") if tile not in used)
    library.locator(f".grid .tile[data-id='{chosen}']").click()
    library.locator("[data-act=use]").click()
    expect(library.locator("p.message")).to_contain_text("now uses")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(library).to_be_hidden()
    expect(undo_button(page)).to_be_enabled()
    wait_until_idle(page)
    assert (project.kinds[-1], project.decisions[-1]["data"]["asset_id"]) == ("choose_asset", chosen)
