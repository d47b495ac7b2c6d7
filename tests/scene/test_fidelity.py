"""Fidelity: how well each object of the twin agrees with the photograph."""

from dataclasses import replace

import numpy as np

from pipeline.geometry import Pose
from pipeline.scene.fidelity import compare_scene


def test_the_twin_of_its_own_photograph_fits(photographed):
    scene, frame, segments = photographed
    fidelities = compare_scene(frame, segments, scene)
    assert len(fidelities) == 2
    for fidelity in fidelities:
        assert fidelity.mask_iou > 0.99 and fidelity.depth_error < 1e-4 and "fits" in fidelity.verdict


def test_a_displaced_object_fits_worse_than_the_others(photographed):
    scene, frame, segments = photographed
    box, ball = scene.placements
    shifted = Pose(box.world_from_object.pos + np.array([0.03, 0, 0]), box.world_from_object.quat_wxyz)
    fidelities = compare_scene(
        frame, segments, replace(scene, placements=(replace(box, world_from_object=shifted), ball))
    )
    assert "different" in fidelities[0].verdict
    assert "fits" in fidelities[1].verdict


def test_a_hidden_object_is_reported_as_hidden(photographed):
    scene, frame, segments = photographed
    far_away = Pose(np.array([0, 5.0, 5.0]), np.array([1.0, 0, 0, 0]))
    hidden = replace(scene.placements[0], world_from_object=far_away)
    (fidelity,) = compare_scene(frame, segments, replace(scene, placements=(hidden,)))
    assert fidelity.depth_error is None and "does not show" in fidelity.verdict
