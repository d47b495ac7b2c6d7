"""A library reads valid assets and names invalid ones, a person's changes can be undone, and its index finds assets."""

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import trimesh

from pipeline.assets import AssetError, Library, library_edits, load_mesh
from pipeline.assets.categories import guess_category
from pipeline.assets.index.asset_index import AssetIndex, IndexEntry
from pipeline.assets.index.columns import AssetFilter
from pipeline.assets.library import BUILTIN_LIBRARY, user_library_folders
from pipeline.scene.preview.pose_preview import asset_model, mass_properties
from tests.matching.test_measured import MeanColourEncoder


def make(folder, facts=None, mesh=None, file="mesh.obj"):
    folder.mkdir(parents=True)
    if facts is not None:
        (folder / "asset.json").write_text(facts if isinstance(facts, str) else json.dumps(facts))
    if mesh is not None:
        mesh.export(folder / file)
    return folder


def box(size=(0.1, 0.06, 0.2), at=(0, 0, 0)):
    return trimesh.creation.box(size).apply_translation(at)


@pytest.mark.parametrize("at", [(0.3, 0, 0), (0, 0, 0.1)])
@pytest.mark.parametrize("factor", [1, 1000])
def test_meshes_are_scaled_to_their_true_size_and_centred(tmp_path, at, factor):
    mesh = box(at=at).apply_scale(factor)
    make(tmp_path / "lib/a", {"id": "a", "name": "a", "size": [0.1, 0.06, 0.2]}, mesh)
    asset = Library.open([tmp_path / "lib"], cache=tmp_path / "cache")["a"]
    reopened = Library.open([tmp_path / "lib"], cache=tmp_path / "cache")["a"]
    for one in (asset, reopened):
        np.testing.assert_allclose(load_mesh(one).bounds, [[-0.05, -0.03, -0.1], [0.05, 0.03, 0.1]], atol=1e-5)
        np.testing.assert_allclose(one.size, [0.1, 0.06, 0.2], atol=1e-5)
    make(tmp_path / "glb/a", {"id": "a", "name": "a", "size": [0.1, 0.06, 0.2]}, box((0.1, 0.2, 0.06)), "mesh.glb")
    asset = Library.open([tmp_path / "glb"], cache=tmp_path / "cache")["a"]  # y is up, as its size says
    np.testing.assert_allclose(asset.size, [0.1, 0.06, 0.2], atol=1e-5)


MJCF = """<mujoco><asset>
<texture name="t" type="2d" builtin="checker" rgb1="1 0 0" rgb2="1 1 0" width="32" height="32"/>
<mesh name="m" file="part.obj"/></asset><worldbody><body pos="0 0 0.5">
<geom type="mesh" mesh="m" rgba="0 0 1 1" contype="0" conaffinity="0" group="1"/>
<geom type="cylinder" size="0.03 0.05" pos="0 0 0.15" rgba="1 0 0 1" contype="0" conaffinity="0" group="1"/>
<geom type="box" size="0.5 0.5 0.5" group="3"/></body></worldbody></mujoco>"""
URDF = """<robot name="r"><link name="l"><visual><geometry><mesh filename="part.obj"/></geometry></visual>
<collision><geometry><box size="1 1 1"/></geometry></collision></link></robot>"""


@pytest.mark.parametrize(("file", "text", "height"), [("model.xml", MJCF, 0.3), ("mesh.urdf", URDF, 0.2)])
def test_the_visual_geoms_of_a_model_are_read(tmp_path, file, text, height):
    (make(tmp_path / "lib/a", {"id": "a", "name": "a"}, box(), "part.obj") / file).write_text(text)
    library = Library.open([tmp_path / "lib"], cache=tmp_path / "cache")
    assert not library.skipped
    np.testing.assert_allclose(library["a"].size, [0.1, 0.06, height], atol=1e-3)
    np.testing.assert_allclose(load_mesh(library["a"]).bounds.sum(axis=0), 0, atol=1e-5)
    assert load_mesh(library["a"]).visual.uv is not None


