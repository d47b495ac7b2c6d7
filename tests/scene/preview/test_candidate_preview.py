"""Candidate previews are rendered where the photograph shows the object, in its camera and brightness."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.scene import SceneError
from pipeline.scene.preview import candidate_preview


@pytest.fixture
def observed(tmp_path):
    scene = make.scene(
        make.placement(make.box(tmp_path), "box", (0.0, 0.1), yaw=0.5, rgb=(90, 90, 90)),
        make.placement(make.box(tmp_path, (0.05, 0.04, 0.12)), "wall", (0.03, -0.05), number=2),
    )
    return scene, *make.photograph(scene)


def render(scene, frame, segments, which=0, **changed):
    p = replace(scene.placements[which], **changed)
    return candidate_preview.draw_candidate(
        frame, scene.world_from_camera, segments[which].mask, p.mesh, p.size, p.world_from_object
    )


def test_a_candidate_covers_its_mask_in_the_photographs_brightness_and_occluders_hide_it(observed):
    scene, frame, _, segments = observed
    for which in (0, 1):
        assert render(scene, frame, segments, which).overlap > 0.95
    rendering = render(scene, frame, segments)
    wall = segments[1].mask[candidate_preview.crop_window(segments[0].mask).slices]
    zoom = rendering.rgba.shape[0] / wall.shape[0]
    rows, columns = np.nonzero(wall)
    middle = rendering.rgba[(rows * zoom).astype(int).clip(0), (columns * zoom).astype(int), 3]
    assert len(middle) and (middle > 128).mean() < 0.1
    rendering = render(scene, frame, segments).rgba
    assert rendering[rendering[..., 3] > 200][:, :3].mean() == pytest.approx(90, abs=6)


def test_the_window_and_the_outline_go_around_what_shows(observed):
    _, frame, _, segments = observed
    for segment in segments:
        view = candidate_preview.crop_window(segment.mask)
        assert segment.mask[view.slices].sum() == segment.mask.sum()
        assert view.width / view.height == pytest.approx(candidate_preview.ASPECT, abs=0.03)
        assert candidate_preview.remove_object(frame, segment.mask).shape == (view.height, view.width, 3)
    full = candidate_preview.crop_window(np.ones((240, 320), bool))
    assert (full.left, full.top, full.width, full.height) == (0, 0, 320, 240)
    with pytest.raises(SceneError, match="the mask is empty"):
        candidate_preview.crop_window(np.zeros((240, 320), bool))
    scene, frame, _, segments = observed
    shown = render(scene, frame, segments, 1).rgba[..., 3] > 128
    (around,) = candidate_preview.outline_polygons(shown)
    points = np.array(around) * [candidate_preview.IMAGE_WIDTH, shown.shape[0]]
    rows, columns = np.nonzero(shown)
    np.testing.assert_allclose(points.min(0), [columns.min(), rows.min()], atol=2)
    np.testing.assert_allclose(points.max(0), [columns.max(), rows.max()], atol=2)
