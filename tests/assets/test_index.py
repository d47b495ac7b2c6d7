"""The index finds assets by words, picture, size and category, and is kept in step with the library."""

import json
import sqlite3

import numpy as np
import pytest
import trimesh

from pipeline.assets import AssetError, Library
from pipeline.assets.index.asset_index import AssetIndex, IndexEntry
from pipeline.assets.index.columns import AssetFilter
from tests.matching.test_measured import MeanColourEncoder

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


def make(folder, name):
    folder.mkdir(parents=True)
    (folder / "asset.json").write_text(json.dumps({"id": folder.name, "name": name}))
    trimesh.creation.box((0.1, 0.06, 0.2)).export(folder / "mesh.obj")


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

    make(tmp_path / "lib/a", "tea box")
    make(tmp_path / "lib/b", "rice box")
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