BAD = {
    "no_json": (None, box(), "asset.json"),
    "broken_json": ("{", box(), "cannot be read"),
    "no_mesh": ({"id": "x", "name": "x"}, None, "add mesh.obj"),
    "mass": ({"id": "x", "name": "x", "mass": -1}, box(), "above zero"),
    "size": ({"id": "x", "name": "x", "size": [1, 2]}, box(), "3 numbers"),
    "piece": ({"id": "x", "name": "x", "collision": ["../../gone.obj"]}, box(), "gone.obj"),
    "piece with a name that no folder takes": ({"id": "x", "name": "x", "collision": ["[" * 300]}, box(), "collision"),
}


def test_bad_folders_and_broken_meshes_are_skipped_and_named_and_the_others_are_read(tmp_path):
    for name, (facts, mesh, _) in BAD.items():
        make(tmp_path / "lib" / name, facts, mesh)
    broken = {"empty": "", "short": "v 1 2\nf 1 2 3", "faces": "f 1 2 3"}
    broken["nan"] = "v nan nan nan\nv 0 0 0\nv 1 1 1\nf 1 2 3"
    for name, text in broken.items():
        (make(tmp_path / "lib" / name, {"id": name, "name": "x"}) / "mesh.obj").write_text(text)
    make(tmp_path / "lib/good", {"id": "good", "name": "good"}, box())
    library = Library.open([tmp_path / "lib"])
    assert [asset.id for asset in library] == ["good"]
    skipped = {folder.name: reason for folder, reason in library.skipped}
    assert skipped.keys() == BAD.keys() | broken.keys() and not any("\n" in reason for reason in skipped.values())
    for name, why in ({name: why for name, (_, _, why) in BAD.items()} | dict.fromkeys(broken, "mesh.obj")).items():
        assert why in skipped[name], name


def test_the_same_id_twice_keeps_the_first_with_the_ranges_that_its_file_gives(tmp_path):
    for name in ("a", "b"):
        make(tmp_path / "twice" / name, {"id": "same", "name": name}, box())
    library = Library.open([tmp_path / "twice"])
    assert library["same"].name == "a" and "taken" in library.skipped[0][1]
    facts = {"id": "a", "name": "a", "mass": 0.2, "mass_range": [0.1, 0.3], "friction_range": [0.4, 0.6]}
    make(tmp_path / "ranged/a", facts, box())
    asset = Library.open([tmp_path / "ranged"])["a"]
    assert asset.mass_range == (0.1, 0.3) and asset.friction_range == (0.4, 0.6)
    make(tmp_path / "home" / "a_pack" / "same", {"id": "same", "name": "theirs"}, box())
    for instead in (False, True):
        shutil.rmtree(tmp_path / "home" / "own", ignore_errors=True)
        make(tmp_path / "home" / "own" / "same", {"id": "same", "name": "mine", "instead": instead}, box())
        library = Library.open(user_library_folders(tmp_path / "home"))
        assert library["same"].name == "mine", "a pack never hides a user's asset"
        assert len(library.skipped) == (0 if instead else 1), "what was meant to give way is not reported"


def test_unknown_ids_and_paths_are_reported_and_the_digest_follows_the_contents_not_the_place(tmp_path):
    with pytest.raises(AssetError, match="cracker_box"):
        Library.open()["crackers_box"]
    with pytest.raises(AssetError, match="folder of asset folders"):
        Library.open([tmp_path / "nowhere"])
    for place in ("one", "two"):
        make(tmp_path / place / "a", {"id": "a", "name": "a"}, box())
    one, two = (Library.open([tmp_path / place]) for place in ("one", "two"))
    assert one.digest == two.digest
    (tmp_path / "two/a/asset.json").write_text('{"id": "a", "name": "b"}')
    assert Library.open([tmp_path / "two"]).digest != one.digest


def test_categories_are_guessed_from_words():
    known = {("sim_mug", "mug"): "mug", ("ycb_sugar_box", "sugar box"): "box", ("x", "universal arm ur5e"): "arm"}
    known |= {("sim_eyeglasses", "eyeglasses"): "glasses", ("x", "gizmo"): "gizmo"}
    assert {words: guess_category(*words) for words in known} == known


