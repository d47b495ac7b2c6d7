"""An object tried elsewhere agrees as it would if the twin were built that way."""

from dataclasses import replace

import numpy as np
import pytest
import scene_making as make
from scipy.spatial.transform import Rotation

from pipeline.geometry import Pose
from pipeline.scene import SceneError, fidelity
from pipeline.scene.trial import Trial


def table(tmp_path):
    """A ball half behind a box."""
    return make.scene(
        make.thing(make.box(tmp_path), "box", (0.1, -0.02), yaw=0.5),
        make.thing(make.ball(tmp_path), "ball", (0.11, 0.07), number=2),
    )


def rebuilt(frame, segments, scene, index, pose, scale):
    """The long way: the twin built with the object there."""
    placed = list(scene.placements)
    one = placed[index]
    placed[index] = replace(one, world_from_object=pose, size=one.size * scale / one.scale, scale=scale)
    return fidelity.compare(frame, segments, replace(scene, placements=tuple(placed)))[index]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(("by", "turn", "scale"), [
    ((0, 0, 0), 0, 1), ((0.02, 0, 0), 0.3, 1), ((-0.01, 0.02, 0.01), 0, 1.4), ((0, 0, 0), 1.0, 0.6),
])  # fmt: skip
def test_trying_agrees_with_building_it_that_way(tmp_path, monkeypatch, index, by, turn, scale):
    monkeypatch.setattr(fidelity, "RAYS", 10**6)
    scene = table(tmp_path)
    frame, _, segments = make.photograph(scene)
    at = scene.placements[index].world_from_object
    spun = Rotation.from_rotvec([0.2 * turn, 0, turn]).as_matrix() @ at.rotation
    pose = Pose.from_rotation(at.pos + np.array(by), spun)
    tried = Trial(frame, scene).like(segments[index], pose, scale)
    built = rebuilt(frame, segments, scene, index, pose, scale)
    assert tried.mask_iou == pytest.approx(built.mask_iou, abs=0.03)
    assert tried.depth_error == pytest.approx(built.depth_error, abs=5e-4)


def test_one_trial_leaves_no_trace_in_the_next(tmp_path):
    scene = table(tmp_path)
    frame, _, segments = make.photograph(scene)
    trial = Trial(frame, scene)
    poses = [p.world_from_object for p in scene.placements]
    fresh = trial.like(segments[0], poses[0], 1.0)
    trial.like(segments[1], Pose(poses[0].pos, poses[1].quat_wxyz), 3.0)
    assert trial.like(segments[0], poses[0], 1.0) == fresh
    assert fresh.mask_iou > 0.97


def test_far_away_or_behind_the_camera_nothing_agrees(tmp_path):
    scene = table(tmp_path)
    frame, _, segments = make.photograph(scene)
    trial, quat = Trial(frame, scene), np.array([1.0, 0, 0, 0])
    for away in ([5.0, 5, 0], [0.1, -3, 2], [0.1, -0.6, 0.5]):
        like = trial.like(segments[0], Pose(np.array(away), quat), 1.0)
        assert like.mask_iou < 0.2


def test_what_does_not_stand_there_cannot_be_tried(tmp_path):
    scene = table(tmp_path)
    frame, _, segments = make.photograph(scene)
    with pytest.raises(SceneError, match="does not stand in the twin"):
        Trial(frame, scene).like(replace(segments[0], id=9), Pose.identity(), 1.0)


def test_the_twin_of_its_own_photograph_differs_nowhere_and_a_lifted_thing_stands_before_it(tmp_path):
    scene = table(tmp_path)
    frame, _, _ = make.photograph(scene)
    same = fidelity.difference(frame, scene)
    assert np.nanmax(np.abs(same)) < 1e-4
    box = scene.placements[0]
    nearer = Pose(box.world_from_object.pos - np.array([0, 0.02, 0]), box.world_from_object.quat_wxyz)
    moved = fidelity.difference(frame, replace(scene, placements=(replace(box, world_from_object=nearer),)))
    assert np.nanquantile(moved, 0.01) < -0.01
