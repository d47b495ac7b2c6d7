"""The library alone in a page: assets are searched, inspected, imported, edited, undone, and used for an object."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.app_page import drop_files
from browser.axe import findings
from browser.bare_page import BareStudio, Mount, Mounted, bare_studio
from browser.watched_page import press_buttons, press_keys, wait_for_request, wait_until
from playwright.sync_api import Locator, Page, expect

from pipeline.assets.asset_descriptions import FILE

OPEN = "async (request) => (await import('/static/library/library_state.js')).openLibrary(request)"
ASSET = {
    "id": "box", "name": "box", "category": "box", "size": [0.08, 0.06, 0.12], "licence": "MIT (Ada)", "digest": "d",
    "collection": "own", "articulated": True, "caption": "a box", "description": {"text": "brown", "source": "human"},
    "mass": 0.005, "mass_range": [0.1, 1.0], "mass_source": "size", "friction": 0.7, "friction_range": [0.5, 0.9],
    "friction_source": "person", "container": True, "convex_parts": 3, "provenance": "", "own": True, "version": True,
    "tipped_over": {"faces": "down", "axis": "x", "quarters": 2}, "warnings": ["thin walls"],
    "joints": [{"name": "j", "kind": "hinge", "part": "the_lid", "range": [0.0, 1.5708]},
               {"name": "k", "kind": "slide", "part": "drawer", "range": [None, None]}],
}  # fmt: skip
JOB = {"name": "j", "title": "t", "state": "running", "message": "reading", "done": 1, "of": 4, "share": 0.5}
JOB |= {"note": "", "stopping": False, "questions": [], "errors": [], "added": []}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BareStudio]:
    """A studio with a library of its own, in "library", so that nothing is imported into the user's."""
    workspace = tmp_path_factory.mktemp("workspace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRS_LIBRARY", str(workspace.parent / "library"))
        with bare_studio(workspace) as running:
            yield running


@pytest.fixture
def mounted(mount: Mount) -> Mounted:
    return mount("", "library")


def open_library(mounted: Mounted, **request: Any) -> Locator:
    mounted.page.evaluate(OPEN, request)
    expect(cards(mounted.page).nth(2)).to_be_visible()
    return mounted.page.locator(".library")


def cards(page: Page) -> Locator:
    return page.locator(".library .grid .tile")


def panel(page: Page) -> Locator:
    return page.locator(".library .asset")


def fact(page: Page, name: str) -> Locator:
    return panel(page).locator(".fact", has=page.get_by_text(name, exact=True))


