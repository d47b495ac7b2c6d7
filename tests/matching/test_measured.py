"""Objects are matched to the assets they show, by views drawn again and the colours of variants, or to none."""

import json
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.appearance.encoder import TRAINED_ENCODER, load_encoder
from pipeline.assets.appearance.features import LibraryFeatures, ViewDescriptors
from pipeline.description import Description, describe_all
from pipeline.frame import Observation, find_support, load
from pipeline.matching import IndexedLibrary, Query, calibration_warning, from_json, measured, query_view, to_json
from pipeline.matching.calibration import match_confidence
from pipeline.matching.measured import MIN_CONFIDENCE, match, match_all, override_match
from pipeline.matching.retrieval import ScoredView, best_views, reorder_colour_variants
from pipeline.matching.similarity import MAX_SCALE, MIN_SCALE, embed_query, spatial_colour_similarity
from pipeline.resources import SAMPLE_SCENES
from pipeline.segmentation import Segment, decode_rle

SCENES = ["kitchen", "pantry"]


def truth(name):
    return json.loads((SAMPLE_SCENES / name / "expected.json").read_text())["objects"]


def observed(name):
    """Return the observation, the true segments, their descriptions and the labels of a sample scene."""
    frame, labels = load(SAMPLE_SCENES / name), truth(name)
    segments = [Segment(k + 1, decode_rle(label["mask"])) for k, label in enumerate(labels)]
    support = find_support(frame)
    return Observation(frame, support), segments, describe_all(frame, support, segments), labels


@pytest.fixture(scope="module")
def library():
    used = {label["asset_id"] for name in SCENES for label in truth(name)}
    spare = {"toy_plane", "hammer", "blue_bin", "raisin_box", "pear", "purple_cube"}
    return Library(tuple(asset for asset in Library.open() if asset.id in used | spare))


@pytest.fixture(scope="module")
def features(library, tmp_path_factory):
    return LibraryFeatures.compute(library, tmp_path_factory.mktemp("features"))


@pytest.fixture(scope="module")
def network():
    return load_encoder("embedded")


@pytest.fixture(scope="module", params=SCENES)
def scene(request, library, features):
    observation, segments, descriptions, labels = observed(request.param)
    matches = tuple(match_all(observation, segments, descriptions, IndexedLibrary(library, features)))
    return observation, segments, descriptions, labels, matches


def test_objects_are_matched_to_the_assets_they_were_made_from_with_reasons_and_scores_within_bounds(scene):
    observation, segments, descriptions, labels, matches = scene
    for segment, description, label in zip(segments, descriptions, labels, strict=True):
        width, height = query_view(Query(observation, segment, description)).descriptors.extents[0]
        assert 0.6 * min(label["size"]) < min(width, height)
        assert max(width, height) < 1.2 * np.linalg.norm(label["size"])
    assert [m.segment_id for m in matches] == [k + 1 for k in range(len(labels))]
    pairs = [(label["asset_id"], found) for found, label in zip(matches, labels, strict=True)]
    assert np.mean([found.asset_id == id for id, found in pairs]) >= 0.8, pairs
    assert np.mean([id in [one.asset_id for one in found.candidates[:5]] for id, found in pairs]) >= 0.9
    for found in matches:
        scores = [candidate.score for candidate in found.candidates]
        assert found.source == "measured" and found.reason and scores == sorted(scores, reverse=True)
        assert 1 <= len(scores) <= 8
        for candidate in found.candidates:
            assert set(candidate.scores) == {"size", "shape", "colour", "appearance"} and candidate.reason
            assert all(0 <= value <= 1 for value in (candidate.score, *candidate.scores.values()))
            assert MIN_SCALE <= candidate.scale <= MAX_SCALE


