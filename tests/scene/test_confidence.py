"""Fidelity and confidence fall with everything that speaks against an object, and the reason names it."""

from dataclasses import replace
from itertools import pairwise

import drawn_scene as make
import numpy as np
import pytest

from pipeline.geometry import Pose
from pipeline.matching import Candidate, Match, override_match
from pipeline.scene.confidence import object_confidences
from pipeline.scene.fidelity import compare_scene


def move_first(scene, by):
    first, *rest = scene.placements
    pose = Pose(first.world_from_object.pos + np.array(by), first.world_from_object.quat_wxyz)
    return replace(scene, placements=(replace(first, world_from_object=pose), *rest))


def match_with(*scores):
    candidates = tuple(Candidate(f"asset_{k}", score, {}, "") for k, score in enumerate(scores))
    return Match(1, "asset_0", 1.0, "", candidates)


def reconstructed(scene):
    return replace(scene, placements=tuple(replace(p, asset_id=None) for p in scene.placements))


def test_confidence_is_sure_for_a_good_fit_and_falls_with_the_distance_from_the_observation(photographed):
    scene, frame, segments = photographed
    confidences = object_confidences(frame, segments, scene, [match_with(0.95, 0.01)])
    assert len(confidences) == len(segments)
    for confidence in confidences:
        assert confidence.level == "sure" and confidence.score > 0.85
        assert confidence.reason.startswith("Everything agrees")

    def score(index, metres):
        return object_confidences(frame, segments, move_first(scene, (0, -metres, 0)), [])[index].score

    scores = [score(0, metres) for metres in (0, 0.01, 0.02, 0.04)]
    assert all(near > far + 0.02 for near, far in pairwise(scores))
    assert score(1, 0) == pytest.approx(score(1, 0.04))


def test_a_close_rival_is_named_also_without_a_chosen_asset_and_a_persons_choice_has_none(photographed):
    scene, frame, segments = photographed
    match = match_with(0.8, 0.7)
    doubtful = object_confidences(frame, segments, scene, [match])[0]
    chosen = object_confidences(frame, segments, scene, [override_match(match, "asset_1")])[0]
    assert doubtful.score < chosen.score and "asset 1" in doubtful.reason.lower()
    assert chosen.terms.rivals == 1 and chosen.level == "sure"
    rival_scores = (0.0, 0.2, 0.5, 0.8)
    scores = [object_confidences(frame, segments, scene, [match_with(0.8, s)])[0].score for s in rival_scores]
    assert all(weak > strong for weak, strong in pairwise(scores))
    unmatched = [replace(match_with(s), asset_id=None) for s in (0.05, 0.45)]
    far, near = (object_confidences(frame, segments, scene, [match])[0] for match in unmatched)
    assert far.level == "sure" and near.score < far.score and "asset 0" in near.reason


def test_a_reconstruction_is_less_sure_than_an_asset_and_where_none_fits_only_the_place_is_sure(photographed):
    scene, frame, segments = photographed
    guess = reconstructed(scene)
    asset, guessed = (object_confidences(frame, segments, one, [])[0] for one in (scene, guess))
    assert guessed.score < asset.score and 0.5 < guessed.terms.shape < 1 == asset.terms.shape
    rejected = object_confidences(frame, segments, guess, [match_with(0.99, 0.01)])[0]
    assert rejected.score < guessed.score and "does not fit what was measured" in rejected.reason
    unmatched = replace(match_with(0.05), asset_id=None)
    by_person = replace(unmatched, source="human")
    for match, why in ((unmatched, "no asset fits"), (by_person, "chosen by a person")):
        confidence = object_confidences(frame, segments, reconstructed(scene), [match])[0]
        assert confidence.level == "sure"
        assert confidence.reason.startswith("Position certain") and why in confidence.reason


def test_a_hidden_or_hardly_measured_object_is_less_sure(tmp_path):
    scene = make.scene(
        make.placement(make.box(tmp_path), "box", (0.0, 0.1)),
        make.placement(make.box(tmp_path, (0.05, 0.04, 0.12)), "wall", (0.02, -0.05), number=2),
    )
    frame, _, segments = make.photograph(scene)
    behind, before = object_confidences(frame, segments, scene, [])
    assert behind.terms.visibility < before.terms.visibility == pytest.approx(1, abs=0.03)
    without_depth = replace(frame, depth=np.where(segments[0].mask, 0, frame.depth).astype(np.float32))
    unmeasured = object_confidences(without_depth, segments, scene, [])[0]
    assert unmeasured.score == 0 and unmeasured.level == "unsure" and "0 points" in unmeasured.reason


def test_a_low_score_of_one_matcher_or_of_all_is_named(photographed):
    scene, frame, segments = photographed
    for score, scores, doubt in (
        (0.95, {"size": 1.0, "colour": 0.6}, ""),
        (0.95, {"size": 1.0, "colour": 0.4}, "colour agrees by less than half (95% in all)"),
        (0.57, {"colour": 0.4, "appearance": 0.3, "size": 1.0}, "colour and pattern agree by less than half"),
        (0.6, {"size": 1.0}, "asset 0 scores 60%"),
    ):
        match = replace(match_with(), candidates=(Candidate("asset_0", score, scores, ""),))
        for one in (match, override_match(match, "asset_0")):  # a person's choice does not make the colours agree
            confidence = object_confidences(frame, segments, scene, [one])[0]
            assert confidence.level == "sure" and doubt in confidence.reason
            assert confidence.reason.startswith("Everything agrees") == (not doubt)


def test_the_verdict_follows_the_distance_of_an_object_and_no_other(photographed):
    scene, frame, segments = photographed
    for by, verdict in (((0, 0, 0), "fits"), ((0.03, 0, 0), "different"), ((0, 5, 5), "does not show")):
        box, ball = compare_scene(frame, segments, move_first(scene, by))
        assert verdict in box.verdict and "fits" in ball.verdict
        assert (box.mask_iou > 0.99 and box.depth_error < 1e-4) == (verdict == "fits")
        assert (box.depth_error is None) == (verdict == "does not show")
        assert ball.mask_iou > 0.99 and ball.depth_error < 1e-4