def newest(asked: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    """Return the newest request of that kind, without what names the page."""
    found = next((one for one in reversed(asked) if one["kind"] == kind), {})
    return {key: found[key] for key in found if key not in ("page_token", "token", "kind")}


def last(asked: list[dict[str, Any]], kind: str, page: Page, *has: str) -> dict[str, Any]:
    """Wait until the newest request of that kind has these values; return it."""
    wait_until(page, lambda: (one := newest(asked, kind)) and all(map(one.get, has)))
    return newest(asked, kind)


def test_search_and_filters_find_assets_as_one_types(mounted: Mounted):
    page, asked = mounted.page, mounted.answer("library", {})
    library = open_library(mounted)
    count, words = library.locator(".count"), library.get_by_label("Search assets")
    expect(words).to_be_focused()
    everything = re.compile(r"^\d+ assets$")
    expect(count).to_have_text(everything)
    expect(cards(page).first.locator(".picture.drawn")).to_be_visible()
    assert not findings(page)
    words.fill("red mu")
    expect(count).to_contain_text("1 of ")
    expect(cards(page)).to_have_text(["red mug12 × 9.2 × 8.0 cmMIT"])
    for typed, told in (("red zeppelin", "No asset matches all words"), ("nothing of that name", "No assets match")):
        words.fill(typed)
        expect(library.locator(".hint-line, .empty").filter(has_text=told)).to_be_visible()
    library.get_by_role("button", name="Show all").click()
    expect(count).to_have_text(everything)
    library.get_by_label("Category").select_option("mug")
    library.get_by_label("Longest side from, in cm").fill("2")
    library.get_by_label("Longest side to, in cm").fill("12")
    expect(cards(page)).to_have_count(2)
    wanted = {"category": "mug", "smallest": 0.02, "largest": 0.12, "articulated": None, "words": "", "offset": 0}
    wait_for_request(page, asked, kind="find", **wanted)
    library.get_by_role("button", name="Clear filters").click()
    expect(count).to_have_text(everything)
    page.keyboard.press("/")
    expect(words).to_be_focused()


FOUND = {"every_word": True, "indexing": False, "skipped": [], "undo": ""}
FOUND |= {"facets": {"categories": [], "licences": [], "places": []}}


def test_only_the_cards_near_the_viewport_are_in_the_page_and_arrows_lead_on(mounted: Mounted):
    page, of = mounted.page, 1000
    known = [ASSET | {"id": f"a{index}", "name": f"asset {index}", "digest": str(index)} for index in range(of)]
    items = lambda one: known[one["offset"] : one["offset"] + one["limit"]]  # noqa: E731
    answers = {"find": lambda one: FOUND | {"total": of, "all": of, "items": items(one)}, "asset": ASSET}
    answers |= {"thumbnails": lambda one: {"pictures": dict.fromkeys(one["ids"], "")}, "preview": {"error": "no"}}
    asked = mounted.answer("library", answers)
    grid = open_library(mounted).locator(".grid")
    expect(cards(page).first).to_contain_text("No pictureasset 08.0 × 6.0 × 12 cmMIT⟲ JointsMine")
    near = cards(page).count()
    assert near < 50
    box, right, below = (cards(page).nth(index).bounding_box() for index in (0, 1, 6))
    assert right["y"] == box["y"] and right["x"] >= box["x"] + box["width"]
    assert below["y"] >= box["y"] + box["height"] and below["x"] == box["x"]  # six in a row
    cards(page).first.focus()
    press_keys(page, "ArrowRight", "ArrowDown", "ArrowLeft")
    expect(page.locator("[data-id=a6]")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".grid .tile.on")).to_contain_text("asset 6")
    grid.evaluate("grid => grid.scrollTop = grid.scrollHeight")
    expect(page.locator(f"[data-id=a{of - 1}]")).to_be_in_viewport()
    assert cards(page).count() <= near + 15
    assert {one["offset"] for one in asked if one["kind"] == "find"} >= {0, 900}
    for width in (900, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        expect(page.locator(f"[data-id=a{of - 1}]")).to_be_in_viewport()  # with more or fewer columns
    page.get_by_label("Search assets").fill("mug")
    wait_until(page, lambda: any(one.get("words") == "mug" for one in asked))
    grid.evaluate("grid => grid.scrollTop = grid.scrollHeight")
    wait_until(page, lambda: any(one.get("words") == "mug" and one["offset"] >= 900 for one in asked))


def test_a_built_in_asset_is_edited_as_ones_own_version_and_every_edit_is_undone(mounted: Mounted):
    page, own = mounted.page, mounted.studio.workspace.parent / "library"
    library, aside, version = open_library(mounted, asset="banana"), panel(page), own / "own" / "banana"
    expect(fact(page, "collection")).to_contain_text("saved as your own version")
    for name, text in (("size", "18.1 × 5.2 × 3.7 cm"), ("inertia", "kg m²")):
        expect(fact(page, name)).to_contain_text(text)
    aside.get_by_label("Description").fill("a ripe banana")
    page.keyboard.press("Tab")
    expect(aside.locator(".description")).to_contain_text("by hand")
    aside.get_by_label("Longest side in cm").fill("24")
    page.keyboard.press("Enter")
    expect(fact(page, "size")).to_contain_text("24.0 × ")
    press_buttons(aside, "↻ z")
    expect(fact(page, "size")).to_contain_text(" × 24.0 × ")
    press_buttons(aside, "Remove my version")
    expect(aside).to_be_hidden()
    expect(page.locator("[data-id=banana]")).to_contain_text("banana18 × 5.2 × 3.7 cm")
    undo = library.locator("[data-act=undo]")
    undo.click()
    expect(page.locator("[data-id=banana]")).not_to_contain_text("banana18 × 5.2 × 3.7 cm")
    assert version.exists()
    for _ in range(2):
        title = undo.get_attribute("title")
        page.locator(".library h2").click()
        page.keyboard.press("Control+z")  # on the page, undoes the last edit of the library
        expect(library.locator(f"[data-act=undo][title='{title}']")).to_have_count(0)
    undo.click()
    expect(undo).to_have_count(0)
    assert not version.exists() and not json.loads((own / FILE).read_text())["descriptions"]["human"]


def test_an_asset_says_what_is_known_of_it_and_each_field_saves_its_own(mounted: Mounted):
    page = mounted.page
    kinds = ("change", "scale", "turn", "describe", "remove")
    inertia = {"view": "", "inertia": [1.5e-4, 2e-4, 3e-4], "doubt": "too light"}
    answers = {"asset": ASSET, "preview": inertia | {"error": "it has no mesh"}}
    asked = mounted.answer("library", answers | {kind: {"error": "refused"} for kind in kinds})
    open_library(mounted, asset="box")
    aside = panel(page)
    expect(aside.locator(".overlay")).to_have_text("it has no mesh")
    texts = {
        "size": "8.0 × 6.0 × 12.0 cm", "mass": re.compile(r"100 g1\.00 kg.*estimated from its size"),
        "friction": re.compile("set by you"), "collision": "3 convex parts, open at the top", "source": "unknown",
        "joints": "the lid: rotates 0° to 90°drawer: slides no limits",
        "collection": "My assetsyour version of this asset",
    }  # fmt: skip
    for name, text in texts.items():
        expect(fact(page, name).locator(".value")).to_contain_text(text)
    expect(fact(page, "mass").get_by_text("Outside the plausible range")).to_be_attached()
    expect(fact(page, "friction").locator(".range.out")).to_have_count(0)
    assert fact(page, "friction").locator(".range i").get_attribute("style").startswith("left: 57.24")
    expect(aside.locator(".warnings")).to_have_text("thin walls")
    values = {
        "Name": ("crate", {"values": {"name": "crate"}}), "Caption": ("a crate", {"values": {"caption": "a crate"}}),
        "Mass in g": ("250", {"values": {"mass": 0.25}}), "Sliding friction": ("0.8", {"values": {"friction": 0.8}}),
    }  # fmt: skip
    for label, (text, wanted) in values.items():
        aside.get_by_label(label, exact=True).fill(text)
        page.keyboard.press("Enter")
        expect(page.locator(".library p.message.bad")).to_contain_text("refused")
        wait_until(page, lambda wanted=wanted: newest(asked, "change") == {"id": "box", **wanted})
        expect(aside.get_by_label(label, exact=True)).not_to_have_value(text)  # what was refused is not kept
    aside.get_by_label("Name").fill(" box ")
    page.keyboard.press("Enter")
    press_buttons(aside, "Set upright")
    press_buttons(aside.locator(".description"), "Remove")
    assert last(asked, "turn", page) == {"id": "box", "axis": "x", "quarters": 2}
    assert last(asked, "describe", page) == {"id": "box", "text": ""}
    assert len([one for one in asked if one["kind"] == "change"]) == len(values)


SHAPES = {axis: {"path": "M0,0H1V1Z", "wide": wide, "tall": 1} for axis, wide in (("x", 1), ("y", 2), ("z", 3))}
SIZES = {"m": 12, "mm": 0.012, "cm": 0.12}
OPTIONS = [{"unit": unit, "size": size, "likely": unit != "m"} for unit, size in SIZES.items()]
UNITS = {"number": 8, "source": "a.stl", "longest": 12, "units": OPTIONS, "shapes": SHAPES}
"""The question in which unit a file is, and which axis is up."""


def test_imports_say_how_far_they_are_and_ask_for_consent(mounted: Mounted):
    page, state = mounted.page, {"jobs": [JOB]}
    stops: list[list[dict]] = []  # answered when Stop is asked for, and not to a poll before
    kinds = ("jobs", "accept", "units", "install")
    pack = {"name": "libero", "about": "objects", "download": 355e6, "licences": ["MIT"], "count": 83, "installed": 0}
    packs = {"packs": [pack, pack | {"name": "half", "installed": 9}, pack | {"name": "all", "installed": 83}]}
    look_up = {"objaverse": {"error": "not an Objaverse id"}, "packs": packs}

    def stop(_: dict) -> dict:
        state["jobs"] = stops.pop()
        return state

    asked = mounted.answer("library", look_up | dict.fromkeys(kinds, lambda _: state) | {"asset": ASSET, "stop": stop})
    library = open_library(mounted, page="packs")
    job, shown = library.locator(".job"), library.locator(".packs")
    expect(job.locator(".line")).to_contain_text("t1 of 4 · reading")
    assert job.get_by_role("progressbar").get_attribute("aria-valuenow") == "38"
    told = {"libero": "83 assets, 355 MB to download", "half": "Resume9 of 83 installed", "all": "✓ All 83 installed"}
    for name, text in told.items():
        expect(shown.locator(f"[data-pack={name}]")).to_contain_text(text)
    shown.get_by_label("Objaverse id").fill("a tea tin")
    page.keyboard.press("Enter")
    expect(shown.get_by_role("alert")).to_contain_text("not an Objaverse id")
    assert last(asked, "objaverse", page) == {"id": "a tea tin"} and not findings(page)
    asset = {"id": "tea_tin", "warnings": [], "available": False}
    terms = {"number": 7, "name": "Tea tin", "size": 2.5e6, "licence": "CC BY-NC", "terms": "not commercial"}
    added = [asset | {"id": f"a{k}"} for k in range(8)]
    state["jobs"] = [JOB | {"state": "questions", "questions": [terms], "added": added}]
    shown.locator("[data-pack=libero]").get_by_role("button", name="Install").click()
    expect(shown).to_be_hidden()
    expect(job.locator(".question")).to_contain_text("Tea tin, 2.5 MB. Licence: CC BY-NC not commercial.")
    expect(job.locator("li")).to_have_text([*(f"a{k}  no problems" for k in range(7, 1, -1)), "and 2 more"])
    expect(job.get_by_role("button", name="a7")).to_be_disabled()
    assert last(asked, "install", page) == {"pack": "libero"}
    press_buttons(job, "Skip")
    wait_until(page, lambda: newest(asked, "accept") == {"job": "j", "number": 7, "accepted": False})
    state["jobs"] = [JOB | {"state": "questions", "questions": [UNITS]}]
    press_buttons(job, "Skip")
    expect(job.locator(".option strong")).to_have_text(["12.0 cm", "1.2 cm", "12.00 m"])  # the usual size first
    expect(job.locator(".option.unlikely")).to_contain_text("metres")
    job.get_by_role("button", name="y is up").click()
    expect(job.get_by_role("button", name="y is up")).to_have_attribute("aria-pressed", "true")
    state["jobs"] = [JOB]
    job.locator("[data-unit=mm]").click()
    assert last(asked, "units", page) == {"job": "j", "number": 8, "units": "mm", "up": "y"}
    assert len(mounted.sent) == 1
    ended = {"errors": [{"source": "b.glb", "error": "no mesh"}], "added": [asset | {"available": True}]}
    stops.append([JOB | {"state": "stopped"} | ended])
    job.get_by_role("button", name="Stop").click()
    expect(job.locator(".line")).to_contain_text("1 asset imported; stopped")
    expect(job.locator("li.bad")).to_have_text("b.glb: no mesh")
    press_buttons(job, "tea tin")
    assert last(asked, "asset", page) == {"id": "tea_tin"}
    stops.append([])
    press_buttons(job, "Dismiss")
    expect(job).to_have_count(0)
    assert [one["job"] for one in asked if one["kind"] == "stop"] == ["j", "j"]
    assert mounted.sent == [("changed", {})] * 2  # the page looks at the library again once an import has ended


SHORTCUTS_BELOW = """async () => {
  const { shortcuts } = await import("/static/studio/keyboard.js"), push = { act: ({ key }) => keys.push(key) };
  window.keys = [];
  shortcuts(document.body, { title: "", keys: () => ({ a: push, 1: push, "mod+b": push }), isOn: () => true });
}"""


def test_keys_belong_to_the_library_and_escape_closes_what_was_opened_last(mount: Mount):
    mounted = mount("", "task-text", "library")
    page = mounted.page
    mounted.answer("library", {"preview": {"error": "no"}})
    field = page.locator("#task-text textarea")
    field.focus()
    page.evaluate(SHORTCUTS_BELOW)
    library = open_library(mounted)
    cards(page).first.click()
    library.locator("[data-act=packs]").click()
    for shown in (library.locator(".packs"), panel(page), library):
        expect(shown).to_be_visible()
        page.keyboard.press("Escape")
        expect(shown).to_be_hidden()
    expect(field).to_be_focused()
    open_library(mounted)
    for key in ("a", "1", "Control+b"):
        page.locator(".library .grid").press(key)
    assert page.evaluate("window.keys") == ["b"]
    library.get_by_role("button", name="Close the library").click()
    field.press("a")
    field.blur()
    page.keyboard.press("1")
    assert page.evaluate("window.keys") == ["b", "1"]


def test_what_is_dropped_is_searched_by_or_imported_or_refused(mounted: Mounted):
    page = mounted.page
    asked = mounted.answer("library", {"import": {"jobs": []}})
    library = open_library(mounted)
    drop_files(page, ".library", ".grid", {"notes.txt": "x"})
    expect(library.locator("p.message.bad")).to_contain_text("None of these files is a model.")
    drop_files(page, ".library", ".grid", {"mug.png": "x"})
    expect(library.locator(".image-query")).to_contain_text("Similar to mug.png")
    assert Path(last(asked, "find", page, "like")["like"]["picture"]).read_text() == "x"
    expect(library.locator("p.message.bad")).to_be_visible()  # it is no picture
    library.get_by_role("button", name="Clear picture").click()
    expect(library.locator(".image-query")).to_have_count(0)
    drop_files(page, ".library", ".grid", {"a.obj": "x", "a.mtl": "x"})
    assert [one["name"] for one in last(asked, "import", page)["files"]] == ["a.obj", "a.mtl"]
    chosen = {"name": "b.glb", "mimeType": "model/gltf-binary", "buffer": b"x"}
    library.locator("input[type=file][accept*='.glb']").set_input_files([chosen])
    wait_until(page, lambda: [one["name"] for one in newest(asked, "import")["files"]] == ["b.glb"])
    expect(library.locator("p.message")).to_be_hidden()


def test_an_asset_similar_to_an_object_is_used_for_it(mount: Mount):
    mounted = mount("stack", "library", "object-list")
    page, library = mounted.page, mounted.page.locator(".library")
    alike = [ASSET | {"id": id, "name": id.replace("_", " ")} for id in ("red_cube", "blue_cylinder")]
    found = FOUND | {"total": 2, "all": 73, "items": alike}
    find = lambda one: found if one["like"] else None  # noqa: E731
    asked = mounted.answer("library", {"preview": {"error": "no"}, "find": find})
    mounted.answer_event("library.decide")
    page.locator(".object-list .row").first.click()
    open_library(mounted)
    library.get_by_role("button", name="Similar to").click()
    expect(library.locator(".image-query")).to_contain_text("Similar to red cube")
    assert last(asked, "find", page, "like")["like"]["object"] == 1
    expect(cards(page).first).to_contain_text("red cube")
    cards(page).first.click()
    expect(panel(page).locator(".asset-actions")).to_contain_text("Used for 1 red cube")
    cards(page).nth(1).click()
    library.locator("[data-act=use]").click()
    expect(library.locator("p.message")).to_contain_text("red cube now uses")
    assert mounted.sent == [("decide", {"kind": "choose_asset", "id": 1, "asset_id": "blue_cylinder"})]
    searches = len(asked)
    mounted.set_value("library", mounted.value("library") | {"digest": "another"})
    wait_until(page, lambda: any(one["kind"] == "find" for one in asked[searches:]))  # the library has changed
    mounted.set_value("library", mounted.value("library") | {"token": "another"})
    expect(library).to_be_hidden()


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_an_asset_turns_on_its_stand_until_it_is_touched_unless_a_person_wants_no_motion(mounted: Mounted, motion: Any):
    page = mounted.page
    page.emulate_media(reduced_motion=motion)
    open_library(mounted, asset="soup_can")
    preview = page.frame_locator(".library iframe.preview")
    turntable, canvas = preview.locator("#turntable"), preview.locator("#canvas")
    expect(preview.locator("body")).to_have_attribute("data-state", "showing")
    expect(turntable).to_have_attribute("aria-pressed", str(motion != "reduce").lower())
    if motion != "reduce":
        before = canvas.screenshot()
        wait_until(page, lambda: canvas.screenshot() != before)
        canvas.click(position={"x": 12, "y": 120})
        expect(turntable).to_have_attribute("aria-pressed", "false")
        wait_until(page, lambda: canvas.screenshot() == canvas.screenshot())  # it stands still
    else:
        assert not findings(page)
    turntable.click()
    expect(turntable).to_have_attribute("aria-pressed", "true")
    page.emulate_media(reduced_motion="null")