def test_nothing_is_matched_where_the_right_assets_are_missing_or_to_what_is_no_object(scene, library, features):
    observation, segments, descriptions, *_ = scene
    first = descriptions[0]
    background = Description(first.segment_id, False, first.name, first.caption, first.attributes)
    assert match(Query(observation, segments[0], background), IndexedLibrary(library, features)).asset_id is None
    assert "empty" in match(Query(observation, segments[0], first), IndexedLibrary.build(Library(()))).reason
    odd = Library(tuple(library[id] for id in ("toy_plane", "hammer")))
    matches = match_all(observation, segments, descriptions, IndexedLibrary.build(odd))
    assert all(m.asset_id is None for m in matches)


def test_matches_are_read_back_from_json_and_an_override_keeps_their_candidates(scene):
    *_, matches = scene
    assert to_json(from_json(json.loads(json.dumps(to_json(matches))))) == to_json(matches)
    bare = {"segment_id": 1, "asset_id": None, "scale": 1, "reason": "", "candidates": [{"asset_id": "a", "score": 1}]}
    assert from_json([bare])[0].candidates[0].asset_id == "a"
    chosen = override_match(matches[0], matches[0].candidates[-1].asset_id)
    assert chosen.source == "human" and chosen.scale == matches[0].candidates[-1].scale
    assert chosen.candidates == matches[0].candidates and override_match(matches[0], None).asset_id is None
    assert override_match(chosen, None).machine == chosen.machine == (matches[0].asset_id, matches[0].source)


def test_the_encoder_ignores_pixels_outside_the_mask(network):
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 255, (network.pixels, network.pixels, 3), np.uint8)
    mask = np.zeros(picture.shape[:2], bool)
    mask[20:90, 30:100] = True
    other = np.where(mask[..., None], picture, rng.integers(0, 255, picture.shape, np.uint8)).astype(np.uint8)
    vectors = network.encode(np.stack([picture, other]), np.stack([mask, mask]))
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_with_an_encoder_objects_of_one_shape_are_distinguished(library, network):
    """The pantry holds objects that shape, size and colour do not tell apart."""
    some = Library(tuple(library[id] for id in sorted({label["asset_id"] for label in truth("pantry")})))
    indexed = IndexedLibrary.build(some, network)
    observation, segments, descriptions, labels = observed("pantry")
    found = list(match_all(observation, segments, descriptions, indexed))
    assert np.mean([m.asset_id == t["asset_id"] for m, t in zip(found, labels, strict=True)]) >= 0.8
    assert all(0 <= c.scores["picture"] <= 1 for m in found for c in m.candidates)
    assert all(m.confidence is not None and 0 < m.confidence < 1 for m in found)
    unproved = [m for m in found if "of the print agree" not in m.reason]
    assert all((m.asset_id is not None) == (m.confidence >= MIN_CONFIDENCE) for m in unproved)
    assert [m.confidence for m in from_json(to_json(found))] == [m.confidence for m in found]
    assert override_match(found[0], None).confidence is None
    alone = match(Query(observation, segments[0], descriptions[0]), indexed, "embedding")
    assert alone.candidates[0].asset_id == labels[0]["asset_id"]


def test_features_of_another_encoder_and_no_encoders_are_refused(scene, library, features, network, tmp_path):
    observation, segments, descriptions, *_ = scene
    query = Query(observation, segments[0], descriptions[0])
    with pytest.raises(AssetError, match="no encoder; compute them again"):
        match(query, IndexedLibrary(library, features, network))
    with pytest.raises(AssetError, match="none is chosen; set GRS_ENCODER=embedded"):
        match(query, IndexedLibrary(library, features), "embedding")
    with pytest.raises(AssetError, match="made by another; compute them again"):
        match(query, IndexedLibrary(library, replace(features, encoder="another"), network))
    with pytest.raises(AssetError, match="there is no encoder odd; available: embedded, none"):
        load_encoder("odd")
    with pytest.raises(AssetError, match=r"cannot be loaded|needs torch and transformers|needs transformers"):
        load_encoder(str(tmp_path / "nowhere"))
    warnings = [calibration_warning(SimpleNamespace(name=name)) for name in (TRAINED_ENCODER, "clip x")]  # type: ignore[arg-type]
    assert calibration_warning(None) == warnings[0] == ""
    assert f"uncalibrated: the weights and thresholds were fitted for {TRAINED_ENCODER}, not for clip x." in warnings[1]


