"""Evidence, confidence and previews agree with the photograph, and the reason names what speaks against an object."""

import json
from dataclasses import replace
from itertools import pairwise

import drawn_scene as make
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.description.physical_properties import PhysicalEstimate
from pipeline.geometry import Pose
from pipeline.matching import Candidate, Match, override_match
from pipeline.scene import SceneError, fidelity
from pipeline.scene.confidence import object_confidences
from pipeline.scene.evidence import Evidence, doubts, measure_evidence, size_ratio, summarise
from pipeline.scene.fidelity import compare_scene
from pipeline.scene.mjcf import builder
from pipeline.scene.preview import candidate_preview
from pipeline.scene.preview.pose_preview import PosePreview

SIZES = ((0.07, 0.05, 0.1), (0.08, 0.06, 0.14), (0.06, 0.06, 0.06), (0.09, 0.05, 0.07))
PLACES = ((-0.15, 0.0), (0.0, 0.12), (0.14, -0.02), (0.05, -0.15))
COLOURS = ((200, 40, 40), (40, 160, 60), (50, 70, 200), (220, 200, 60))


@pytest.fixture(scope="module")
def table(tmp_path_factory, library):
    folder = tmp_path_factory.mktemp("evidence")
    boxes = [make.box(folder, size) for size in SIZES]
    turned = [{"yaw": 0.4 * n, "number": n + 1, "rgb": COLOURS[n]} for n in range(4)]
    scene = make.scene(*(make.placement(boxes[n], f"box_{n}", PLACES[n], **turned[n]) for n in range(4)))
    return make.inputs(scene, library, folder), scene


def measure(table, change=lambda depth: depth, **more):
    """Return the evidence for a twin, (inputs, scene), of its photograph after a change of its depth."""
    inputs, scene = table
    frame = inputs.observation.frame
    frame = replace(frame, depth=np.ascontiguousarray(change(frame.depth)), **more)
    inputs = replace(inputs, observation=replace(inputs.observation, frame=frame))
    return measure_evidence(inputs, scene, builder.compile_spec(builder.build_spec(scene)))


def test_a_twin_of_its_own_photograph_explains_it_but_depth_of_another_or_a_ground_hardly_likelier_are_doubted(table):
    found = measure(table)
    assert not doubts(found) and found.explained > 0.98 and found.standing > 0.98 and found.missing == 0
    assert found.depth_error is not None and found.depth_error < 1e-3 and found.edges is not None and found.edges > 2
    assert found.grounds[0] > 0.9 and not found.unexplained[5:-5, 5:-5].mean() > 0.01
    kept = json.loads(json.dumps(found.to_json()))
    again = Evidence.from_json(kept)
    assert again is not None and again.to_json() == kept and summarise(again) == summarise(found)
    for broken in (None, [], {}, kept | {"explained": "much"}, kept | {"grounds": 3}, kept | {"objects": [1]}):
        assert Evidence.from_json(broken) is None
    for change, term in (
        (lambda depth: depth[::-1], "depth"),
        (lambda depth: np.roll(depth, (14, 17), (0, 1)), "edges"),
        (lambda depth: np.where(np.arange(240)[:, None] < 150, depth, 0.9 * depth), "explained"),
    ):
        assert term in doubts(measure(table, change)), term
    assert "choose it on the Frame page" in doubts(replace(found, grounds=(0.5, 0.45)))["ground"]
    assert not doubts(replace(found, grounds=(0.7, 0.3)))
    assert measure(table, ground_pixel=(100, 200)).grounds == ()


def test_a_twin_without_its_objects_with_others_or_elsewhere_is_doubted(table):
    inputs, scene = table
    half = measure((inputs, replace(scene, placements=scene.placements[:2])))
    assert half.missing == 2 and list(doubts(half)) == ["explained"] and "lack: 2" in doubts(half)["explained"]
    assert half.unexplained.sum() > 200, "what is missing shows in the picture"
    assert "nothing stands" in doubts(measure((inputs, replace(scene, placements=()))))["explained"]
    poses = [
        Pose(np.add(p.world_from_object.pos, [0, 0.07, 0]), p.world_from_object.quat_wxyz) for p in scene.placements
    ]
    moved = [replace(p, world_from_object=pose) for p, pose in zip(scene.placements, poses, strict=True)]
    elsewhere = measure((inputs, replace(scene, placements=tuple(moved))))
    assert {"objects", "depth"} & set(doubts(elsewhere)) and "outline agrees" in elsewhere.objects["box_0"]
    huge = replace(moved[0], size=np.array(SIZES[0]) * 6)
    wall = measure((inputs, replace(scene, placements=(huge, *scene.placements[1:]))))
    assert "rather a wall" in wall.objects["box_0"] and "box_3" not in wall.objects