def test_mass_and_friction_lie_in_their_range_and_name_their_source(tmp_path):
    for number, (facts, sources) in enumerate((
        ({"name": "tea box"}, ("category table", "category table")),
        ({"name": "gizmo"}, ("size", "category table")),
        ({"name": "tea box", "mass": 0.4, "friction": 0.9}, ("asset", "asset")),
        ({"name": "gizmo", "mass": 9.0, "friction": 1.4}, ("asset", "asset")),
        ({"mass": 1, "mass_from": "person", "friction": 1, "friction_from": "model m"}, ("person", "model m")),
    )):  # fmt: skip
        make(tmp_path / f"{number}/a", {"id": "a", **facts}, box())
        asset = Library.open([tmp_path / f"{number}"], cache=tmp_path / "cache")["a"]
        assert (asset.mass_source, asset.friction_source) == sources
        assert 0 < asset.mass_range[0] <= asset.mass <= asset.mass_range[1]
        assert 0 < asset.friction_range[0] <= asset.friction <= asset.friction_range[1]


STEPS = {
    "name": lambda asset, mine: library_edits.update_fields(asset, mine, {"name": "Father's mug"}),
    "mass": lambda asset, mine: library_edits.update_fields(asset, mine, {"mass": 0.41, "friction": 0.5}),
    "turn": lambda asset, mine: library_edits.rotate(asset, mine, "x"),
    "scale": lambda asset, mine: library_edits.scale(asset, mine, 0.2),
}


@pytest.fixture
def libraries(tmp_path) -> list[Path]:
    for id in ("red_mug", "toy_plane"):
        shutil.copytree(BUILTIN_LIBRARY / id, tmp_path / "pack" / id)
    shutil.copytree(BUILTIN_LIBRARY / "banana", tmp_path / "own" / "banana")
    return [tmp_path / "pack", tmp_path / "own"]