def test_features_are_cached_and_damaged_ones_are_computed_again(tmp_path):
    small = Library(Library.open().assets[:2])
    first = LibraryFeatures.compute(small, tmp_path)
    file = sorted((tmp_path / "looks").iterdir())[0]
    np.testing.assert_array_equal(LibraryFeatures.compute(small, tmp_path).descriptors.mask, first.descriptors.mask)
    file.write_bytes(b"half")
    np.testing.assert_array_equal(LibraryFeatures.compute(small, tmp_path).descriptors.mask, first.descriptors.mask)


@pytest.mark.soak
def test_a_clip_from_a_folder_encodes_pictures_under_their_masks(tmp_path):
    import torch
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    thin = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = CLIPConfig(text_config=dict(thin), vision_config=thin | {"patch_size": 32}, projection_dim=24)
    torch.manual_seed(0)
    CLIPModel(config).save_pretrained(tmp_path / "clip")
    CLIPImageProcessor().save_pretrained(tmp_path / "clip")
    loaded = load_encoder(str(tmp_path / "clip"))
    assert loaded is not None and loaded.name.startswith("clip ") and str(tmp_path) not in loaded.name
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, (13, loaded.pixels, loaded.pixels, 3)).astype(np.uint8)
    vectors = loaded.encode(pictures, np.ones(pictures.shape[:3], bool))
    assert vectors.shape == (13, 24) and vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    half = np.zeros(pictures.shape[:3], bool)
    half[:, :100] = True
    other = pictures.copy()
    other[:, 100:] = 7  # outside the mask nothing counts
    np.testing.assert_allclose(loaded.encode(pictures, half), loaded.encode(other, half), atol=1e-6)


class MeanColourEncoder:
    name, pixels, centred = "plain", 16, True

    def encode(self, rgb, masks):
        share = masks[..., None] / np.maximum(masks.sum(axis=(1, 2)), 1)[:, None, None, None]
        return (rgb * share).sum(axis=(1, 2)).astype(np.float32) - 100


@pytest.fixture(scope="module")
def retrieved(query):
    encoder = MeanColourEncoder()
    library = Library(tuple(a for a in Library.open() if a.id in {"red_cube", "blue_cube", "banana"}))
    indexed = IndexedLibrary.build(library, encoder)
    view = query_view(query, encoder.pixels)
    view = replace(view, embedding=embed_query(view, indexed.features, encoder))
    best = best_views(view, indexed, query.description.attributes.shape, "all", 8)
    return SimpleNamespace(view=view, indexed=indexed, best=best)


def test_the_first_candidates_are_scored_by_new_views_unless_one_is_clear_or_none_likely(retrieved, monkeypatch):
    monkeypatch.setattr(measured, "is_clear", lambda _: False)
    monkeypatch.setattr(measured, "MIN_RERANK_PROBABILITY", 0.0)
    before = retrieved.best
    after = measured.rerank_views(retrieved.view, retrieved.indexed, before)
    assert {one.view for one in after} == {one.view for one in before}
    assert [one.score for one in after] == sorted((one.score for one in after), reverse=True)
    assert all(set(one.terms) == set(before[0].terms) and 0 <= one.score <= 1 for one in after)
    assert {one.view: one.terms for one in after} != {one.view: one.terms for one in before}
    monkeypatch.setattr(measured, "render_views", Mock(side_effect=AssetError("its mesh is gone")))
    after = measured.rerank_views(retrieved.view, retrieved.indexed, before)
    assert after == sorted(before, key=lambda one: -one.score), "what cannot be rendered keeps its score"
    monkeypatch.undo()
    monkeypatch.setattr(measured, "render_views", lambda *_, **__: pytest.fail("it was rendered"))
    first, *rest = retrieved.best
    assert match_confidence(9, 0) > match_confidence(9, 9) > match_confidence(1, 9)
    assert 0 < match_confidence(0, 1e9) < match_confidence(1e9, 0) < 1
    for score in (0.99, measured.MIN_RERANK_PROBABILITY / 2):
        before = [first._replace(score=score), *(one._replace(score=0.01) for one in rest)]
        assert measured.rerank_views(retrieved.view, retrieved.indexed, before) == before