@pytest.mark.parametrize("factor, doubtful", [(1.0, False), (1.3, False), (2.0, True), (0.4, True), (10.0, True)])
def test_sizes_are_compared_with_assets_that_look_alike_and_a_wrong_unit_is_doubted(table, library, factor, doubtful):
    inputs, scene = table
    likes = [(0.8, 0.9), (0.3, 0.3), (0.0, 0.9)]  # of the right asset, of another one, and of one that is not alike
    matches, descriptions = [], []
    for number, described in enumerate(inputs.descriptions):
        asset = library.assets[number]
        others = [asset, *library.assets[-2:]]
        pairs = zip(others, likes, strict=True)
        alike = tuple(Candidate(one.id, 0.5, {"picture": p, "appearance": a}, "") for one, (p, a) in pairs)
        matches.append(Match(described.segment_id, None, 1.0, "", alike))
        size = np.array(asset.size) * factor
        descriptions.append(replace(described, attributes=replace(described.attributes, size=size)))
    assert size_ratio(descriptions, matches, library) == pytest.approx(factor)
    found = measure((replace(inputs, matches=matches, descriptions=descriptions), scene))
    assert ("sizes" in doubts(found)) == doubtful
    assert size_ratio(descriptions, [replace(one, candidates=()) for one in matches], library) is None


@pytest.mark.parametrize("factor, doubtful", [(1.0, False), (1.2, False), (2.5, True), (0.4, True), (3.0, True)])
def test_a_models_range_of_lengths_judges_the_unit_and_each_object_before_assets_do(table, library, factor, doubtful):
    inputs, scene = table
    descriptions, placements = [], []
    for described, p in zip(inputs.descriptions, scene.placements, strict=True):
        ends = (0.8 * max(p.size), 1.25 * max(p.size))
        said = PhysicalEstimate(0.2, (0.1, 0.4), 0.5, (0.3, 0.7), ends, "steel", "model seer")
        attributes = replace(described.attributes, size=factor * p.size)
        descriptions.append(replace(described, attributes=attributes, physical=said))
        placements.append(replace(p, size=factor * p.size, length_range=ends, length_source="model seer"))
    found = size_ratio(descriptions, [], library)
    assert found == pytest.approx(1 if factor < 1.25 and factor > 0.8 else factor / (1.25 if factor > 1 else 0.8))
    inputs = replace(inputs, descriptions=descriptions, matches=[])
    judged = measure((inputs, scene))
    assert ("sizes" in doubts(judged)) == doubtful
    one = measure((inputs, replace(scene, placements=(placements[0], *scene.placements[1:])))).objects
    assert ("but such objects are" in one.get("box_0", "") and "says model seer" in one["box_0"]) == doubtful


def move_first(scene, by):
    first, *rest = scene.placements
    pose = Pose(first.world_from_object.pos + np.array(by), first.world_from_object.quat_wxyz)
    return replace(scene, placements=(replace(first, world_from_object=pose), *rest))


def match_with(*scores):
    candidates = tuple(Candidate(f"asset_{k}", score, {}, "") for k, score in enumerate(scores))
    return Match(1, "asset_0", 1.0, "", candidates)


def test_confidence_and_verdict_follow_the_distance_of_an_object_from_the_observation_and_of_no_other(photographed):
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
    for by, verdict in (((0, 0, 0), "fits"), ((0.03, 0, 0), "different"), ((0, 5, 5), "does not show")):
        box, ball = compare_scene(frame, segments, move_first(scene, by))
        assert verdict in box.verdict and "fits" in ball.verdict
        assert (box.mask_iou > 0.99 and box.depth_error < 1e-4) == (verdict == "fits")
        assert (box.depth_error is None) == (verdict == "does not show")
        assert ball.mask_iou > 0.99 and ball.depth_error < 1e-4


