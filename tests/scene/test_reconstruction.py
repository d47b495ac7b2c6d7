"""Reconstructed objects stand on their support, with their top where it was measured."""

import drawn_scene as make
import numpy as np
import pytest

from pipeline.description import describe
from pipeline.geometry import bounding_box
from pipeline.scene.observed_object import observe
from pipeline.scene.reconstruction import reconstruct_object
from pipeline.segmentation import Segment


def upper_part(mask: np.ndarray, share: float = 0.45) -> np.ndarray:
    box = bounding_box(mask)
    return mask & (np.arange(len(mask))[:, None] < box.top + int(share * box.height))


@pytest.mark.parametrize("shape", ["box", "can"])
def test_an_object_masked_by_its_upper_part_reaches_down_to_the_table(tmp_path, shape):
    mesh = make.box(tmp_path, (0.07, 0.06, 0.16)) if shape == "box" else make.can(tmp_path, 0.035, 0.16)
    observation, (whole,) = make.observe(make.scene(make.placement(mesh)))
    segment = Segment(1, upper_part(whole.mask))
    description = describe(observation.frame, observation.support, segment)
    asset, fit = reconstruct_object(observe(observation, segment, description), "best", 0.0, tmp_path)
    half = np.abs(fit.pose.rotation[2]) @ asset.size / 2
    assert fit.pose.pos[2] - half == pytest.approx(0, abs=1e-3)
    assert fit.pose.pos[2] + half == pytest.approx(0.16, abs=0.012)
