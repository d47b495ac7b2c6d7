"""What is made from the view stands on what holds it, with its top where the top was seen."""

import numpy as np
import pytest
import scene_making as make

from pipeline.description import describe
from pipeline.scene.making import made
from pipeline.scene.seen import Seen, object_points
from pipeline.segmentation import Segment


def upper(mask: np.ndarray, share: float = 0.45) -> np.ndarray:
    rows = np.flatnonzero(mask.any(axis=1))
    return mask & (np.arange(len(mask))[:, None] < rows[int(share * len(rows))])


def made_of(frame, support, mask, folder):
    """Bottom and top of what is made of a mask, in metres."""
    segment = Segment(1, mask)
    thing = Seen(segment, describe(frame, support, segment), None, object_points(frame, support, segment))
    asset, laid = made(frame, support, thing, "best", 0.0, folder)
    half = np.abs(laid.pose.rotation[2]) @ asset.size / 2
    return laid.pose.pos[2] - half, laid.pose.pos[2] + half


@pytest.mark.parametrize("shape", ["box", "can"])
def test_what_is_masked_by_its_upper_part_alone_reaches_down_to_the_table(tmp_path, shape):
    mesh = make.box(tmp_path, (0.07, 0.06, 0.16)) if shape == "box" else make.can(tmp_path, 0.035, 0.16)
    frame, support, (whole,) = make.photograph(make.scene(make.thing(mesh)))
    bottom, top = made_of(frame, support, upper(whole.mask), tmp_path)
    assert bottom == pytest.approx(0, abs=1e-3)
    assert top == pytest.approx(0.16, abs=0.012)