@pytest.mark.parametrize("id", ["red_mug", "banana"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_undo_after_any_step_gives_the_library_before_it(id, step, libraries):
    before = Library.open(libraries)
    step(before[id], libraries[1])
    after = Library.open(libraries)
    assert after.digest != before.digest and len(after) == len(before) and not after.skipped
    assert library_edits.is_own(after[id], libraries[1]) and library_edits.undo(libraries[1])
    assert Library.open(libraries).digest == before.digest
    assert not library_edits.undo(libraries[1]) and not library_edits.last_edit(libraries[1])


def test_a_users_values_have_the_source_person_and_only_own_assets_can_be_removed(libraries):
    library_edits.update_fields(Library.open(libraries)["red_mug"], libraries[1], {"name": " Best\nmug ", "mass": 0.5})
    mug = Library.open(libraries)["red_mug"]
    assert (mug.name, mug.mass, mug.mass_source) == ("Best mug", 0.5, "person")
    for wrong in ({"mass": float("nan")}, {"mass": -1}, {"friction": 9}, {"name": " "}, {"id": "x"}, {"mass": "heavy"}):
        with pytest.raises(AssetError, match=r"\A.*\Z"):
            library_edits.update_fields(mug, libraries[1], wrong)
    library_edits.remove(mug, libraries[1])
    mug = Library.open(libraries)["red_mug"]
    assert mug.name != "Best mug"
    with pytest.raises(AssetError, match="not your own"):
        library_edits.remove(mug, libraries[1])
    library_edits.undo(libraries[1])
    assert Library.open(libraries)["red_mug"].name == "Best mug"


def test_the_mass_scales_with_the_volume_and_four_quarter_turns_about_any_axis_change_nothing(libraries):
    mug = Library.open(libraries)["red_mug"]
    library_edits.scale(mug, libraries[1], 2 * float(max(mug.size)))
    larger = Library.open(libraries)["red_mug"]
    np.testing.assert_allclose(larger.size, 2 * mug.size, rtol=1e-3)
    assert larger.mass == pytest.approx(8 * mug.mass) and larger.mass_source == mug.mass_source
    made = mass_properties(asset_model(larger))
    assert made.mass == pytest.approx(larger.mass)
    before = mass_properties(asset_model(mug)).inertia
    np.testing.assert_allclose(np.diag(made.inertia), 32 * np.diag(before), rtol=0.02)
    before = Library.open(libraries)["banana"]
    vertices = load_mesh(before).vertices.copy()
    for axis in ("x", "y", "z"):
        for _ in range(4):
            library_edits.rotate(Library.open(libraries)["banana"], libraries[1], axis)
    np.testing.assert_allclose(load_mesh(Library.open(libraries)["banana"]).vertices, vertices, atol=1e-5)


LENGTH = 700


def entry(id, name="", **more):
    about = {"caption": name, "category": "box", "size": np.array([0.1, 0.1, 0.2]), "mass": 0.3, "articulated": False}
    return IndexEntry(id=id, name=name or id, **{**about, **more})


def vectors(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, LENGTH)).astype(np.float32)


@pytest.fixture
def index(tmp_path):
    with AssetIndex.open(tmp_path, "eye") as opened:
        yield opened


ENTRIES = [
    entry("white_cabinet", "white cabinet", caption="white cabinet with 3 drawers, 26 x 22 cm", category="cabinet"),
    entry("short_cabinet", "short cabinet", caption="brown cabinet with 1 drawer, 30 x 30 cm", category="cabinet"),
    entry("red_mug", "red mug", caption="a red mug", category="mug"),
    entry("candle", "white candle", caption="3 cm wide", category="candle"),
    entry("soup", "tomato soup", caption="a tin of tomato soup", category="can"),
]
CABINETS = {"white_cabinet", "short_cabinet"}


def test_words_find_assets_while_they_are_typed(index):
    index.put(ENTRIES)
    for words, found in {
        "cabinet with three drawers": {"white_cabinet"}, "drawers": CABINETS, "cupboard": CABINETS,
        "red m": {"red_mug"}, "MUGS": {"red_mug"}, "red zebra": {"red_mug"}, "zebra": set(),
        "can": {"soup", "candle"}, "tin": {"soup"}, '") OR * -': set(), "": {one.id for one in ENTRIES},
    }.items():  # fmt: skip
        page = index.search(words)
        assert page.total == len(page.ids) and set(page.ids) == found, words
        assert page.matches_all_words == (words != "red zebra")
        assert words != "can" or page.ids[0] == "soup", "a whole word comes before the beginning of one"


def test_a_picture_finds_the_most_similar_asset_that_passes_the_filter(index):
    rows = vectors(300)
    index.put(entry(f"a{k:03}", category="mug" if k % 2 else "box", vector=rows[k]) for k in range(300))
    index.put([entry("unseen"), entry("undrawable", vector=np.zeros(0))])
    noise = 0.1 * vectors(1, 1)[0]
    page = index.search(picture=rows[7] + noise, limit=5)
    assert page.ids[0] == "a007" and page.scores[0] > 0.9 and page.total == 302
    assert list(page.scores) == sorted(page.scores, reverse=True)
    assert index.search(picture=rows[7] + noise, filters=AssetFilter(category="box")).ids[0] != "a007"
    assert set(index.search(picture=np.stack([rows[7], rows[8]]), limit=2).ids) == {"a007", "a008"}


def test_pages_follow_each_other_without_gap_or_repeat(index):
    index.put(entry(f"a{k:02}", "red box", vector=v) for k, v in enumerate(vectors(23)))
    for query in ({}, {"words": "red"}, {"picture": vectors(1)[0]}):
        pages = [index.search(**query, limit=5, offset=start).ids for start in range(0, 30, 5)]
        assert sorted(sum(pages, ())) == [f"a{k:02}" for k in range(23)] and len(pages[4]) == 3 and not pages[5]


def test_filters_keep_only_assets_that_pass_them(index):
    mug = {"category": "mug", "size": np.array([0.1, 0.05, 0.05])}
    index.put([entry("a", "thing a", licence="MIT"), entry("b", "thing b", **mug)])
    index.put([entry("c", "thing c", category="can", articulated=True)])
    for words, filters, ids in (
        ("", AssetFilter(size=(0.0, 0.15)), "b"),
        ("", AssetFilter(size=(0.15, 1.0)), "ac"),
        ("", AssetFilter(category=["mug", "can"]), "bc"),
        ("", AssetFilter(licence="MIT"), "a"),
        ("", AssetFilter(articulated=True), "c"),
        ("", AssetFilter(articulated=False, size=(0.15, 1.0)), "a"),
        ("thing", AssetFilter(category="can"), "c"),
    ):
        page = index.search(words, filters=filters)
        assert "".join(sorted(page.ids)) == ids and page.total == len(ids), filters


def test_updated_and_dropped_entries_change_for_every_open_index(tmp_path):
    with AssetIndex.open(tmp_path, "eye") as one, AssetIndex.open(tmp_path, "eye") as other:
        one.put([entry("a", "red mug"), entry("b", "red box")])
        assert set(other.search("red").ids) == {"a", "b"}
        one.put([entry("a", "blue mug")])
        assert other.search("red").ids == ("b",) and other.search("blue").ids == ("a",)
        other.drop(["b", "never there"])
        assert one.search().ids == ("a",) and len(one) == 1 and not one.search("red").ids
        with pytest.raises(sqlite3.Error):
            one.put([entry("c"), entry("d", caption=object())])
        assert set(one.digests()) == set(other.digests()) == {"a"}, "all of them or none"


def test_another_encoder_and_a_file_in_place_of_the_folder_are_refused_and_a_damaged_index_replaced(tmp_path):
    with AssetIndex.open(tmp_path, "eye") as index:
        index.put([entry("a", vector=vectors(1)[0])])
        with pytest.raises(AssetError, match="700 numbers each, not 3"):
            index.search(picture=np.ones(3))
        with pytest.raises(AssetError, match="700 numbers each, not 3"):
            index.put([entry("b"), entry("c", vector=np.ones(3))])
        assert len(index) == 1
    with pytest.raises(AssetError, match="made by eye, not by ear"):
        AssetIndex.open(tmp_path, "ear")
    (tmp_path / "file").write_text("")
    with pytest.raises(AssetError, match=r"\A.*cannot be opened.*\Z"):
        AssetIndex.open(tmp_path / "file")
    for text in (b"no database at all", b"SQLite format 3\0" + bytes(5000)):
        (tmp_path / "index.db").write_bytes(text)
        with AssetIndex.open(tmp_path, "eye") as index:
            index.put([entry("a")])
            assert index.search().ids == ("a",)


def test_a_sync_continues_where_it_stopped_and_updates_only_what_changed_in_the_library(tmp_path):
    def library():
        return Library.open([tmp_path / "lib"], cache=tmp_path / "cache")

    for id, name in (("a", "tea box"), ("b", "rice box")):
        make(tmp_path / "lib" / id, {"id": id, "name": name}, box())
    with AssetIndex.open(tmp_path / "index", "plain") as index:
        steps = index.sync(library(), tmp_path / "cache", MeanColourEncoder())
        next(steps)
        next(steps)
        steps.close()  # interrupted
        assert index.search("box").total == 2 and len(index.search(picture=np.ones(3)).ids) == 1
        assert [step.total for step in index.sync(library(), tmp_path / "cache", MeanColourEncoder())] == [1]
        assert index.search("box").total == 2 and len(index.search(picture=np.ones(3)).ids) == 2
        assert not list(index.sync(library(), tmp_path / "cache", MeanColourEncoder()))  # nothing to do
        (tmp_path / "lib/a/asset.json").write_text('{"id": "a", "name": "coffee box"}')
        (tmp_path / "lib/b/mesh.obj").unlink()
        steps = list(index.sync(library(), tmp_path / "cache", MeanColourEncoder()))
        assert [step.message for step in steps] == ["read", "coffee box"]
        assert index.search("coffee").ids == ("a",) and index.search().total == 1
