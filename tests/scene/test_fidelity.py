"""Fidelity: how well each object of the twin agrees with the photograph."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.geometry import Pose
from pipeline.scene.fidelity import compare_scene


def moved(scene, by):
    """Return the scene with its first object moved."""
    first, *rest = scene.placements
    pose = Pose(first.world_from_object.pos + np.array(by), first.world_from_object.quat_wxyz)
    return replace(scene, placements=(replace(first, world_from_object=pose), *rest))


@pytest.mark.parametrize(
    ("by", "verdict"), [((0, 0, 0), "fits"), ((0.03, 0, 0), "different"), ((0, 5, 5), "does not show")]
)
def test_the_verdict_follows_the_distance_of_an_object_and_no_other(photographed, by, verdict):
    scene, frame, segments = photographed
    box, ball = compare_scene(frame, segments, moved(scene, by))
    assert verdict in box.verdict and "fits" in ball.verdict
    assert (box.mask_iou > 0.99 and box.depth_error < 1e-4) == (verdict == "fits")
    assert (box.depth_error is None) == (verdict == "does not show")
    assert ball.mask_iou > 0.99 and ball.depth_error < 1e-4
