"""A click on the twin's picture is the point of the world that it shows there; near a corner it is the corner."""

from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest

from pipeline.alignment import AlignmentError, TwinSurface
from pipeline.alignment.camera import project
from pipeline.geometry import box_corners, transform
from pipeline.scene import Scene

K = make.CAMERA


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Scene:
    folder = tmp_path_factory.mktemp("meshes")
    return make.scene(make.placement(make.box(folder), "box", (0.1, 0.0), yaw=0.5))


@pytest.fixture(scope="module")
def surface(scene: Scene) -> TwinSurface:
    return TwinSurface(scene, K)


def seen(scene: Scene, points: np.ndarray) -> np.ndarray:
    return project(np.asarray(scene.world_from_camera), points, K)


def test_a_click_on_the_table_is_the_point_at_height_zero_that_the_pixel_shows(scene: Scene, surface: TwinSurface):
    points = np.array([[-0.2, -0.1, 0], [-0.1, 0.1, 0], [-0.15, 0.15, 0.0]])
    for point, pixel in zip(points, seen(scene, points), strict=True):
        found, name = surface.point_at(pixel)
        assert name == "" and np.abs(found - point).max() < 2e-3


def test_a_click_beside_a_corner_is_the_corner_of_that_object(scene: Scene, surface: TwinSurface):
    box = scene.placements[0]
    corners = transform(box.world_from_object.matrix, box_corners(box.size))
    top = corners[corners[:, 2] > 0.01]
    assert len(top) == 4
    for corner, pixel in zip(top, seen(scene, top), strict=True):
        for aside in ([3, 0], [0, -3], [-2, 2]):
            found, name = surface.point_at(pixel + aside)
            assert name == "box" and np.abs(found - corner).max() < 1e-5


def test_a_corner_that_the_box_hides_is_not_taken(scene: Scene, surface: TwinSurface):
    box = scene.placements[0]
    corners = transform(box.world_from_object.matrix, box_corners(box.size))
    bottom = corners[corners[:, 2] < 0.01]
    hidden = bottom[np.argmax(np.linalg.norm(bottom - np.asarray(scene.world_from_camera)[:3, 3], axis=1))]
    found, _ = surface.point_at(seen(scene, hidden[None])[0])
    assert np.linalg.norm(found - hidden) > 0.01


def test_a_click_beside_the_twin_is_refused_in_one_line(scene: Scene):
    looking_up = np.asarray(scene.world_from_camera).copy()
    looking_up[:3, :3] = looking_up[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    surface = TwinSurface(replace(scene, world_from_camera=looking_up), K)
    with pytest.raises(AlignmentError, match="click an object or the table"):
        surface.point_at(np.array([K.width / 2, K.height / 2]))
