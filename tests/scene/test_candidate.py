"""A candidate is drawn where the photograph shows the object, in its camera and its light."""

from dataclasses import replace

import numpy as np
import pytest
import scene_making as make

from pipeline.scene import SceneError
from pipeline.scene.candidate import ASPECT, WIDTH, draw, outline, window, without


@pytest.fixture
def seen(tmp_path):
    scene = make.scene(
        make.thing(make.box(tmp_path), "box", (0.0, 0.1), yaw=0.5, rgb=(90, 90, 90)),
        make.thing(make.box(tmp_path, (0.05, 0.04, 0.12)), "wall", (0.03, -0.05), number=2),
    )
    return scene, *make.photograph(scene)


def drawn(scene, frame, segments, which=0, **changed):
    p = replace(scene.placements[which], **changed)
    return draw(frame, scene.world_from_camera, segments[which].mask, p.mesh, p.size, p.world_from_object)


def test_the_right_shape_at_its_true_pose_covers_the_mask(seen):
    scene, frame, _, segments = seen
    for which in (0, 1):
        assert drawn(scene, frame, segments, which).overlap > 0.95


def test_what_stands_before_the_object_hides_the_candidate_too(seen):
    scene, frame, _, segments = seen
    picture = drawn(scene, frame, segments)
    wall = segments[1].mask[window(segments[0].mask).part]
    zoom = picture.rgba.shape[0] / wall.shape[0]
    rows, columns = np.nonzero(wall)
    middle = picture.rgba[(rows * zoom).astype(int).clip(0), (columns * zoom).astype(int), 3]
    assert len(middle) and (middle > 128).mean() < 0.1


def test_another_size_overlaps_less(seen):
    scene, frame, _, segments = seen
    sizes = [scene.placements[1].size * s for s in (1.0, 1.2, 1.5)]
    first, second, third = (drawn(scene, frame, segments, 1, size=size).overlap for size in sizes)
    assert first > second > third


def test_its_mean_brightness_is_the_photograph_s(seen):
    scene, frame, _, segments = seen
    picture = drawn(scene, frame, segments).rgba
    assert picture[picture[..., 3] > 200][:, :3].mean() == pytest.approx(90, abs=6)


def test_the_window_holds_the_mask_and_has_one_shape_wherever_the_photograph_is_large_enough(seen):
    _, frame, _, segments = seen
    for segment in segments:
        view = window(segment.mask)
        assert segment.mask[view.part].sum() == segment.mask.sum()
        assert view.width / view.height == pytest.approx(ASPECT, abs=0.03)
        assert without(frame, segment.mask).shape == (view.height, view.width, 3)
    whole = window(np.ones((240, 320), bool))
    assert (whole.left, whole.top, whole.width, whole.height) == (0, 0, 320, 240)


def test_a_mask_of_which_nothing_is_left_is_refused_in_one_line():
    with pytest.raises(SceneError, match="nothing is left of that mask"):
        window(np.zeros((240, 320), bool))


def test_an_outline_goes_around_what_shows(seen):
    scene, frame, _, segments = seen
    shown = drawn(scene, frame, segments, 1).rgba[..., 3] > 128
    (around,) = outline(shown)
    points = np.array(around) * [WIDTH, shown.shape[0]]
    rows, columns = np.nonzero(shown)
    np.testing.assert_allclose(points.min(0), [columns.min(), rows.min()], atol=2)
    np.testing.assert_allclose(points.max(0), [columns.max(), rows.max()], atol=2)
