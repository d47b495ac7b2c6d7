"""Previews of candidates and poses agree with the photograph and with a twin that is built so."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.geometry import Pose
from pipeline.scene import SceneError, fidelity
from pipeline.scene.preview import candidate_preview
from pipeline.scene.preview.pose_preview import PosePreview


def render(scene, frame, segments, which=0, **changed):
    p = replace(scene.placements[which], **changed)
    return candidate_preview.draw_candidate(
        frame, scene.world_from_camera, segments[which].mask, p.mesh, p.size, p.world_from_object
    )


def test_a_candidate_covers_its_mask_in_the_photographs_brightness_within_its_window_and_outline(tmp_path):
    scene = make.scene(
        make.placement(make.box(tmp_path), "box", (0.0, 0.1), yaw=0.5, rgb=(90, 90, 90)),
        make.placement(make.box(tmp_path, (0.05, 0.04, 0.12)), "wall", (0.03, -0.05), number=2),
    )
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


def table(tmp_path):
    """Return a scene with a ball half behind a box."""
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
    scene = table(tmp_path)
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
    scene = table(tmp_path)
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
