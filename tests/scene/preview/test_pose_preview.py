"""Pose previews agree with a twin that is built with the object at that pose."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.geometry import Pose
from pipeline.scene import SceneError, fidelity
from pipeline.scene.preview.pose_preview import PosePreview


def table(tmp_path):
    """Return a scene with a ball half behind a box."""
    return make.scene(
        make.placement(make.box(tmp_path), "box", (0.1, -0.02), yaw=0.5),
        make.placement(make.ball(tmp_path), "ball", (0.11, 0.07), number=2),
    )


def rebuilt_fidelity(frame, segments, scene, index, pose, scale):
    placements = list(scene.placements)
    p = placements[index]
    placements[index] = replace(p, world_from_object=pose, size=p.size * scale / p.scale, scale=scale)
    return fidelity.compare_scene(frame, segments, replace(scene, placements=tuple(placements)))[index]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(("by", "turn", "scale"), [
    ((0, 0, 0), 0, 1), ((0.02, 0, 0), 0.3, 1), ((-0.01, 0.02, 0.01), 0, 1.4), ((0, 0, 0), 1.0, 0.6),
])  # fmt: skip
def test_a_preview_agrees_with_a_rebuilt_twin(tmp_path, monkeypatch, index, by, turn, scale):
    monkeypatch.setattr(fidelity, "MAX_RAYS", 10**6)
    scene = table(tmp_path)
    frame, _, segments = make.photograph(scene)
    start = scene.placements[index].world_from_object
    rotation = Rotation.from_rotvec([0.2 * turn, 0, turn]).as_matrix() @ start.rotation
    pose = Pose.from_rotation(start.pos + np.array(by), rotation)
    preview = PosePreview(frame, scene).fidelity_at(segments[index], pose, scale)
    rebuilt = rebuilt_fidelity(frame, segments, scene, index, pose, scale)
    assert preview.mask_iou == pytest.approx(rebuilt.mask_iou, abs=0.03)
    assert preview.depth_error == pytest.approx(rebuilt.depth_error, abs=5e-4)


def test_previews_do_not_affect_each_other_and_a_twin_equals_its_own_rendering(tmp_path):
    scene = table(tmp_path)
    frame, _, segments = make.photograph(scene)
    preview = PosePreview(frame, scene)
    poses = [p.world_from_object for p in scene.placements]
    first = preview.fidelity_at(segments[0], poses[0], 1.0)
    preview.fidelity_at(segments[1], Pose(poses[0].pos, poses[1].quat_wxyz), 3.0)
    assert preview.fidelity_at(segments[0], poses[0], 1.0) == first and first.mask_iou > 0.97
    preview, quat = PosePreview(frame, scene), np.array([1.0, 0, 0, 0])
    for pos in ([5.0, 5, 0], [0.1, -3, 2], [0.1, -0.6, 0.5]):
        assert preview.fidelity_at(segments[0], Pose(np.array(pos), quat), 1.0).mask_iou < 0.2
    with pytest.raises(SceneError, match="is not in the twin"):
        PosePreview(frame, scene).fidelity_at(replace(segments[0], id=9), Pose.identity(), 1.0)
    frame, _, _ = make.photograph(scene)
    assert np.nanmax(np.abs(fidelity.depth_difference(frame, scene))) < 1e-4
    box = scene.placements[0]
    nearer = Pose(box.world_from_object.pos - np.array([0, 0.02, 0]), box.world_from_object.quat_wxyz)
    moved = fidelity.depth_difference(frame, replace(scene, placements=(replace(box, world_from_object=nearer),)))
    assert np.nanquantile(moved, 0.01) < -0.01