def test_a_close_rival_and_a_low_score_are_named_but_a_persons_choice_has_no_rival(photographed):
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
    for value, terms, doubt in (
        (0.95, {"size": 1.0, "colour": 0.6}, ""),
        (0.95, {"size": 1.0, "colour": 0.4}, "colour agrees by less than half (95% in all)"),
        (0.57, {"colour": 0.4, "appearance": 0.3, "size": 1.0}, "colour and pattern agree by less than half"),
        (0.6, {"size": 1.0}, "asset 0 scores 60%"),
    ):
        match = replace(match_with(), candidates=(Candidate("asset_0", value, terms, ""),))
        for one in (match, override_match(match, "asset_0")):  # a person's choice does not make the colours agree
            confidence = object_confidences(frame, segments, scene, [one])[0]
            assert confidence.level == "sure" and doubt in confidence.reason
            assert confidence.reason.startswith("Everything agrees") == (not doubt)


def test_a_reconstruction_is_less_sure_than_an_asset_and_where_none_fits_only_the_place_is_sure(photographed):
    scene, frame, segments = photographed
    guess = replace(scene, placements=tuple(replace(p, asset_id=None) for p in scene.placements))
    asset, guessed = (object_confidences(frame, segments, one, [])[0] for one in (scene, guess))
    assert guessed.score < asset.score and 0.5 < guessed.terms.shape < 1 == asset.terms.shape
    rejected = object_confidences(frame, segments, guess, [match_with(0.99, 0.01)])[0]
    assert rejected.score < guessed.score and "does not fit what was measured" in rejected.reason
    for dissent, overruled in (("eyes-1 chose none of them (90% sure)", ""), ("", "a mug, chosen by eyes-1, lies far")):
        told = replace(guess, placements=tuple(replace(p, overruled=overruled) for p in guess.placements))
        match = replace(match_with(0.99, 0.01), dissent=dissent, source="measured" if dissent else "eyes-1")
        disagreed = object_confidences(frame, segments, told, [match])[0]
        assert disagreed.level == "unsure" and (dissent or overruled) in disagreed.reason
    unmatched = replace(match_with(0.05), asset_id=None)
    by_person = replace(unmatched, source="human")
    for match, why in ((unmatched, "no asset fits"), (by_person, "chosen by a person")):
        confidence = object_confidences(frame, segments, guess, [match])[0]
        assert confidence.level == "sure"
        assert confidence.reason.startswith("Position certain") and why in confidence.reason


def behind_a_wall(tmp_path, at, **more):
    box = make.placement(make.box(tmp_path), "box", (0.0, 0.1), **more)
    return make.scene(box, make.placement(make.box(tmp_path, (0.05, 0.04, 0.12)), "wall", at, number=2))


def test_a_hidden_or_hardly_measured_object_is_less_sure(tmp_path):
    scene = behind_a_wall(tmp_path, (0.02, -0.05))
    frame, _, segments = make.photograph(scene)
    behind, before = object_confidences(frame, segments, scene, [])
    assert behind.terms.visibility < before.terms.visibility == pytest.approx(1, abs=0.03)
    without_depth = replace(frame, depth=np.where(segments[0].mask, 0, frame.depth).astype(np.float32))
    unmeasured = object_confidences(without_depth, segments, scene, [])[0]
    assert unmeasured.score == 0 and unmeasured.level == "unsure" and "0 points" in unmeasured.reason


def render(scene, frame, segments, which=0, **changed):
    p = replace(scene.placements[which], **changed)
    camera, mask = scene.world_from_camera, segments[which].mask
    return candidate_preview.draw_candidate(frame, camera, mask, p.mesh, p.size, p.world_from_object)


