"""Merging and splitting of segments."""

import numpy as np
import pytest

from pipeline.segmentation import Segment, SegmentationError, merge, split


def test_merging_split_segments_restores_the_mask():
    mask = np.zeros((60, 100), bool)
    mask[10:50, 5:45] = mask[10:50, 55:95] = mask[28:32, 40:60] = True
    parts = split(Segment(3, mask), first_id=7)
    assert [part.id for part in parts] == [3, 7] and not (parts[0].mask & parts[1].mask).any()
    assert np.array_equal(merge(parts).mask, mask) and merge(parts).id == 3


def test_a_mask_without_a_neck_is_not_split():
    mask = np.zeros((40, 40), bool)
    mask[5:35, 5:35] = True
    with pytest.raises(SegmentationError, match="no neck"):
        split(Segment(1, mask), first_id=2)
    with pytest.raises(SegmentationError, match="two segments or more"):
        merge([Segment(1, mask)])