def test_coloured_light_does_not_change_the_spatial_colour_similarity(retrieved):
    query = retrieved.view.descriptors
    views = retrieved.indexed.features.descriptors.take(np.arange(20))
    tinted = ViewDescriptors(*(getattr(query, name) for name in ViewDescriptors.__dataclass_fields__))
    tinted = replace(tinted, thumb=query.thumb.astype(np.float32) + np.array([6.0, -9, 12], np.float32))
    plain = spatial_colour_similarity(query, views)
    np.testing.assert_allclose(spatial_colour_similarity(tinted, views), plain, atol=2e-3)
    assert np.ptp(plain) > 0.05, "it tells views apart"


FIT = {"scale": 1.0, "outline": 0.9, "relief": 0.8}
PALE = FIT | {"colour": 0.01, "appearance": 0.76, "picture": 0.82}
RED = FIT | {"colour": 0.8, "appearance": 0.69, "picture": 0.77}


def reordered(*assets, terms=(PALE, RED)):
    """Return ids and scores after reordering candidates that were ranked in the given order."""
    count = len(assets)
    features = SimpleNamespace(
        owner=list(range(count)), ids=tuple(asset.id for asset in assets), up=np.zeros(count, int),
        descriptors=SimpleNamespace(extents=np.ones((count, 2))),
    )  # fmt: skip
    indexed = IndexedLibrary(Library(tuple(assets)), features)  # type: ignore[arg-type]
    scores = (0.97, 0.95, 0.3)
    before = [ScoredView(view, scores[view], terms[min(view, 1)]) for view in range(len(assets))]
    after = reorder_colour_variants(before, indexed)
    return [features.ids[one.view] for one in after], [one.score for one in after]


@pytest.fixture(scope="module")
def mug():
    return Library.open()["red_mug"]


@pytest.mark.parametrize(
    ("pale", "red", "first"),
    [
        ({"scale": 0.9, "colour": 0.07}, {"scale": 1.0, "colour": 0.36, "relief": 0.6}, "red"),
        ({"scale": 1.08, "colour": 0.1, "picture": 0.52}, {"scale": 1.9, "colour": 0.27, "picture": 0.61}, "pale"),
        ({"scale": 1.08, "colour": 0.1, "picture": 0.52}, {"scale": 1.08, "colour": 0.27, "picture": 0.61}, "red"),
    ],
    ids=["a like relief", "a size that the twin cannot scale to", "a fitting size"],
)
def test_colour_counts_beside_relief_and_size(mug, pale, red, first):
    box = replace(mug, id="box", category="box")
    assert reordered(replace(mug, id="pale"), replace(mug, id="red")) == (["red", "pale"], [0.97, 0.95])
    ids, scores = reordered(replace(mug, id="pale"), box, replace(mug, id="red"))
    assert ids == ["red", "box", "pale"] and scores == [0.97, 0.95, 0.3], "the one between them keeps its rank"
    like = FIT | {"appearance": 0.7, "picture": 0.9}
    assert reordered(replace(mug, id="pale"), replace(mug, id="red"), terms=(like | pale, like | red))[0][0] == first


@pytest.mark.parametrize("other", ["another shape", "another category", "not hollow", "best colours first"])
def test_other_candidates_keep_their_order(mug, other):
    first, second = replace(mug, id="pale"), replace(mug, id="red")
    terms = (RED, PALE) if other == "best colours first" else (PALE, RED)
    if other == "another shape":
        terms = (PALE, RED | {"relief": 0.2, "outline": 0.5})
    elif other == "another category":
        second = replace(second, category="bowl")
    elif other == "not hollow":
        first, second = (replace(one, category="box") for one in (first, second))
    assert reordered(first, second, terms=terms) == (["pale", "red"], [0.97, 0.95])