def test_a_candidate_covers_its_mask_in_the_photographs_brightness_within_its_window_and_outline(tmp_path):
    scene = behind_a_wall(tmp_path, (0.03, -0.05), yaw=0.5, rgb=(90, 90, 90))
    frame, _, segments = make.photograph(scene)
    for which in (0, 1):
        assert render(scene, frame, segments, which).overlap > 0.95
    rendering = render(scene, frame, segments)
    wall = segments[1].mask[candidate_preview.crop_window(segments[0].mask).slices]
    zoom = rendering.rgba.shape[0] / wall.shape[0]
    rows, columns = np.nonzero(wall)
    middle = rendering.rgba[(rows * zoom).astype(int).clip(0), (columns * zoom).astype(int), 3]
    assert len(middle) and (middle > 128).mean() < 0.1
    rendering = rendering.rgba
    assert rendering[rendering[..., 3] > 200][:, :3].mean() == pytest.approx(90, abs=6)
    for segment in segments:
        view = candidate_preview.crop_window(segment.mask)
        assert segment.mask[view.slices].sum() == segment.mask.sum()
        assert view.width / view.height == pytest.approx(candidate_preview.ASPECT, abs=0.03)
        assert candidate_preview.remove_object(frame, segment.mask).shape == (view.height, view.width, 3)
    full = candidate_preview.crop_window(np.ones((240, 320), bool))
    assert (full.left, full.top, full.width, full.height) == (0, 0, 320, 240)
    with pytest.raises(SceneError, match="the mask is empty"):
        candidate_preview.crop_window(np.zeros((240, 320), bool))
    shown = render(scene, frame, segments, 1).rgba[..., 3] > 128
    (around,) = candidate_preview.outline_polygons(shown)
    points = np.array(around) * [candidate_preview.IMAGE_WIDTH, shown.shape[0]]
    rows, columns = np.nonzero(shown)
    np.testing.assert_allclose(points.min(0), [columns.min(), rows.min()], atol=2)
    np.testing.assert_allclose(points.max(0), [columns.max(), rows.max()], atol=2)


def with_ball(tmp_path):
    return make.scene(
        make.placement(make.box(tmp_path), "box", (0.1, -0.02), yaw=0.5),
        make.placement(make.ball(tmp_path), "ball", (0.11, 0.07), number=2),
    )


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(("by", "turn", "scale"), [
    ((0, 0, 0), 0, 1), ((0.02, 0, 0), 0.3, 1), ((-0.01, 0.02, 0.01), 0, 1.4), ((0, 0, 0), 1.0, 0.6),
])  # fmt: skip
def test_a_preview_agrees_with_a_rebuilt_twin(tmp_path, monkeypatch, index, by, turn, scale):
    monkeypatch.setattr(fidelity, "MAX_RAYS", 10**6)
    scene = with_ball(tmp_path)
    frame, _, segments = make.photograph(scene)
    start = scene.placements[index].world_from_object
    rotation = Rotation.from_rotvec([0.2 * turn, 0, turn]).as_matrix() @ start.rotation
    pose = Pose.from_rotation(start.pos + np.array(by), rotation)
    preview = PosePreview(frame, scene).fidelity_at(segments[index], pose, scale)
    placements, p = list(scene.placements), scene.placements[index]
    placements[index] = replace(p, world_from_object=pose, size=p.size * scale / p.scale, scale=scale)
    rebuilt = fidelity.compare_scene(frame, segments, replace(scene, placements=tuple(placements)))[index]
    assert preview.mask_iou == pytest.approx(rebuilt.mask_iou, abs=0.03)
    assert preview.depth_error == pytest.approx(rebuilt.depth_error, abs=5e-4)


def test_previews_do_not_affect_each_other_and_a_twin_equals_its_own_rendering(tmp_path):
    scene = with_ball(tmp_path)
    frame, _, segments = make.photograph(scene)
    preview, poses = PosePreview(frame, scene), [p.world_from_object for p in scene.placements]
    first = preview.fidelity_at(segments[0], poses[0], 1.0)
    preview.fidelity_at(segments[1], Pose(poses[0].pos, poses[1].quat_wxyz), 3.0)
    assert preview.fidelity_at(segments[0], poses[0], 1.0) == first and first.mask_iou > 0.97
    quat = np.array([1.0, 0, 0, 0])
    for pos in ([5.0, 5, 0], [0.1, -3, 2], [0.1, -0.6, 0.5]):
        assert preview.fidelity_at(segments[0], Pose(np.array(pos), quat), 1.0).mask_iou < 0.2
    with pytest.raises(SceneError, match="is not in the twin"):
        preview.fidelity_at(replace(segments[0], id=9), Pose.identity(), 1.0)
    assert np.nanmax(np.abs(fidelity.depth_difference(frame, scene))) < 1e-4
    box = scene.placements[0]
    nearer = Pose(box.world_from_object.pos - np.array([0, 0.02, 0]), box.world_from_object.quat_wxyz)
    moved = fidelity.depth_difference(frame, replace(scene, placements=(replace(box, world_from_object=nearer),)))
    assert np.nanquantile(moved, 0.01) < -0.01
