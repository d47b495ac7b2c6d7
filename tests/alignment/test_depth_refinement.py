"""Depth makes a clicked pose exact, whatever the clicks say wrong, and a wrong twin makes it less certain."""

import threading
from dataclasses import replace

import drawn_scene as make
import numpy as np
import pytest
from scipy.stats import chi2

from pipeline.alignment import (
    AlignmentStopped,
    CameraAlignment,
    CameraClicks,
    align_camera,
    refine_on_depth,
    shares_world,
)
from pipeline.alignment.camera import difference, project
from pipeline.frame import Frame
from pipeline.geometry import Pose, box_corners, transform
from pipeline.scene import Scene

K = make.CAMERA


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Scene:
    folder = tmp_path_factory.mktemp("meshes")
    return make.scene(
        make.placement(make.box(folder), "box", (0.1, 0.0), yaw=0.5),
        make.placement(make.box(folder, (0.1, 0.05, 0.05)), "brick", (-0.15, -0.05), yaw=-0.3, number=2),
        make.placement(make.can(folder), "can", (-0.05, 0.15), number=3),
    )


def clicks_on(scene: Scene, camera: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return six points, corners of objects and of a mat on the table, and clicks on them with 2 px noise."""
    box = transform(scene.placements[0].world_from_object.matrix, box_corners(scene.placements[0].size))[-2:]
    mat = np.array([[-0.2, -0.15, 0], [0.2, -0.15, 0], [0.2, 0.2, 0], [-0.2, 0.2, 0]])
    points = np.concatenate([mat, box])
    return points, project(camera, points, K) + random.normal(0, 2, (6, 2))


def refined(
    scene: Scene, real: Scene, random: np.random.Generator, stop: threading.Event | None = None
) -> tuple[CameraAlignment, CameraAlignment]:
    """Return the camera of the real scene from noisy clicks on the twin, alone and with noisy depth."""
    photograph, support, segments = make.photograph(real)
    noisy = photograph.depth + random.normal(0, 0.001, photograph.depth.shape) * (photograph.depth > 0)
    labels = np.where(support.inliers, 0, -1)
    for segment in segments:
        labels[segment.mask] = segment.id
    points, clicks = clicks_on(scene, np.asarray(real.world_from_camera), random)
    alone = align_camera(points, clicks, K, np.asarray(scene.world_from_camera))
    frame = Frame(photograph.rgb, noisy.astype(np.float32), K)
    return alone, refine_on_depth(alone, CameraClicks(points, clicks), frame, scene, labels, stop)


def seen_from(scene: Scene, random: np.random.Generator) -> Scene:
    camera = make.camera_pose(random.uniform([0, -0.7, 0.45], [0.2, -0.55, 0.6]), random.uniform(-0.03, 0.03, 3))
    return replace(scene, world_from_camera=camera)


def test_six_noisy_clicks_and_depth_give_the_planted_pose_within_a_third_of_a_degree_and_3_mm(scene):
    random, held, count = np.random.default_rng(1), 0, 8
    for _ in range(count):
        real = seen_from(scene, random)
        _, found = refined(scene, real, random)
        step = difference(found.world_from_camera, np.asarray(real.world_from_camera))
        assert np.degrees(np.linalg.norm(step[:3])) < 0.3 and np.linalg.norm(step[3:]) < 0.003
        held += step @ np.linalg.solve(found.covariance, step) < chi2.ppf(0.99, 6)
    assert held >= count - 1
    assert found.evidence == ("clicks", "table", "box", "brick", "can")


def test_a_refinement_that_is_stopped_ends_without_a_pose_and_another_world_is_recognised(scene):
    stop = threading.Event()
    stop.set()
    with pytest.raises(AlignmentStopped):
        refined(scene, scene, np.random.default_rng(0), stop)
    _, found = refined(scene, scene, np.random.default_rng(3))
    assert shares_world(found, scene)
    cell = np.array([[0, -1, 0, 0.6], [1, 0, 0, 0.2], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    assert not shares_world(replace(found, world_from_camera=cell @ found.world_from_camera), scene)


def test_objects_that_stand_elsewhere_than_in_the_twin_widen_the_uncertainty(scene):
    def beside(p, shift):
        pose = p.world_from_object
        return replace(p, world_from_object=Pose(pose.pos + np.array([*shift, 0]), pose.quat_wxyz))

    shifts = [(0.006, 0), (-0.004, 0.005), (0, -0.006)]
    real = replace(scene, placements=tuple(map(beside, scene.placements, shifts)))
    _, exact = refined(scene, scene, np.random.default_rng(2))
    _, wrong = refined(scene, real, np.random.default_rng(2))
    assert (wrong.position_std_m[:2] > 1.5 * exact.position_std_m[:2]).all()
