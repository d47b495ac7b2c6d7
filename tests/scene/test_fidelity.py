"""The twin is held against the photograph honestly."""

from dataclasses import replace

import numpy as np
import scene_making as make

from pipeline.geometry import Pose
from pipeline.scene.fidelity import compare


def two(tmp_path):
    return make.scene(
        make.thing(make.box(tmp_path), "box", (0.1, 0.0), yaw=0.5),
        make.thing(make.ball(tmp_path), "ball", (-0.1, 0.1), number=2),
    )


def test_the_twin_of_its_own_photograph_fits(tmp_path):
    scene = two(tmp_path)
    frame, _, segments = make.photograph(scene)
    likes = compare(frame, segments, scene)
    assert len(likes) == 2
    for like in likes:
        assert like.mask_iou > 0.99
        assert like.depth_error is not None
        assert like.depth_error < 1e-4
        assert "fits" in like.verdict


def test_a_displaced_thing_is_told_from_those_that_fit(tmp_path):
    scene = two(tmp_path)
    frame, _, segments = make.photograph(scene)
    box, ball = scene.placements
    shifted = Pose(box.world_from_object.pos + np.array([0.03, 0, 0]), box.world_from_object.quat_wxyz)
    likes = compare(frame, segments, replace(scene, placements=(replace(box, world_from_object=shifted), ball)))
    assert "different" in likes[0].verdict
    assert "fits" in likes[1].verdict


def test_a_thing_out_of_sight_is_said_to_be(tmp_path):
    scene = two(tmp_path)
    frame, _, segments = make.photograph(scene)
    away = Pose(np.array([0, 5.0, 5.0]), np.array([1.0, 0, 0, 0]))
    gone = replace(scene.placements[0], world_from_object=away)
    (like,) = compare(frame, segments, replace(scene, placements=(gone,)))
    assert like.depth_error is None
    assert "does not show" in like.verdict
