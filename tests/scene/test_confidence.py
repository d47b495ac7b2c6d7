"""How sure the studio is of an object falls with everything that speaks against it, and it says what."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scene_making as make

from pipeline.geometry import Pose
from pipeline.matching import Candidate, Match, choose
from pipeline.scene.confidence import Parts, confidence


def scene_of(tmp_path):
    return make.scene(
        make.thing(make.box(tmp_path), "box", (0.1, 0.0), yaw=0.5, asset_id="asset_0"),
        make.thing(make.ball(tmp_path), "ball", (-0.1, 0.1), number=2, asset_id="ball"),
    )


def moved(scene, by):
    first, *rest = scene.placements
    pose = Pose(first.world_from_object.pos + np.array(by), first.world_from_object.quat_wxyz)
    return replace(scene, placements=(replace(first, world_from_object=pose), *rest))


def matched(*scores):
    candidates = tuple(Candidate(f"asset_{k}", score, {}, "") for k, score in enumerate(scores))
    return Match(1, "asset_0", 1.0, "", candidates)


def test_what_lies_as_it_was_seen_and_has_no_rival_is_sure(tmp_path):
    scene = scene_of(tmp_path)
    frame, _, segments = make.photograph(scene)
    told = confidence(frame, segments, scene, [matched(0.95, 0.01)])
    assert len(told) == len(segments)
    for one in told:
        assert one.word == "sure" and one.share > 0.85
        assert one.reason.startswith("Everything agrees")


def test_the_farther_it_lies_from_what_was_seen_the_less_sure(tmp_path):
    scene = scene_of(tmp_path)
    frame, _, segments = make.photograph(scene)
    shares = [confidence(frame, segments, moved(scene, (0, -x, 0)), [])[0].share for x in (0, 0.01, 0.02, 0.04)]
    assert all(near > far + 0.02 for near, far in pairwise(shares))
    others = [confidence(frame, segments, moved(scene, (0, -x, 0)), [])[1].share for x in (0, 0.04)]
    assert others[0] == pytest.approx(others[1])


def test_a_rival_nearly_as_good_is_named_and_a_person_s_choice_has_none(tmp_path):
    scene = scene_of(tmp_path)
    frame, _, segments = make.photograph(scene)
    near = matched(0.8, 0.7)
    doubted = confidence(frame, segments, scene, [near])[0]
    chosen = confidence(frame, segments, scene, [choose(near, "asset_1")])[0]
    assert doubted.share < chosen.share and "asset 1" in doubted.reason.lower()
    assert chosen.parts.rivals == 1 and chosen.word == "sure"
    shares = [confidence(frame, segments, scene, [matched(0.8, s)])[0].share for s in (0.0, 0.2, 0.5, 0.8)]
    assert all(few > many for few, many in pairwise(shares))


def test_where_nothing_was_chosen_the_nearest_asset_is_the_rival(tmp_path):
    scene = scene_of(tmp_path)
    frame, _, segments = make.photograph(scene)
    none = [replace(matched(s), asset_id=None) for s in (0.05, 0.45)]
    far, near = (confidence(frame, segments, scene, [one])[0] for one in none)
    assert far.word == "sure" and near.share < far.share and "asset 0" in near.reason


def test_what_was_made_from_the_view_is_less_sure_than_an_asset_that_lies_as_well(tmp_path):
    scene = scene_of(tmp_path)
    frame, _, segments = make.photograph(scene)
    made = replace(scene, placements=tuple(replace(p, asset_id=None) for p in scene.placements))
    asset, guessed = (confidence(frame, segments, one, [])[0] for one in (scene, made))
    assert guessed.share < asset.share and 0.5 < guessed.parts.known < 1 == asset.parts.known
    belied = confidence(frame, segments, made, [matched(0.99, 0.01)])[0]
    assert belied.share < guessed.share and "does not fit what was measured" in belied.reason


def test_what_is_hidden_or_hardly_measured_is_less_sure(tmp_path):
    scene = make.scene(
        make.thing(make.box(tmp_path), "box", (0.0, 0.1)),
        make.thing(make.box(tmp_path, (0.05, 0.04, 0.12)), "wall", (0.02, -0.05), number=2),
    )
    frame, _, segments = make.photograph(scene)
    behind, before = confidence(frame, segments, scene, [])
    assert behind.parts.shows < before.parts.shows == pytest.approx(1, abs=0.03)
    blind = replace(frame, depth=np.where(segments[0].mask, 0, frame.depth).astype(np.float32))
    unmeasured = confidence(blind, segments, scene, [])[0]
    assert unmeasured.share == 0 and unmeasured.word == "unsure" and "0 points" in unmeasured.reason


def test_every_part_and_the_share_stay_between_nothing_and_all(tmp_path):
    scene = scene_of(tmp_path)
    frame, _, segments = make.photograph(scene)
    away = moved(scene, (0, 5.0, 5.0))
    for at in (scene, away):
        for one in confidence(frame, segments, at, [matched(1.0, 1.0)]):
            assert 0 <= one.share <= 1
            assert all(0 <= getattr(one.parts, name) <= 1 for name in Parts.__annotations__)
    assert confidence(frame, segments, away, [])[0].word == "unsure"


@pytest.mark.parametrize(
    ("score", "scores", "said"),
    [
        (0.95, {"size": 1.0, "colour": 0.6}, ""),
        (0.95, {"size": 1.0, "colour": 0.4}, "colour agrees by less than half (95% in all)"),
        (0.57, {"colour": 0.4, "appearance": 0.3, "size": 1.0}, "colour and pattern agree by less than half"),
        (0.6, {"size": 1.0}, "asset 0 scores 60%"),
    ],
)
def test_not_everything_agrees_where_one_matcher_or_all_together_disagree(tmp_path, score, scores, said):
    scene = scene_of(tmp_path)
    frame, _, segments = make.photograph(scene)
    match = replace(matched(), candidates=(Candidate("asset_0", score, scores, ""),))
    for one in (match, choose(match, "asset_0")):  # a person's word does not make the colours agree
        found = confidence(frame, segments, scene, [one])[0]
        assert found.word == "sure" and said in found.reason
        assert found.reason.startswith("Everything agrees") == (not said)


def test_where_no_asset_fits_it_is_said_that_only_the_place_is_sure(tmp_path):
    scene = scene_of(tmp_path)
    frame, _, segments = make.photograph(scene)
    made = replace(scene, placements=tuple(replace(p, asset_id=None) for p in scene.placements))
    none = replace(matched(0.05), asset_id=None)
    wanted = replace(none, source="human")
    for match, said in ((none, "no asset fits"), (wanted, "as a person chose")):
        found = confidence(frame, segments, made, [match])[0]
        assert found.word == "sure"
        assert found.reason.startswith("Sure of its place") and said in found.reason
