"""Local corrections of a mask by a click."""

import numpy as np
import pytest

from pipeline.segmentation.sam2.local_correction import correct_locally


@pytest.mark.parametrize("label", [0, 1])
def test_a_click_on_a_mask_changes_only_connected_pixels_near_it(label):
    before = np.zeros((120, 160), bool)
    before[40:80, 40:80] = True
    after = np.zeros_like(before)
    after[40:80, 60:100] = True  # an answer that moves the whole mask
    click = (82.0, 60.0, 1) if label else (57.0, 60.0, 0)
    mask = correct_locally(before, after, click)
    changed = mask != before
    assert mask[60, int(click[0])] == bool(label) and changed.any()
    assert not (changed & (before == bool(label))).any(), "a plus click takes nothing away, a minus click adds nothing"
    rows, cols = np.nonzero(changed)
    assert np.hypot(rows - click[1], cols - click[0]).max() <= 0.1 * 160 + 1


def test_a_click_on_a_pixel_with_its_label_changes_nothing():
    before = np.zeros((50, 50), bool)
    before[10:30, 10:30] = True
    assert (
        correct_locally(before, ~before, (20, 20, 1)) is before
        and correct_locally(before, ~before, (40, 40, 0)) is before
    )
